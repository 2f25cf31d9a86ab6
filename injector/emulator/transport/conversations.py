"""The calls of one connection that stream both ways."""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass

from injector.emulator.rpc import Code, Converse, Dropped, RpcError
from injector.emulator.transport.deadline import seconds
from injector.emulator.transport.heads import Head
from injector.emulator.transport.messages import unpack
from injector.emulator.transport.session import Session

_logger = logging.getLogger(__name__)
_MOST_UNREAD = 1000


class Heard:
    """A caller's messages, read as they come; None ends them."""

    def __init__(self) -> None:
        self._messages: deque[bytes | None] = deque()
        self._more = asyncio.Event()

    def add(self, message: bytes | None) -> bool:
        """Take one more; tell whether the reader keeps up."""
        self._messages.append(message)
        self._more.set()
        return len(self._messages) <= _MOST_UNREAD

    def __aiter__(self) -> "Heard":
        return self

    async def __anext__(self) -> bytes:
        while not self._messages:
            self._more.clear()
            await self._more.wait()
        message = self._messages[0]
        if message is None:
            raise StopAsyncIteration
        self._messages.popleft()
        return message


@dataclass(slots=True)
class _Talk:
    heard: Heard
    task: asyncio.Task[None]


class Conversations:
    """Runs each call's answers beside what its client says.

    Nothing more is taken from a method while its client does not read what was said.
    """

    def __init__(
        self,
        streams: Mapping[str, Converse],
        session: Session,
        *,
        flush: Callable[[], None],
        drop: Callable[[], None],
    ) -> None:
        self._streams = streams
        self._session = session
        self._flush = flush
        self._drop = drop
        self._talks: dict[int, _Talk] = {}
        self._progress = asyncio.Event()

    def hear(self, stream: int, head: Head, message: bytes | None) -> None:
        """Take what a client says, which begins its call if it is the first."""
        talk = self._talks.get(stream)
        if talk is None:
            heard = Heard()
            task = asyncio.create_task(self._run(stream, head, heard))
            talk = self._talks[stream] = _Talk(heard, task)
        try:
            said = message if message is None else unpack(message, head.encoding)
            keeps_up = talk.heard.add(said)
        except RpcError as error:
            self._fail(stream, error)
        else:
            if not keeps_up:
                self._fail(stream, RpcError(Code.RESOURCE_EXHAUSTED, "Too many unread messages."))

    def forget(self, stream: int) -> None:
        """Stop a call that its client gave up."""
        if talk := self._talks.get(stream):
            talk.task.cancel()

    def moved(self) -> None:
        """Look again at what the client takes."""
        self._progress.set()

    def leave(self) -> None:
        """End the calls as a server does that goes away; clients call again."""
        for stream in tuple(self._talks):
            self._fail(stream, RpcError(Code.UNAVAILABLE, "The server is stopping."))

    def close(self) -> None:
        """Give up every call: its client is gone. Let go of the owner as well."""
        for talk in self._talks.values():
            talk.task.cancel()
        self._flush = self._drop = _do_nothing

    def _fail(self, stream: int, error: RpcError) -> None:
        self._session.finish(stream, error)
        self.forget(stream)

    async def _run(self, stream: int, head: Head, heard: Heard) -> None:
        try:
            async with asyncio.timeout(seconds(head.metadata.get("grpc-timeout", ""))):
                await self._say_all(stream, self._streams[head.method](heard, head.metadata))
        except Dropped:
            self._drop()
        except Exception as error:  # noqa: BLE001  # a fault of ours must not end the process
            self._session.finish(stream, end_of(error, head.method))
        else:
            self._session.finish(stream)
        finally:
            del self._talks[stream]
        self._flush()

    async def _say_all(self, stream: int, said: AsyncGenerator[bytes]) -> None:
        async with aclosing(said):
            async for message in said:
                self._session.say(stream, message)
                self._flush()
                while self._session.unsent(stream):
                    self._progress.clear()
                    await self._progress.wait()


def _do_nothing() -> None:
    """Write nothing: nobody would read it."""


def end_of(error: Exception, method: str) -> RpcError:
    """Return what a call's failure is to its caller; a bug of ours is logged."""
    if isinstance(error, RpcError):
        return error
    if isinstance(error, TimeoutError):
        return RpcError(Code.DEADLINE_EXCEEDED, "Deadline Exceeded")
    _logger.error("call.broke", exc_info=error, extra={"method": method})
    return RpcError(Code.INTERNAL, "Internal error encountered.")
