"""The servers of gRPC calls by name."""

from collections.abc import Mapping

from injector.emulator.rpc import Converse, Handle
from injector.emulator.transport import asyncio_server, grpc_aio
from injector.emulator.transport.ports import Server, Tls

TRANSPORTS = {"asyncio": asyncio_server.serve, "grpc.aio": grpc_aio.serve}


async def serve(  # noqa: PLR0913  # what to listen on, and who answers
    handle: Handle,
    *,
    host: str,
    port: int,
    tls: Tls | None = None,
    transport: str = "asyncio",
    streams: Mapping[str, Converse] | None = None,
) -> Server:
    """Listen on host and port (0: any free one) and give each call to `handle`.

    Calls of the methods in `streams` stream both ways, and are given to theirs.
    grpc.aio is there to compare with: about 50 times slower, and it answers UNAVAILABLE where a
    connection is to be dropped.
    """
    return await TRANSPORTS[transport](handle, host=host, port=port, tls=tls, streams=streams)
