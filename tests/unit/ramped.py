"""Observations, states of a ramp, and a world that decides each minute, for tests of decisions."""

import math
from dataclasses import dataclass, field, replace

from injector.control.decision import Decision, Kind, Observation, RampState, decide
from injector.control.ramp_state import evidence_from
from injector.pacing.histogram import Histogram
from injector.pacing.ramp import Ramp
from injector.pacing.signals import Signals

T0 = 1_800_000_000.0  # a whole minute
MINUTE, STEP = 60.0, 300.0
RAMP = Ramp()
FAULTS = {"UNAVAILABLE": 1}
CUTS = {
    "5 % faults": {"signals": {"accepted": 950, "faults": {"UNAVAILABLE": 50}}},
    "10 % throttled": {"signals": {"accepted": 900, "local_rejects": 100}},
}


def seen(
    rate: float = 5.0, *, span_s: float = 240.0, fan_out_s: float = 0.2, **more: object
) -> Observation:
    """A healthy group at that rate."""
    fan_outs = int(rate * (span_s - fan_out_s))
    signals = Signals(
        accepted=100 * fan_outs,
        fan_outs=fan_outs,
        latency=Histogram.of([0.05] * 200),
        fan_out_time=Histogram.of([fan_out_s] * 20),
    )
    signals = replace(signals, **more.pop("signals", {}))
    seen_of = {"active_at": T0 + STEP, "found_rate": None} | more
    return Observation(signals, span_s, **seen_of)


def due(rate: float = 5.0, **more: object) -> RampState:
    """A ramp whose next step is due at T0 + 300."""
    state = RampState(
        rate=rate,
        concurrency=20,
        reached=rate,
        elapsed_s=STEP - MINUTE,
        changed_at=T0,
        ticked_at=T0 + STEP - MINUTE,
        active_at=T0 + STEP,
    )
    return replace(state, **more)


def at_due(state: RampState, observed: Observation, *, ramp: Ramp = RAMP) -> Decision:
    return decide(state, observed, T0 + STEP, ramp=ramp)


@dataclass
class World:
    """A group whose work is done at the allowed rate, or as much of it as is asked for."""

    ramp: Ramp = RAMP
    state: RampState = field(default_factory=RampState)
    now: float = T0
    offset: float = 0.0  # how far the wall clock is ahead of the true time
    done: list[tuple[float, float, float]] = field(default_factory=list)  # from, to, rate
    decisions: list[tuple[float, Decision]] = field(default_factory=list)
    written: float | None = None

    def tick(self, after_s: float, *, demand: float = math.inf, **observed: object) -> Decision:
        """Let time pass, in which the work was done, and decide."""
        if self.state.rate:
            rate = min(self.written or math.inf, self.state.rate, demand)
            self.done.append((self.now, self.now + after_s, rate))
        self.now += after_s
        decision = decide(self.state, self._seen(observed), self.now + self.offset, ramp=self.ramp)
        self.state = decision.state
        self.written = decision.rate if decision.apply else self.written
        self.decisions.append((self.now, decision))
        return decision

    def reached(self, since: float, until: float) -> float:
        """Return the highest rate really done within the span."""
        return max((rate for a, b, rate in self.done if b > since and a < until), default=0.0)

    def _seen(self, observed: dict) -> Observation:
        wall = self.now + self.offset
        since = evidence_from(self.state, now=wall, interval_s=self.ramp.interval_s)
        fan_outs = sum(
            rate * max(0.0, min(b, self.now) - max(a, since - self.offset))
            for a, b, rate in self.done
        )
        active = [b for _, b, rate in self.done if rate > 0]
        return Observation(
            Signals(accepted=int(100 * fan_outs), fan_outs=int(fan_outs)),
            max(0.0, wall - since),
            active_at=max(active) + self.offset if active else None,
            found_rate=self.written,
            **observed,
        )


def raises(world: World) -> list[float]:
    return [at for at, decision in world.decisions if decision.kind is Kind.RAISE]
