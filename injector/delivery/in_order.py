"""Messages that hang together: in order where they have a key, and apart from a bad one."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from injector.delivery.batched import Part, fitting
from injector.delivery.call import Call, Sender
from injector.delivery.ports import OUT_OF_TIME, Create, Outcome, Result
from injector.publish_wire import MAX_MESSAGES, MAX_REQUEST

BEHIND = Result(
    Outcome.NOT_TAKEN, OUT_OF_TIME, "kept back, since a message before it was not taken"
)


def by_key(creates: Sequence[Create]) -> Iterator[Part]:
    """Put messages without a key into as few calls as fit, and those of each key into one.

    Pub/Sub takes one key in a request.
    """
    places: dict[tuple[str, str], list[int]] = {}
    for place, create in enumerate(creates):
        places.setdefault((create.queue, create.ordering_key), []).append(place)
    for (_, key), together in places.items():
        if key:
            yield together, [creates[place] for place in together]
        else:
            yield from _parts(creates, together)


class InOrder:
    """Sends a call in as few requests as fit, one after the other, and apart from bad messages.

    A request that is refused as invalid is sent again in halves, until each bad message stands
    alone: the others are not to share its fate. Behind a message that was not taken, those of
    its key wait, so that whoever sends them again keeps the order.
    """

    def __init__(self, inner: Sender) -> None:
        self._inner = inner

    async def send(self, call: Call) -> Sequence[Result]:
        """Send the messages."""
        parts = [part for _, part in _parts(call.creates, range(len(call.creates)))]
        return await self._one_by_one(call, parts)

    async def _one_by_one(self, call: Call, parts: Sequence[Sequence[Create]]) -> list[Result]:
        results: list[Result] = []
        for part in parts:
            if part[0].ordering_key and any(one.outcome is Outcome.NOT_TAKEN for one in results):
                results += [BEHIND] * len(part)
            else:
                results += await self._divided(replace(call, creates=part))
        return results

    async def _divided(self, call: Call) -> Sequence[Result]:
        results = await self._inner.send(call)
        middle = len(call.creates) // 2
        if not middle or any(one.outcome is not Outcome.REJECTED for one in results):
            return results
        return await self._one_by_one(call, (call.creates[:middle], call.creates[middle:]))


def _parts(creates: Sequence[Create], places: Sequence[int]) -> Iterator[Part]:
    return fitting(creates, places, most=MAX_MESSAGES, most_bytes=MAX_REQUEST)
