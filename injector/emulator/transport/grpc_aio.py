"""gRPC by grpcio's own asyncio server: slow, and everywhere to be had."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from inspect import isawaitable

import grpc
import grpc.aio

from injector.emulator.rpc import Converse, Dropped, Handle, RpcError
from injector.emulator.transport.ports import MAX_MESSAGE_BYTES, Server, Tls

_STATUS = {code.value[0]: code for code in grpc.StatusCode}
_OPTIONS = (
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", -1),
    ("grpc.so_reuseport", 0),
    ("grpc.http2.min_ping_interval_without_data_ms", 0),
    ("grpc.http2.max_ping_strikes", 0),
)


async def serve(
    handle: Handle,
    *,
    host: str,
    port: int,
    tls: Tls | None = None,
    streams: Mapping[str, Converse] | None = None,
) -> Server:
    """Listen on host and port (0: any free one) and give each call to `handle`."""
    server = grpc.aio.server(handlers=(_Methods(handle, streams or {}),), options=_OPTIONS)
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        bound = _listen(server, address, tls)
    except RuntimeError as error:
        raise OSError(f"cannot listen on {address}") from error
    await server.start()
    return _GrpcAioServer(server, bound)


def _listen(server: grpc.aio.Server, address: str, tls: Tls | None) -> int:
    if tls is None:
        return int(server.add_insecure_port(address))
    pair = (tls.key.read_bytes(), tls.certificate.read_bytes())
    return int(server.add_secure_port(address, grpc.ssl_server_credentials((pair,))))


class _GrpcAioServer:
    def __init__(self, server: grpc.aio.Server, port: int) -> None:
        self._server = server
        self.port = port

    async def stop(self, *, grace_s: float) -> None:
        await self._server.stop(grace_s)


class _Methods(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpcio ships no types
    """Answers every method's name with the same handler of bytes."""

    def __init__(self, handle: Handle, streams: Mapping[str, Converse]) -> None:
        self._handle = handle
        self._streams = streams

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        """Return the handler of one call."""
        method, metadata = details.method, details.invocation_metadata
        if method in self._streams:
            return grpc.stream_stream_rpc_method_handler(_talk(self._streams[method], metadata))
        return grpc.unary_unary_rpc_method_handler(_call(self._handle, method, metadata))


def _call(
    handle: Handle, method: str, metadata: tuple[tuple[str, str], ...]
) -> Callable[[bytes, grpc.aio.ServicerContext], Awaitable[bytes]]:
    async def call(request: bytes, context: grpc.aio.ServicerContext) -> bytes:
        try:
            answer = handle(method, request, _with_deadline(dict(metadata), context))
            return await answer if isawaitable(answer) else answer
        except (RpcError, Dropped) as error:
            await _abort(context, error)
        raise AssertionError("abort always raises")

    return call


def _talk(
    converse: Converse, metadata: tuple[tuple[str, str], ...]
) -> Callable[[AsyncIterator[bytes], grpc.aio.ServicerContext], AsyncIterator[bytes]]:
    async def talk(
        heard: AsyncIterator[bytes], context: grpc.aio.ServicerContext
    ) -> AsyncIterator[bytes]:
        try:
            async for message in converse(heard, _with_deadline(dict(metadata), context)):
                yield message
        except (RpcError, Dropped) as error:
            await _abort(context, error)

    return talk


async def _abort(context: grpc.aio.ServicerContext, error: RpcError | Dropped) -> None:
    if isinstance(error, Dropped):
        await context.abort(grpc.StatusCode.UNAVAILABLE, "Socket closed")
    else:
        details = (("grpc-status-details-bin", error.details),) if error.details else ()
        await context.abort(_STATUS[error.code], error.message, details)


def _with_deadline(metadata: dict[str, str], context: grpc.aio.ServicerContext) -> dict[str, str]:
    """Put the deadline back where the wire had it: grpcio takes it out of the metadata."""
    remaining_s = context.time_remaining()
    if remaining_s is not None:
        metadata["grpc-timeout"] = f"{int(remaining_s * 1000)}m"
    return metadata
