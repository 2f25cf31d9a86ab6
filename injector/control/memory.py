"""What the controller remembers of a group between ticks, as the text that the ledger keeps."""

import json
from dataclasses import asdict, dataclass, field

import msgspec

from injector.control.decision import Decision
from injector.control.growth import Growth
from injector.control.ramp_state import RampState
from injector.control.sickness import SickQueue
from injector.control.slots import Mark


@dataclass(frozen=True, slots=True)
class Said:
    """What the last tick had to say of a group: its decision, and what kept it from more.

    `fault` is empty when the tick did all it wanted.
    """

    at: float = 0.0
    kind: str = ""
    reason: str = ""
    notices: tuple[str, ...] = ()
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Memory:
    """A group's ramp, how far it is fed, what was said last, and how its queues grow.

    `sick` are queues that take nothing, or that something still waits for.
    """

    ramp: RampState = field(default_factory=RampState)
    mark: Mark = field(default_factory=Mark)
    said: Said = field(default_factory=Said)
    growth: Growth = field(default_factory=Growth)
    sick: tuple[SickQueue, ...] = ()

    def to_json(self) -> str:
        """Write the memory down."""
        ramp = json.loads(self.ramp.to_json())
        kept = {"ramp": ramp, "mark": asdict(self.mark), "said": asdict(self.said)}
        sick = [asdict(each) for each in self.sick]
        return json.dumps(kept | {"growth": self.growth.to_builtins(), "sick": sick})

    @classmethod
    def from_json(cls, text: str) -> "Memory":
        """Read what `to_json` wrote; empty text is a group that was never ticked."""
        if not text:
            return cls()
        kept = json.loads(text)
        return cls(
            RampState.from_json(json.dumps(kept["ramp"])),
            msgspec.convert(kept["mark"], Mark),
            msgspec.convert(kept["said"], Said),
            Growth.from_builtins(kept.get("growth", {})),
            msgspec.convert(kept.get("sick", []), tuple[SickQueue, ...]),
        )


def said(decision: Decision, *, at: float, more: tuple[str, ...] = ()) -> Said:
    """Put a decision into words; `more` joins its notices."""
    return Said(at, decision.kind.value, decision.reason, (*decision.notices, *more))
