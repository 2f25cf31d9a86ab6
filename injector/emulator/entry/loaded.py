"""Creates under load: slower, and some refused, as their rate outgrows the capacity."""

from collections.abc import Awaitable, Callable, Mapping

from injector.emulator.api import messages
from injector.emulator.api.methods import TASKS
from injector.emulator.rpc import Code, Handle, RpcError
from injector.emulator.state.overload import Load, Overload, Strain
from injector.emulator.timeline import Timeline

_UNAVAILABLE_SHARE = 1 / 3


class Loaded:
    """Lets creates meet the strain of their location; other methods pass."""

    def __init__(
        self, inner: Handle, overload: Overload, clock: Timeline, draw: Callable[[], float]
    ) -> None:
        self._inner = inner
        self._overload = overload
        self._clock = clock
        self._draw = draw
        self.loads: dict[str, Load] = {}

    def __call__(
        self, method: str, request: bytes, metadata: Mapping[str, str]
    ) -> bytes | Awaitable[bytes]:
        """Answer a call; raises RpcError or Dropped."""
        names = _names(method, request)
        if names is None:
            return self._inner(method, request, metadata)
        return self._later(names, method, request, metadata)

    async def _later(
        self,
        names: tuple[str, list[str]],
        method: str,
        request: bytes,
        metadata: Mapping[str, str],
    ) -> bytes:
        strain = self._meet(*names)
        await self._clock.sleep(strain.delay_s)
        if strain.refused:
            raise self._refusal()
        answer = self._inner(method, request, metadata)
        return answer if isinstance(answer, bytes) else await answer

    def _meet(self, parent: str, names: list[str]) -> Strain:
        """Count every task of the call; the call meets what the last of them meets."""
        now = self._clock.now()
        location = parent.partition("/queues/")[0]
        load = self.loads.get(location)
        if load is None:
            load = self.loads[location] = Load(self._overload, now=now)
        strains = [load.add(name, now=now, draw=self._draw()) for name in names]
        return strains[-1] if strains else Strain(0.0, refused=False)

    def _refusal(self) -> RpcError:
        if self._draw() < _UNAVAILABLE_SHARE:
            return RpcError(Code.UNAVAILABLE, "The service is currently unavailable.")
        return RpcError(Code.RESOURCE_EXHAUSTED, "The queue is overloaded. Please slow down.")


def _names(method: str, request: bytes) -> tuple[str, list[str]] | None:
    """Return the queue and the chosen ids of a call that creates; None for any other."""
    try:
        if method == TASKS + "CreateTask":
            single = messages.CreateTaskRequest.FromString(request)
            return single.parent, [_id(single)]
        if method == TASKS + "BatchCreateTasks":
            batch = messages.BatchCreateTasksRequest.FromString(request)
            return batch.parent, [_id(create) for create in batch.requests]
    except messages.DecodeError:
        return None
    return None


def _id(request: messages.CreateTaskRequest) -> str:
    return request.task.name.rpartition("/")[2]
