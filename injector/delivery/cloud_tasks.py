"""CreateTask: one create in one call, as bytes."""

from collections.abc import Sequence
from functools import lru_cache
from urllib.parse import quote

from injector.delivery.call import Call
from injector.delivery.channel import CallFailed
from injector.delivery.credentials import Metadata
from injector.delivery.line import Line
from injector.delivery.ports import Create, Outcome, Result
from injector.delivery.verdict import CREATED, judge
from injector.wire import RequestTemplate

CREATE_TASK = "/google.cloud.tasks.v2.CloudTasks/CreateTask"
TEMPLATES_KEPT = 2000

_CREATED = (CREATED,)


class CloudTasks:
    """Sends single creates over the process's line.

    The answer repeats the task, so its bytes are left unread: the status says everything.
    """

    def __init__(self, line: Line, *, timeout_s: float) -> None:
        self._line = line
        self._timeout_s = timeout_s
        self._requests = Requests()

    async def send(self, call: Call) -> Sequence[Result]:
        """Create the task."""
        try:
            await self._line.call(
                CREATE_TASK,
                self._requests.of(call.creates[0]),
                about=routing("parent", call.queue),
                deadline=call.deadline,
                most_s=self._timeout_s,
            )
        except CallFailed as error:
            return (judge(error.code, str(error), call.queue),)
        except UnicodeEncodeError as error:
            return (Result(Outcome.REJECTED, "INVALID_ARGUMENT", f"not UTF-8: {error}"),)
        return _CREATED


class Requests:
    """Serializes creates with the parts that a job's tasks in a queue share kept at hand.

    Templates are told apart by identity, which costs nothing; a job renders all its creates
    with the one that it has.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[str, int], tuple[object, RequestTemplate]] = {}

    def of(self, create: Create) -> bytes:
        """Serialize the create's request."""
        key = create.queue, id(create.template)
        kept = self._kept.get(key)
        if kept is None or kept[0] is not create.template:
            kept = create.template, RequestTemplate(create.queue, create.template)
            self._keep(key, kept)
        return kept[1].fill(create)

    def _keep(self, key: tuple[str, int], kept: tuple[object, RequestTemplate]) -> None:
        if len(self._kept) >= TEMPLATES_KEPT:
            self._kept.clear()
        self._kept[key] = kept


@lru_cache(4096)
def routing(field: str, name: str) -> Metadata:
    """Return the header that tells the service's front which resource a call is about."""
    return (("x-goog-request-params", f"{field}={quote(name)}"),)
