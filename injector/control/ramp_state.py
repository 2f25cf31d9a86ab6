"""What the controller knows of a group's ramp, and what a tick has seen of it."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields

from injector.errors import Misused
from injector.pacing.signals import Signals

FORMAT = 1
MINUTE_S = 60.0


@dataclass(frozen=True, slots=True)
class RampState:
    """A group's ramp between two ticks; `RampState()` is one that never ran.

    `rate` and `reached` are in operations (injector tasks, or dispatches) per second: what is
    allowed, and what was really done when last measured. `concurrency` is that of the group's
    injector queues together. `good_rate` is the last rate that was left for being healthy, 0
    before there is one. `baseline_s` is the lowest p95 of the create latency at a healthy time,
    None before there is one.

    `elapsed_s` is the ramp's own clock: the running time since the last change, counted tick by
    tick, so that a pause, a missed tick or a clock that jumps adds nothing. The other times are
    Unix seconds: the last change, the last tick, the last operation seen.
    """

    rate: float = 0.0
    concurrency: int = 0
    reached: float = 0.0
    good_rate: float = 0.0
    baseline_s: float | None = None
    elapsed_s: float = 0.0
    changed_at: float = 0.0
    ticked_at: float = 0.0
    active_at: float = 0.0

    def to_json(self) -> str:
        """Write the state as the text that the ledger keeps."""
        return json.dumps({"format": FORMAT} | asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "RampState":
        """Read what `to_json` wrote; empty text is a ramp that never ran.

        Fields unknown here are passed over, so that a roll-back can read on. Raises Misused for
        another format, rather than begin a warm group's ramp anew or a cold one's warm.
        """
        if not text:
            return cls()
        kept = json.loads(text)
        if kept.get("format") != FORMAT:
            raise Misused(
                f"the saved ramp has format {kept.get('format')!r}, this version reads {FORMAT}; "
                "run the version that wrote it, or delete the group's ramp to begin cold"
            )
        return cls(**{each.name: kept[each.name] for each in fields(cls) if each.name in kept})


@dataclass(frozen=True, slots=True)
class Observation:
    """What a tick saw of a group.

    `signals` are those of the last `span_s` seconds, taken from `evidence_from` on. `work` says
    that a running job has chunks to feed or to settle. `active_at` is when the last operation
    was seen, in Unix seconds; None when never. `backlog_s` is how long the group's queues need
    for what is due in them; None when it is not known. `found_rate` is the sum of what the
    injector queues are set to; None when it was not asked. `capacity` is how many operations at
    once the service takes of this group; None sets no bound. `halted` is the state of an injector
    queue that does not run, "paused" or "disabled"; empty when all run.
    """

    signals: Signals = field(default_factory=Signals)
    span_s: float = 0.0
    work: bool = True
    active_at: float | None = None
    backlog_s: float | None = None
    found_rate: float | None = None
    capacity: int | None = None
    halted: str = ""

    def evidence(self) -> Mapping[str, float]:
        """Return the figures that a decision is made on, by name; what is unknown is left out."""
        figures = {
            "span_s": self.span_s,
            "creates": self.signals.creates,
            "fan_outs": self.signals.fan_outs,
            "fault_share": self.signals.fault_share,
            "throttled_share": self.signals.throttled_share,
            "target_fault_share": self.signals.target_fault_share,
            "create_p95_s": self.signals.latency.quantile_s(0.95),
            "fan_out_p95_s": self.signals.fan_out_time.quantile_s(0.95),
            "backlog_s": self.backlog_s,
            "found_rate": self.found_rate,
        }
        return {name: round(value, 6) for name, value in figures.items() if value is not None}


def evidence_from(state: RampState, *, now: float, interval_s: float) -> float:
    """Return the Unix second from which to now a tick adds up the signals for its observation.

    No further back than the last change or one interval (at least two minutes), whichever is
    later, and at the start of a minute, since the ledger keeps signals by the minute. So an
    interval shorter than two minutes makes a step every other minute at most. The answer may be
    in the future: then the span is 0 and there is nothing to add up.
    """
    since = max(state.changed_at, now - max(interval_s, 2 * MINUTE_S))
    return math.ceil(since / MINUTE_S) * MINUTE_S
