"""gRPC by this package's own HTTP/2 on asyncio: all in Python, and fast.

Of what can be installed, grpc.aio takes 240 µs of CPU for a call, and servers in Rust under
Python 20 to 25, none of which can drop a connection when a plan of faults asks for it. Most of
a client's calls differ from each other in the message only, and what does not differ need not be
done again: so this takes about 4 µs, and has nothing to compile.
"""

import asyncio
import ssl
from collections.abc import Mapping

from injector.emulator.rpc import Converse, Handle
from injector.emulator.transport.connection import Connection
from injector.emulator.transport.ports import Server, Tls

MAX_STREAMS = 100
"""Calls under way on one connection, as many as Google's front ends take."""


async def serve(  # noqa: PLR0913  # what to listen on, and who answers
    handle: Handle,
    *,
    host: str,
    port: int,
    tls: Tls | None = None,
    max_streams: int = MAX_STREAMS,
    streams: Mapping[str, Converse] | None = None,
) -> Server:
    """Listen on host and port (0: any free one) and give each call to `handle`."""
    connections: set[Connection] = set()
    talks = streams or {}
    server = await asyncio.get_running_loop().create_server(
        lambda: Connection(handle, max_streams=max_streams, among=connections, streams=talks),
        host,
        port,
        backlog=1024,
        ssl=_context(tls) if tls else None,
    )
    return _AsyncioServer(server, connections)


def _context(tls: Tls) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tls.certificate, tls.key)
    context.set_alpn_protocols(["h2"])
    return context


class _AsyncioServer:
    def __init__(self, server: asyncio.Server, connections: set[Connection]) -> None:
        self._server = server
        self._connections = connections
        self.port: int = server.sockets[0].getsockname()[1]

    async def stop(self, *, grace_s: float) -> None:
        """Close the connections that end by themselves, then the others."""
        self._server.close()
        for connection in tuple(self._connections):
            connection.leave()
        await self._all_closed(within_s=grace_s)
        for connection in tuple(self._connections):
            connection.abort()
        await self._all_closed(within_s=None)
        await self._server.wait_closed()

    async def _all_closed(self, *, within_s: float | None) -> None:
        waits = [asyncio.create_task(c.closed.wait()) for c in self._connections]
        if waits:
            _, late = await asyncio.wait(waits, timeout=within_s)
            for wait in late:
                wait.cancel()
