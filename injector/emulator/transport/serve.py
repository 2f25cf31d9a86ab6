"""The server of gRPC calls that this machine can load."""

from injector.emulator.rpc import Handle
from injector.emulator.transport import grpc_aio
from injector.emulator.transport.ports import Server, Tls


async def serve(handle: Handle, *, host: str, port: int, tls: Tls | None = None) -> Server:
    """Listen on host and port (0: any free one) and give each call to `handle`."""
    return await grpc_aio.serve(handle, host=host, port=port, tls=tls)
