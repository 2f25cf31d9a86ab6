"""The servers of gRPC calls by name."""

from injector.emulator.rpc import Handle
from injector.emulator.transport import asyncio_server, grpc_aio
from injector.emulator.transport.ports import Server, Tls

TRANSPORTS = {"asyncio": asyncio_server.serve, "grpc.aio": grpc_aio.serve}


async def serve(
    handle: Handle, *, host: str, port: int, tls: Tls | None = None, transport: str = "asyncio"
) -> Server:
    """Listen on host and port (0: any free one) and give each call to `handle`.

    grpc.aio is there to compare with: about 50 times slower, and it answers UNAVAILABLE where a
    connection is to be dropped.
    """
    return await TRANSPORTS[transport](handle, host=host, port=port, tls=tls)
