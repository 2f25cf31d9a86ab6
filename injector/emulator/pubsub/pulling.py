"""Pull and StreamingPull: the ways in which messages leave."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Iterable
from dataclasses import dataclass
from math import inf

from injector.emulator.api.messages import DecodeError
from injector.emulator.api.refusals import invalid
from injector.emulator.pubsub import messages, refusals
from injector.emulator.pubsub.service import PubSub
from injector.emulator.pubsub.subscriber import (
    LONGEST_DEADLINE_S,
    SHORTEST_DEADLINE_S,
    check_ack_ids,
)
from injector.emulator.state.subscription import Held, Subscription

_MOST_PULLED = 1000
_PULL_WAITS_S = 90.0
_MOST_AT_ONCE_BYTES = 4_000_000


def pull(pubsub: PubSub, request: messages.PullRequest) -> bytes | Awaitable[bytes]:
    """Deliver what is there, or wait for the first message that comes."""
    subscription = pubsub.subscription(request.subscription)
    if request.max_messages < 1:
        raise refusals.out_of_range("max_messages", request.max_messages, low=1)
    most = min(request.max_messages, _MOST_PULLED)
    held = _take(pubsub, subscription, most)
    if held or request.return_immediately:
        return _pulled(held)
    return _pull_later(pubsub, subscription, most)


async def _pull_later(pubsub: PubSub, subscription: Subscription, most: int) -> bytes:
    """Wait up to 90 s, as production does, then answer with what there is."""
    loop = asyncio.get_running_loop()
    end = loop.time() + _PULL_WAITS_S
    while (left := end - loop.time()) > 0:
        until = subscription.next_return()
        await pubsub.bell.wait(subscription.name, until=until, at_most_s=left)
        if held := _take(pubsub, subscription, most):
            return _pulled(held)
    return _pulled([])


@dataclass(slots=True)
class _Stream:
    """One StreamingPull: what it may have out at once, and what it has."""

    subscription: Subscription
    most: int
    most_bytes: float
    deadline_s: int
    out: dict[str, int]


async def streaming_pull(pubsub: PubSub, heard: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    """Deliver messages as they come, within the stream's flow control, until its client ends it."""
    async for first in heard:
        stream = _open(pubsub, _read(first))
        break
    else:
        return
    reader = asyncio.create_task(_listen(pubsub, stream, heard))
    try:
        while not reader.done():
            held = _take_for(pubsub, stream)
            if held:
                yield _streamed(stream, held)
                continue
            until = stream.subscription.next_return()
            await pubsub.bell.wait(stream.subscription.name, until=until)
        reader.result()
    finally:
        reader.cancel()


def _open(pubsub: PubSub, first: messages.StreamingPullRequest) -> _Stream:
    subscription = pubsub.subscription(first.subscription)
    deadline_s = first.stream_ack_deadline_seconds
    if not SHORTEST_DEADLINE_S <= deadline_s <= LONGEST_DEADLINE_S:
        low, high = SHORTEST_DEADLINE_S, LONGEST_DEADLINE_S
        raise refusals.out_of_range("stream_ack_deadline_seconds", deadline_s, low=low, high=high)
    most, most_bytes = first.max_outstanding_messages, first.max_outstanding_bytes
    stream = _Stream(
        subscription,
        most=most if most > 0 else 2**31,
        most_bytes=most_bytes if most_bytes > 0 else inf,
        deadline_s=deadline_s,
        out={},
    )
    _settle(pubsub, stream, first)
    return stream


async def _listen(pubsub: PubSub, stream: _Stream, heard: AsyncIterator[bytes]) -> None:
    """Do what the stream's client says, until it says no more."""
    name = stream.subscription.name
    try:
        async for message in heard:
            request = _read(message)
            if request.subscription:
                raise invalid("The subscription is named in a stream's first request only.")
            _settle(pubsub, stream, request)
            pubsub.bell.ring(name)
    finally:
        pubsub.bell.ring(name)


def _settle(pubsub: PubSub, stream: _Stream, request: messages.StreamingPullRequest) -> None:
    """Acknowledge and extend what a request names; the stream's deadline may change."""
    now = pubsub.clock.now()
    subscription = stream.subscription
    if request.stream_ack_deadline_seconds:
        stream.deadline_s = request.stream_ack_deadline_seconds
    if request.ack_ids:
        check_ack_ids(subscription, request.ack_ids)
    for ack_id in request.ack_ids:
        subscription.acknowledge(ack_id, now=now)
    if len(request.modify_deadline_ack_ids) != len(request.modify_deadline_seconds):
        raise invalid("modify_deadline_ack_ids and modify_deadline_seconds differ in length.")
    for ack_id, seconds in zip(
        request.modify_deadline_ack_ids, request.modify_deadline_seconds, strict=True
    ):
        subscription.extend(ack_id, max(0, min(seconds, LONGEST_DEADLINE_S)), now=now)


def _take_for(pubsub: PubSub, stream: _Stream) -> list[Held]:
    """Take what the stream's flow control leaves room for."""
    subscription = pubsub.subscription(stream.subscription.name)
    stream.out = {
        ack_id: size for ack_id, size in stream.out.items() if subscription.is_out(ack_id)
    }
    room = stream.most_bytes - sum(stream.out.values())
    most = min(stream.most - len(stream.out), _MOST_PULLED)
    if most <= 0 or room <= 0:
        return []
    held = _take(pubsub, subscription, most, min(room, _MOST_AT_ONCE_BYTES))
    now = pubsub.clock.now()
    for each in held:
        subscription.extend(each.ack_id, stream.deadline_s, now=now)
        stream.out[each.ack_id] = len(each.message.form)
    return held


def _take(
    pubsub: PubSub, subscription: Subscription, most: int, most_bytes: float = _MOST_AT_ONCE_BYTES
) -> list[Held]:
    now = pubsub.clock.now()
    return subscription.take(now=now, most=most, most_bytes=most_bytes)


def _pulled(held: Iterable[Held]) -> bytes:
    response = messages.PullResponse()
    for each in held:
        _write(response.received_messages.add(), each)
    return response.SerializeToString()


def _streamed(stream: _Stream, held: Iterable[Held]) -> bytes:
    response = messages.StreamingPullResponse()
    for each in held:
        _write(response.received_messages.add(), each)
    ordered = stream.subscription.terms.ordered
    response.subscription_properties.message_ordering_enabled = ordered
    return response.SerializeToString()


def _write(received: messages.ReceivedMessage, held: Held) -> None:
    received.ack_id = held.ack_id
    received.message.MergeFromString(held.message.form)


def _read(message: bytes) -> messages.StreamingPullRequest:
    try:
        return messages.StreamingPullRequest.FromString(message)
    except DecodeError as error:
        raise invalid("The request cannot be parsed.") from error
