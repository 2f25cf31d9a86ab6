"""What the service says of a job, for a person: lines, and the exit code that it deserves."""

from collections.abc import Iterator, Mapping

from injector.cli.output import count, creates, moment, span
from injector.wording import counted

ENDED = ("finished", "cancelled", "failed")
REJECT_HEADINGS = (">line", ">record", "reason")


def exit_code(job: Mapping[str, object]) -> int:
    """Return 1 for a job that failed, was cancelled, stopped itself, or has too many rejects."""
    state = job["state"]
    if state in {"failed", "cancelled"} or (state == "paused" and job.get("reason")):
        return 1
    return 1 if state == "finished" and has_too_many_rejects(job) else 0


def has_too_many_rejects(job: Mapping[str, object]) -> bool:
    """Tell whether more records were rejected than the job allows."""
    allowed = job.get("rejects_allowed")
    return isinstance(allowed, int) and number(job, "rejected") > allowed


def describe(job: Mapping[str, object]) -> dict[str, str]:
    """Name what is known of the job, in the order in which one asks."""
    reason = f" ({job['reason']})" if job.get("reason") else ""
    lines = {
        "job": str(job["id"]),
        "group": str(job["group"]),
        "state": f"{job['state']}{reason}",
        "records": f"{count(job['records'])} in {counted(number(job, 'chunks'), 'chunk')}",
        "created": count(job["created"]),
        "existed": count(job["existed"]),
        "rejected": _rejected(job),
        "open": count(open_records(job)),
        **({} if job["state"] in ENDED else _going(job)),
        "started": moment(job.get("started_at")),
        "finished": moment(job.get("finished_at")),
    }
    lines |= {name: words for name, words in _rest(job) if words}
    if warning := unsafe_ramp(job):
        lines["warning"] = warning
    return lines


def _going(job: Mapping[str, object]) -> dict[str, str]:
    why = {"why": str(job["why"])} if job.get("why") else {}
    return {"rate now": pace(job), **why, "time left": span(job.get("eta_s"))}


def _rejected(job: Mapping[str, object]) -> str:
    allowed, staged = job.get("rejects_allowed"), number(job, "staged_rejects")
    limit = f" ({count(allowed)} allowed)" if isinstance(allowed, int) else ""
    is_more = job["state"] not in ENDED and staged > number(job, "rejected")
    known = f", {count(staged)} found by staging" if is_more else ""
    return f"{count(job['rejected'])}{known}{limit}"


def _rest(job: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield what is told only where it is not as usual."""
    yield "fault", str(job.get("fault") or "")
    yield "sends again", str(job.get("parent") or "")
    yield "rate limit", f"{creates(job['max_rate'])} creates/s" if job.get("max_rate") else ""
    weight, priority = job.get("weight", 1), job.get("priority", 0)
    yield "share", f"weight {weight:g}" if isinstance(weight, float) and weight != 1 else ""
    yield "priority", str(priority) if priority else ""
    yield "waiting", waiting(job)
    yield "taken back", taken_back(job)


def waiting(job: Mapping[str, object]) -> str:
    """Say how many chunks of a job wait, for which queues and since when."""
    chunks = number(job, "waiting")
    if not chunks:
        return ""
    found = job.get("waits_for")
    sick = [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []
    queues = "; ".join(
        f"{each['queue']} takes nothing since {moment(each['since'])} ({each['code']})"
        for each in sick
    )
    return counted(chunks, "chunk") + (f": {queues}" if queues else "")


def taken_back(job: Mapping[str, object]) -> str:
    """Say how far the tasks of a cancelled job are taken back; empty when none are."""
    found = job.get("taken_back")
    if not isinstance(found, Mapping):
        return ""
    rest = "" if found["done"] else f", chunk {found['chunks_done']} of {found['chunks']}"
    return (
        f"{counted(number(found, 'deleted'), 'task')} deleted, "
        f"{count(found['gone'])} had run or were never created{rest}"
    )


def open_records(job: Mapping[str, object]) -> int:
    """Return how many records have no outcome yet."""
    return number(job, "records") - settled_records(job)


def settled_records(job: Mapping[str, object]) -> int:
    """Return how many records have an outcome."""
    return sum(number(job, key) for key in ("created", "existed", "rejected"))


def waits_for(job: Mapping[str, object]) -> str:
    """Say what a running job still waits for where its figures do not; else nothing."""
    if job["state"] != "running":
        return ""
    if not open_records(job):
        return "all records are settled; it ends at the next tick"
    return str(job.get("fault") or waiting(job))


def pace(job: Mapping[str, object]) -> str:
    """Write the rate now, and the rate that the ramp allows."""
    return f"{creates(job.get('rate_now'))} of {creates(job.get('rate_allowed'))} creates/s"


def reject_row(reject: Mapping[str, object]) -> tuple[str, str, str]:
    """Write where a reject is, by file and line and by its number from 0, and why it is one."""
    place = ":".join(str(part) for part in (reject.get("file"), reject["line"]) if part)
    return place, count(reject["ordinal"]), str(reject["reason"])


def unsafe_ramp(job: Mapping[str, object]) -> str:
    """Name what makes the ramp steeper than 500/50/5; empty when nothing does."""
    ramp = job.get("ramp")
    dangers = ramp.get("dangers") if isinstance(ramp, Mapping) else None
    if not dangers or not isinstance(dangers, list):
        return ""
    return f"the ramp of group {job['group']} is unsafe: {' and '.join(map(str, dangers))}"


def number(job: Mapping[str, object], key: str) -> int:
    """Return a count of the job; 0 when it is not known."""
    value = job.get(key)
    return value if isinstance(value, int) else 0
