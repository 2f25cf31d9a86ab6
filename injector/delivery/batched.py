"""Which calls a chunk's creates become: batches, or each create alone."""

import asyncio
import logging
from collections.abc import Iterable, Iterator, Sequence

from injector.delivery.batch import BatchRefused
from injector.delivery.call import Call, Sender
from injector.delivery.ports import Create, Result
from injector.delivery.verdict import judge

MOST_CREATES = 100

_OVERHEAD = 1024
_BYTES_A_CHARACTER = 4
_log = logging.getLogger(__name__)

Part = tuple[Sequence[int], Sequence[Create]]
"""Creates for one call, after their places among all."""


def each_alone(creates: Sequence[Create]) -> Iterator[Part]:
    """Put each create into a call of its own."""
    for place, create in enumerate(creates):
        yield (place,), (create,)


def by_queue(creates: Sequence[Create], *, most_bytes: int) -> Iterator[Part]:
    """Put the creates of each queue into as few calls as the service takes.

    A call holds at most 100 creates and, by an estimate that errs high, `most_bytes`; a create
    that is larger goes alone.
    """
    places: dict[str, list[int]] = {}
    for place, create in enumerate(creates):
        places.setdefault(create.queue, []).append(place)
    for of_queue in places.values():
        yield from fitting(creates, of_queue, most=MOST_CREATES, most_bytes=most_bytes)


def fitting(
    creates: Sequence[Create], places: Sequence[int], *, most: int, most_bytes: int
) -> Iterator[Part]:
    """Divide the creates at these places into as few parts as fit, in their order."""
    wanted = [creates[each] for each in places]
    sizes = _sizes(wanted)
    if len(wanted) <= most and sum(sizes) <= most_bytes:
        yield places, wanted
        return
    part: list[int] = []
    left = most_bytes
    for place, size in zip(places, sizes, strict=True):
        if part and (len(part) == most or size > left):
            yield part, [creates[each] for each in part]
            part, left = [], most_bytes
        part.append(place)
        left -= size
    yield part, [creates[each] for each in part]


def _sizes(creates: Sequence[Create]) -> list[int]:
    """Estimate serialized creates from above, looking once at what a job's creates share."""
    templates = {id(create.template): create.template for create in creates}
    shared = {key: _OVERHEAD + _headers_size(each.headers) for key, each in templates.items()}
    return [
        shared[id(create.template)]
        + len(create.body)
        + _BYTES_A_CHARACTER * (len(create.url) + len(create.ordering_key))
        + (_headers_size(create.headers) if create.headers else 0)
        for create in creates
    ]


def _headers_size(headers: Iterable[tuple[str, str]]) -> int:
    return _BYTES_A_CHARACTER * sum(len(name) + len(value) + 3 for name, value in headers)


class Batched:
    """Sends calls of several creates as batches, and each create alone where that is better.

    That is where a batch is refused as a whole as invalid, so that one bad record is not the
    others' fate; and, with `fall_back`, for good once the service has shown that it does not
    offer batches or not to this caller, which is said once.
    """

    def __init__(self, batches: Sender, single: Sender, *, fall_back: bool) -> None:
        self._batches = batches
        self._single = single
        self._fall_back = fall_back
        self._available = True

    async def send(self, call: Call) -> Sequence[Result]:
        """Send the creates."""
        if len(call.creates) == 1:
            return await self._single.send(call)
        if not self._available:
            return await self._alone(call)
        try:
            return await self._batches.send(call)
        except BatchRefused as refusal:
            return await self._refused(call, refusal)

    async def _refused(self, call: Call, refusal: BatchRefused) -> Sequence[Result]:
        if refusal.code != "INVALID_ARGUMENT":
            if not self._fall_back:
                return [judge(refusal.code, str(refusal), call.queue)] * len(call.creates)
            self._give_up(refusal)
        return await self._alone(call)

    async def _alone(self, call: Call) -> Sequence[Result]:
        queue, deadline, tally = call.queue, call.deadline, call.tally
        ends = await asyncio.gather(
            *[self._single.send(Call(queue, (one,), deadline, tally)) for one in call.creates]
        )
        return [result for (result,) in ends]

    def _give_up(self, refusal: BatchRefused) -> None:
        if self._available:
            self._available = False
            _log.warning(
                "delivery.batch_unavailable code=%s: creating tasks one by one from here on (%s)",
                refusal.code,
                refusal,
            )
