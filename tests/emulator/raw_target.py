"""A target that answers with the bytes a test gives it."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter, bytes], Awaitable[None]]


class RawTarget:
    """Counts connections, keeps requests as they came, and answers each by its script."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self.connections = 0
        self.requests: list[bytes] = []
        self.url = ""
        self.asked = asyncio.Event()
        self._serving: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._serving[asyncio.create_task(self._answer(reader, writer))] = writer

    async def close(self) -> None:
        for task, writer in self._serving.items():
            task.cancel()
            writer.transport.abort()
        await asyncio.gather(*self._serving, return_exceptions=True)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                request = await _read_request(reader)
                self.requests.append(request)
                self.asked.set()
                await self._script(reader, writer, request)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


async def _read_request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    sizes = [line[15:] for line in head.split(b"\r\n") if line.startswith(b"Content-Length:")]
    return head + await reader.readexactly(int(sizes[0]) if sizes else 0)


def says(*answers: bytes, then_close: bool = False) -> Script:
    """Answer with each of these bytes in turn, and with the last for ever."""
    left = list(answers)

    async def script(
        _reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _request: bytes
    ) -> None:
        writer.write(left.pop(0) if len(left) > 1 else left[0])
        if then_close:
            writer.close()
            raise ConnectionError

    return script


@asynccontextmanager
async def target(
    script: Script | None = None, *, tls: ssl.SSLContext | None = None
) -> AsyncIterator[RawTarget]:
    raw = RawTarget(script or says(OK))
    server = await asyncio.start_server(raw.serve, "127.0.0.1", 0, ssl=tls)
    port = server.sockets[0].getsockname()[1]
    raw.url = f"http{'s' if tls else ''}://localhost:{port}" if tls else f"http://127.0.0.1:{port}"
    try:
        yield raw
    finally:
        server.close()
        await raw.close()
