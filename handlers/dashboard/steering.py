"""Which buttons a job or an operation has, by its state; each is a request to the API."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from handlers.models import JobShown
from injector.ledger.ports import JobState
from injector.operations.values import Operation, State


@dataclass(frozen=True, slots=True)
class Button:
    """A button: `asks` is the question that must be confirmed.

    `path` follows the job's own in the API. `fields` names the inputs that the question has,
    which join the `body`.
    """

    name: str
    method: str
    path: str
    label: str
    asks: str
    fields: Sequence[str] = ()
    grave: bool = False
    body: str = "{}"


PAUSE = Button(
    "pause",
    "POST",
    "/pause",
    "Pause",
    "No chunk is begun from now on. Those under way are finished, and the job can be resumed.",
)
RESUME = Button("resume", "POST", "/resume", "Resume", "The job goes on from the next tick.")
TUNE = Button(
    "tune",
    "PATCH",
    "",
    "Tune…",
    "What you leave empty stays as it is. What goes slower does so within seconds, and what may go "
    "faster from the next tick on.",
    ("max_rate", "weight", "priority", "stop_when_rejected"),
)
CANCEL = Button(
    "cancel",
    "POST",
    "/cancel",
    "Cancel…",
    "The job ends for good and cannot be resumed. Tasks that were created run all the same, "
    "unless you take them back.",
    ("take_back",),
    grave=True,
)
TAKE_BACK = Button(
    "take-back",
    "POST",
    "/cancel",
    "Take tasks back…",
    "Tasks of this job that still wait in the queues are deleted.",
    grave=True,
    body='{"take_back": true}',
)
RETRY = Button(
    "retry",
    "POST",
    "/retry",
    "Retry",
    "The job goes on, and chunks without a receipt are sent again at once.",
)
REDRIVE = Button(
    "redrive",
    "POST",
    "/redrive",
    "Send rejects again…",
    "All rejected records are opened and sent again, as a new generation of their chunks.",
)
REMOVE = Button(
    "remove",
    "DELETE",
    "",
    "Remove…",
    "The job and its receipts are removed; its audit stays, and so do its chunks: to remove them "
    "too, use injector rm instead. Its id is free again, and a job under it would create its tasks "
    "anew.",
    grave=True,
)


PAUSE_OPERATION = Button(
    "pause",
    "POST",
    "/pause",
    "Pause",
    "No further step is taken. What is set stays set, and the operation can be resumed.",
)
RESUME_OPERATION = Button("resume", "POST", "/resume", "Resume", "It goes on from the next tick.")
STOP_OPERATION = Button(
    "stop",
    "POST",
    "/cancel",
    "Stop…",
    "The operation ends for good, and its reason then says what it leaves behind. To go on with "
    "it later, pause it instead.",
    grave=True,
)


def operation_buttons(operation: Operation) -> Sequence[Button]:
    """Return what can be done with the operation now."""
    if not operation.is_live:
        return ()
    first = RESUME_OPERATION if operation.state is State.PAUSED else PAUSE_OPERATION
    return (first, STOP_OPERATION)


def buttons(job: JobShown) -> Sequence[Button]:
    """Return what can be done with the job now."""
    by_state: Mapping[JobState, Sequence[Button]] = {
        JobState.RUNNING: (PAUSE, TUNE, CANCEL),
        JobState.PAUSED: (RESUME, TUNE, CANCEL),
        JobState.FAILED: (RETRY, *_redrive(job), CANCEL, REMOVE),
        JobState.FINISHED: (*_redrive(job), REMOVE),
        JobState.CANCELLED: (REMOVE,) if job.taken_back else (TAKE_BACK, REMOVE),
    }
    return by_state[job.state]


def _redrive(job: JobShown) -> Sequence[Button]:
    return (REDRIVE,) if job.rejected else ()
