"""A small Pub/Sub over gRPC that does what a test tells it, and remembers what it was sent."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import grpc
from google.iam.v1 import iam_policy_pb2
from google.pubsub_v1 import types

from tests.scripted_service import looping, settle

PublishRequest = types.PublishRequest.pb()
PublishResponse = types.PublishResponse.pb()
Message = types.PubsubMessage.pb()
Plan = Callable[[PublishRequest, int], str]


@dataclass
class Topics:
    """The state of the server; `plan` answers the request of that number with a status.

    A status that begins with "lost " is answered although the messages were published.
    `valid` refuses a whole request for one message, as a topic with a schema does, and
    `granted` are the permissions that its caller has, None for a server that knows none.
    """

    topics: dict[str, list[Message]] = field(default_factory=dict)
    plan: Plan = lambda _request, _number: "OK"
    valid: Callable[[Message], bool] = lambda _: True
    granted: tuple[str, ...] | None = ("pubsub.topics.publish",)
    requests: list[PublishRequest] = field(default_factory=list)
    cancelled: int = 0
    address: str = ""

    async def Publish(self, raw: bytes, context: grpc.aio.ServicerContext) -> bytes:  # noqa: N802
        request = PublishRequest.FromString(raw)
        self.requests.append(request)
        status = self.plan(request, len(self.requests))
        if status == "never":
            await self._hang()
        await self._refuse(request, len(raw), context)
        if status in ("OK", f"lost {status.removeprefix('lost ')}"):
            first = sum(map(len, self.topics.values()))
            self.topics[request.topic].extend(request.messages)
            ids = [str(7_000_000_000 + first + place) for place in range(len(request.messages))]
        if status != "OK":
            code = grpc.StatusCode[status.removeprefix("lost ")]
            await context.abort(code, "as the test asked")
        return PublishResponse(message_ids=ids).SerializeToString()

    async def GetTopic(self, raw: bytes, context: grpc.aio.ServicerContext) -> bytes:  # noqa: N802
        name = types.GetTopicRequest.pb().FromString(raw).topic
        if name not in self.topics:
            await context.abort(grpc.StatusCode.NOT_FOUND, "Resource not found.")
        return types.Topic.pb()(name=name).SerializeToString()

    async def TestIamPermissions(  # noqa: N802
        self, raw: bytes, context: grpc.aio.ServicerContext
    ) -> bytes:
        asked = iam_policy_pb2.TestIamPermissionsRequest.FromString(raw)
        if self.granted is None:
            await context.abort(grpc.StatusCode.UNIMPLEMENTED, "no permissions here")
        if asked.resource not in self.topics:
            await context.abort(grpc.StatusCode.NOT_FOUND, "Resource not found.")
        granted = [each for each in asked.permissions if each in self.granted]
        answer = iam_policy_pb2.TestIamPermissionsResponse(permissions=granted)
        return answer.SerializeToString()

    async def _hang(self) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise

    async def _refuse(
        self, request: PublishRequest, size: int, context: grpc.aio.ServicerContext
    ) -> None:
        if request.topic not in self.topics:
            await context.abort(grpc.StatusCode.NOT_FOUND, "Resource not found.")
        keys = {message.ordering_key for message in request.messages}
        too_much = size > 10_000_000 or len(request.messages) > 1000 or len(keys) > 1
        if too_much or not all(map(self.valid, request.messages)):
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "the request will not do")


@contextmanager
def serve(topics: Topics) -> Iterator[Topics]:
    """Serve on a loop and thread of its own until the test is over."""
    with looping() as loop:
        server = asyncio.run_coroutine_threadsafe(_start(topics), loop).result()
        yield topics
        asyncio.run_coroutine_threadsafe(server.stop(None), loop).result()
        del server
        asyncio.run_coroutine_threadsafe(settle(), loop).result()


async def _start(topics: Topics) -> grpc.aio.Server:
    server = grpc.aio.server(options=[("grpc.max_receive_message_length", 16 * 2**20)])
    for service, methods in (
        ("google.pubsub.v1.Publisher", ("Publish", "GetTopic")),
        ("google.iam.v1.IAMPolicy", ("TestIamPermissions",)),
    ):
        handlers = {
            name: grpc.unary_unary_rpc_method_handler(getattr(topics, name)) for name in methods
        }
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, handlers),))
    topics.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    return server
