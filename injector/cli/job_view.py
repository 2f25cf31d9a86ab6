"""What the service says of a job, for a person: lines, and the exit code that it deserves."""

from collections.abc import Mapping

from injector.cli.output import count, creates, moment, span

ENDED = ("finished", "cancelled", "failed")


def exit_code(job: Mapping[str, object]) -> int:
    """Return 1 for a job that failed, was cancelled, or stopped itself; else 0."""
    state = job["state"]
    return 1 if state in {"failed", "cancelled"} or (state == "paused" and job.get("reason")) else 0


def describe(job: Mapping[str, object]) -> dict[str, str]:
    """Name what is known of the job, in the order in which one asks."""
    reason = f" ({job['reason']})" if job.get("reason") else ""
    lines = {
        "job": str(job["id"]),
        "group": str(job["group"]),
        "state": f"{job['state']}{reason}",
        "records": f"{count(job['records'])} in {count(job['chunks'])} chunks",
        "created": count(job["created"]),
        "existed": count(job["existed"]),
        "rejected": count(job["rejected"]),
        "open": count(open_records(job)),
        "rate now": pace(job),
        "time left": span(job.get("eta_s")),
        "started": moment(job.get("started_at")),
        "finished": moment(job.get("finished_at")),
    }
    if warning := unsafe_ramp(job):
        lines["warning"] = warning
    return lines


def open_records(job: Mapping[str, object]) -> int:
    """Return how many records have no outcome yet."""
    return number(job, "records") - settled_records(job)


def settled_records(job: Mapping[str, object]) -> int:
    """Return how many records have an outcome."""
    return sum(number(job, key) for key in ("created", "existed", "rejected"))


def pace(job: Mapping[str, object]) -> str:
    """Write the rate now, and the rate that the ramp allows."""
    return f"{creates(job.get('rate_now'))} of {creates(job.get('rate_allowed'))} creates/s"


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
