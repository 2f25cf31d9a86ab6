"""A plan of faults: which calls it meets, what it does to them, and what it has done.

Plan
├── Fault   what to do, to which calls, how often   (stated up front)
└── Receipt what was done to which call             (proves it afterwards)
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from fnmatch import fnmatchcase

from injector.emulator.faults.latency import Latency
from injector.emulator.rpc import Code

DISPATCH = "Dispatch"
"""The name under which a plan meets attempts on their way to targets."""
_MOST_RECEIPTS = 10_000


class Effect(Enum):
    """What a fault does.

    ERROR refuses the call before it is looked at. LOST carries it out and then answers with an
    error, as when an answer is lost after the store. DROP cuts the connection before, DROP_AFTER
    once the call is carried out. HANG carries it out and never answers. DELAY only waits; LATE
    carries the call out first and answers after the wait.
    DUPLICATE delivers an attempt twice. FAIL_OPERATION lets a batch's operation end as FAILED,
    after `done` of its work.
    """

    ERROR = "error"
    LOST = "lost"
    DROP = "drop"
    DROP_AFTER = "drop_after"
    HANG = "hang"
    LATE = "late"
    DELAY = "delay"
    DUPLICATE = "duplicate"
    FAIL_OPERATION = "fail_operation"


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: it meets `methods` on queues like `queue`, each call with chance `rate`.

    Of the calls met it spares the first `after`, then does its effect to every `every`-th, at
    most `times` times. Method names are short; `*` matches any text.
    """

    id: str
    effect: Effect
    methods: tuple[str, ...] = ("*",)
    queue: str = "*"
    rate: float = 1.0
    after: int = 0
    every: int = 1
    times: int | None = None
    code: Code = Code.UNAVAILABLE
    message: str = ""
    latency: Latency = field(default_factory=Latency)
    done: float = 0.0

    def meets(self, method: str, queue: str) -> bool:
        """Tell whether the fault is for such a call."""
        return fnmatchcase(queue, self.queue) and any(
            fnmatchcase(method, pattern) for pattern in self.methods
        )


@dataclass(frozen=True, slots=True)
class Done:
    """What was done to one call; `at` is in Unix seconds."""

    at: float
    fault: str
    effect: Effect
    method: str
    resource: str
    delay_s: float


@dataclass(slots=True)
class _Progress:
    fault: Fault
    met: int = 0
    applied: int = 0


class Plan:
    """The faults in force, in their order, and the receipt of what they did.

    `draw` yields uniform numbers, so that a seed repeats a run. `is_empty` tells whether no fault
    is in force.
    """

    def __init__(self, draw: Callable[[], float]) -> None:
        self._draw = draw
        self._faults: list[_Progress] = []
        self.is_empty = True
        self.receipt: deque[Done] = deque(maxlen=_MOST_RECEIPTS)

    def set(self, faults: Iterable[Fault]) -> None:
        """Replace the faults and start a new receipt."""
        self._faults = [_Progress(fault) for fault in faults]
        self.is_empty = not self._faults
        self.receipt.clear()

    def counts(self) -> list[tuple[Fault, int, int]]:
        """Return each fault with how many calls it met, and to how many it was done."""
        return [(entry.fault, entry.met, entry.applied) for entry in self._faults]

    def strike(
        self, method: str, resource: str, *, now: float, effects: frozenset[Effect]
    ) -> list[tuple[Fault, float]]:
        """Return the faults that strike a call, with their delays, and write the receipt.

        Only those of the given effects are asked; others are for another place.
        """
        queue = resource.partition("/tasks/")[0]
        struck = []
        for entry in self._faults:
            fault = entry.fault
            if fault.effect in effects and fault.meets(method, queue) and self._strikes(entry):
                delay_s = fault.latency.draw(self._draw())
                struck.append((fault, delay_s))
                done = Done(now, fault.id, fault.effect, method, resource, delay_s)
                self.receipt.append(done)
        return struck

    def _strikes(self, entry: _Progress) -> bool:
        fault = entry.fault
        entry.met += 1
        turn = entry.met - fault.after
        if turn <= 0 or turn % fault.every:
            return False
        if fault.times is not None and entry.applied >= fault.times:
            return False
        if fault.rate < 1 and self._draw() >= fault.rate:
            return False
        entry.applied += 1
        return True
