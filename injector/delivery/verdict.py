"""What the service's status codes mean for a create."""

from collections import Counter
from collections.abc import Mapping, Sequence

from injector.delivery.ports import OUT_OF_TIME, OWN_CODES, QUEUE_FAULTS, Outcome, Result
from injector.pacing.signals import NOT_ACCEPTED

CREATED = Result(Outcome.CREATED)
EXISTED = Result(Outcome.EXISTED, "ALREADY_EXISTS")
LATE = Result(Outcome.NOT_TAKEN, OUT_OF_TIME, "the time for it was over before it was sent")

OVERLOAD_FAULTS = frozenset({"DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED", "ABORTED", "UNAVAILABLE"})
"""Overload and transport faults (codes 4, 8, 10 and 14): the same call again may succeed."""

PASSING_FAULTS = OVERLOAD_FAULTS | OWN_CODES | {"INTERNAL", "UNKNOWN", "CANCELLED"}
"""What need not last: the same question later may be answered."""

_REMEDIES = {
    "NOT_FOUND": "create the queue, or correct its name or the task's service account",
    "FAILED_PRECONDITION": "the queue is gone or not ready; a deleted name is free after days",
    "PERMISSION_DENIED": "grant roles/cloudtasks.enqueuer on the queue (to take tasks back,"
    " roles/cloudtasks.taskDeleter), and roles/iam.serviceAccountUser on the task's service"
    " account",
    "UNAUTHENTICATED": "give this process credentials that the service accepts",
    "UNIMPLEMENTED": "this endpoint does not offer the call",
}


def judge(code: str, message: str, queue: str) -> Result:
    """Turn a status into a create's end.

    A name that is taken already is a task that exists: an earlier answer was lost, or a hedge
    was first.
    """
    if code == "OK":
        return CREATED
    if code == "ALREADY_EXISTS":
        return EXISTED
    if code == "INVALID_ARGUMENT":
        return Result(Outcome.REJECTED, code, message)
    if code in QUEUE_FAULTS:
        return Result(Outcome.NOT_TAKEN, code, f"{queue}: {message} ({remedy(code)})")
    return Result(Outcome.NOT_TAKEN, code, message)


def weigh(results: Sequence[Result]) -> tuple[int, Mapping[str, int]]:
    """Count the creates that the service answered, and its faults by code.

    Where the service was not asked, it neither answered nor failed.
    """
    if all_created(results):
        return len(results), {}
    faults = Counter(result.code for result in results if result.code in NOT_ACCEPTED)
    return sum(result.sent for result in results) - faults.total(), faults


def all_created(results: Sequence[Result]) -> bool:
    """Say whether all were created: the common case, told by identity because that is fast."""
    return results.count(CREATED) == len(results)


def remedy(code: str) -> str:
    """Return what would mend the fault, or the code where nobody knows."""
    return _REMEDIES.get(code, code)
