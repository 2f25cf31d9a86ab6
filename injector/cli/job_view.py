"""What the service says of a job, for a person: lines, and the exit code that it deserves."""

from collections.abc import Mapping

from injector.cli.output import count, moment, rate, span

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
        "rate now": f"{rate(job.get('rate_now'))} of {rate(job.get('rate_allowed'))} creates/s",
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


def unsafe_ramp(job: Mapping[str, object]) -> str:
    """Name a ramp that is steeper than 500/50/5; empty when it is not."""
    ramp = job.get("ramp")
    if isinstance(ramp, Mapping) and ramp.get("unsafe"):
        return f"the ramp of group {job['group']} is marked unsafe: steeper than 500/50/5"
    return ""


def number(job: Mapping[str, object], key: str) -> int:
    """Return a count of the job; 0 when it is not known."""
    value = job.get(key)
    return value if isinstance(value, int) else 0
