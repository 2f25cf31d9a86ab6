"""What a diagnosis says."""

from dataclasses import dataclass
from enum import StrEnum

from injector.queues.diagnosis.figures import Figures


class Cause(StrEnum):
    """Why a queue dispatches less than it could, or takes fewer tasks than it is sent."""

    COLD = "cold ramp-up"
    CONGESTION = "target congestion"
    CONCURRENCY = "concurrency limit"
    PAUSED = "paused"
    OWN_LIMIT = "own rate limit"
    STARVED = "starved"
    CREATES = "overload of creates"


class Confidence(StrEnum):
    """How sure a verdict is: whether the numbers fit it, or show it."""

    MEDIUM = "medium"
    HIGH = "high"


@dataclass(frozen=True, slots=True)
class Finding:
    """A cause found in one queue, and which of its numbers say so."""

    cause: Cause
    confidence: Confidence
    why: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """A cause with the queues that it holds back, their numbers together, and what to do.

    `why` is said of the queue that most waits in. Creates are counted by location, so for their
    overload `queues` is empty, and the numbers are those of all queues looked at.
    """

    cause: Cause
    confidence: Confidence
    why: str
    advice: str
    queues: tuple[str, ...]
    figures: Figures


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The verdicts, none if nothing is wrong, and the numbers of all queues together.

    `notes` are things to know that are none of the causes; `unseen` is what could not be looked
    at.
    """

    verdicts: tuple[Verdict, ...]
    figures: Figures
    notes: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
