"""A channel of gRPC's own."""

import asyncio
import functools

import grpc

from injector.delivery.address import Address
from injector.delivery.channel import CallFailed
from injector.delivery.credentials import Metadata
from injector.delivery.user_agent import USER_AGENT


class GrpcChannel:
    """Sends calls by grpc.aio; `number` keeps one from sharing another's connection.

    No keepalive pings are asked for: servers answer the eager with GOAWAY and
    ENHANCE_YOUR_CALM, and a call that meets a dead connection is simply sent again. That is our
    own layer's work; gRPC's would be a second one, and costs a tenth of each call.
    """

    def __init__(self, address: Address, number: int) -> None:
        self._channel: grpc.aio.Channel | None = _open(address, number)
        self._methods: dict[str, grpc.aio.UnaryUnaryMultiCallable] = {}

    async def invoke(
        self, path: str, request: bytes, *, timeout_s: float, about: Metadata, token: Metadata
    ) -> bytes:
        """Send a serialized request and return the serialized answer; raises CallFailed."""
        method = self._methods.get(path)
        if method is None:
            if self._channel is None:
                raise CallFailed("CANCELLED", "the connection was closed")
            method = self._methods[path] = self._channel.unary_unary(path)
        try:
            answer: bytes = await method(
                request, timeout=timeout_s, metadata=_metadata(about, token)
            )
        except grpc.aio.AioRpcError as error:
            raise CallFailed(error.code().name, error.details() or "") from error
        except asyncio.CancelledError as error:
            if _being_cancelled():
                raise
            raise CallFailed("CANCELLED", "cancelled by the service or a closed line") from error
        return answer

    async def close(self) -> None:
        """End all calls, close the channel and forget it: gRPC stops with the last one."""
        self._methods.clear()
        channel, self._channel = self._channel, None
        if channel:
            await channel.close()


@functools.lru_cache(8192)
def _metadata(about: Metadata, token: Metadata) -> grpc.aio.Metadata:
    return grpc.aio.Metadata(*about, *token)


def _being_cancelled() -> bool:
    """Tell our own cancelling from a call that the other side cancelled."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _open(address: Address, number: int) -> grpc.aio.Channel:
    options = [
        ("injector.channel", number),
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.enable_retries", 0),
        ("grpc.service_config_disable_resolution", 1),
        ("grpc.primary_user_agent", USER_AGENT),
    ]
    if address.emulated:
        return grpc.aio.insecure_channel(address.target(), options)
    trusted = grpc.ssl_channel_credentials(address.root_certificates or None)
    return grpc.aio.secure_channel(address.target(), trusted, options)
