"""How fast a job goes, may go, and when it will be done: what a person asks of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from injector.control.memory import Memory
from injector.control.share import Claim, parts
from injector.control.slots import Pace
from injector.ledger.ports import Job, JobState, Minute
from injector.pacing.ramp import CHUNK, Ramp

MINUTE_S = 60.0
NEARLY = 0.999
"""How much of its limit a job has whose limit is what holds it, but for rounding."""


@dataclass(frozen=True, slots=True)
class Progress:
    """A job's pace. Rates are in creates per second; what cannot be said is None."""

    rate_now: float | None = None
    rate_allowed: float | None = None
    eta_s: float | None = None


@dataclass(frozen=True, slots=True)
class GroupPace:
    """A group's pace: creates per second reached and allowed, and the curve it is on."""

    rate_now: float
    rate_allowed: float
    pace: Pace | None


def measured_from(now: float) -> float:
    """Return since when the rate reached is measured: the start of the last whole minute."""
    return now // MINUTE_S * MINUTE_S - MINUTE_S


def group_pace(memory: Memory, ramp: Ramp, minutes: Sequence[Minute], *, now: float) -> GroupPace:
    """Measure the group over the minutes since `measured_from`, and say where its ramp is."""
    created = sum(minute.counts.get("accepted", 0) for minute in minutes)
    state = memory.ramp
    if not state.rate:
        return GroupPace(created / (now - measured_from(now)), 0.0, None)
    origin = now - min(state.elapsed_s, ramp.interval_s)
    pace = Pace(ramp.starting_at(state.rate), origin, state.rate)
    return GroupPace(created / (now - measured_from(now)), state.rate * CHUNK, pace)


def progress(
    job: Job, chunks_left: int, group: GroupPace, rivals: Sequence[Job], *, now: float
) -> Progress:
    """Say how a job fares in its group; `rivals` are the group's active jobs, itself too.

    The estimate follows the ramp as if it went on climbing, and the job's share of it as if
    the others had no end.
    """
    if job.state is not JobState.RUNNING or group.pace is None:
        return Progress(0.0, 0.0) if job.state is JobState.PAUSED else Progress()
    shares = _parts(job, rivals, group.pace.rate)
    part = shares.get(job.id, 0.0)
    if not part:
        return Progress(0.0, 0.0)
    rate_now = group.rate_now * part / sum(shares.values())
    eta_s = _eta_s(job, chunks_left, part, group.pace, now=now)
    return Progress(rate_now, group.rate_allowed * part, eta_s)


def why(job: Job, group: GroupPace, rivals: Sequence[Job], *, said: str) -> str:
    """Say what sets the job's pace: itself, the jobs beside it, or what the last tick `said`.

    Empty for a job that has ended, and where no tick has said anything yet.
    """
    if job.state is JobState.PAUSED:
        return "it is paused, and nothing more is begun until it is resumed"
    if job.state is not JobState.RUNNING or group.pace is None:
        return said if job.state is JobState.RUNNING else ""
    shares = _parts(job, rivals, group.pace.rate)
    part, allowed = shares.get(job.id, 0.0), f"{group.rate_allowed:,.6g} creates/s"
    if not part:
        return f"jobs of a higher priority take all of the group's {allowed}"
    if job.max_rate is not None and part * group.pace.rate >= job.max_rate * NEARLY:
        return f"its own limit is {job.max_rate * CHUNK:,.6g} creates/s; its group may do {allowed}"
    if len(shares) > 1:
        return f"it has {part:.0%} of the group's {allowed}, beside other jobs; {said}"
    return said


def _eta_s(job: Job, chunks_left: int, part: float, pace: Pace, *, now: float) -> float:
    """Follow the curve, and no faster than the job's own limit, which does not climb."""
    by_curve = max(0.0, pace.time_of(pace.total_by(now) + chunks_left / part) - now)
    return by_curve if job.max_rate is None else max(by_curve, chunks_left / job.max_rate)


def _parts(job: Job, rivals: Sequence[Job], rate: float) -> dict[str, float]:
    """Return which parts of the group's rate the running jobs have; limits leave some unused."""
    claims = [
        Claim(
            rival.id,
            rival.chunks,
            rival.weight,
            rival.priority,
            1.0 if rival.max_rate is None else rival.max_rate / rate,
        )
        for rival in rivals
        if rival.state is JobState.RUNNING and (rival.cursor < rival.chunks or rival.id == job.id)
    ]
    return parts(claims)
