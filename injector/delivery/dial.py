"""Reaching a host that has several addresses, of which some may be dead ("happy eyeballs")."""

import asyncio
import socket
from collections.abc import Sequence
from itertools import zip_longest

NEXT_AFTER_S = 0.25
"""How long an address may take before the next is tried beside it (RFC 8305, 5)."""

_Place = tuple[socket.AddressFamily, tuple[str | int | bytes, ...]]


async def dial(host: str, port: int) -> socket.socket:
    """Connect to the first of the host's addresses that answers; raises OSError if none does.

    asyncio has this, but uvloop tries one after the other, each for minutes.
    """
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return await first_of(by_turns([(family, place) for family, _, _, _, place in found]))


def by_turns(places: Sequence[_Place]) -> list[_Place]:
    """Order addresses so that their families take turns, and no dead family comes whole first."""
    first = [place for place in places if place[0] is places[0][0]]
    others = [place for place in places if place[0] is not places[0][0]]
    return [place for pair in zip_longest(first, others) for place in pair if place]


async def first_of(places: Sequence[_Place]) -> socket.socket:
    """Connect to the first that answers: each begins when the one before it fails or is slow."""
    left = list(reversed(places))
    trying: set[asyncio.Task[socket.socket]] = set()
    failed: list[BaseException] = []
    try:
        while left or trying:
            if left:
                trying.add(asyncio.create_task(_connect(*left.pop())))
            ended, trying = await asyncio.wait(
                trying,
                timeout=NEXT_AFTER_S if left else None,
                return_when=asyncio.FIRST_COMPLETED,
            )
            for task in ended:
                if (why := task.exception()) is None:
                    ended.remove(task)
                    trying |= ended
                    return task.result()
                failed.append(why)
    finally:
        for task in trying:
            task.add_done_callback(_hang_up)
            task.cancel()
    raise failed[0]


async def _connect(
    family: socket.AddressFamily, place: tuple[str | int | bytes, ...]
) -> socket.socket:
    line = socket.socket(family, socket.SOCK_STREAM)
    try:
        line.settimeout(0)
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.get_running_loop().sock_connect(line, place)
    except BaseException:
        line.close()
        raise
    return line


def _hang_up(task: "asyncio.Task[socket.socket]") -> None:
    """Close a connection that came too late to be needed."""
    if not task.cancelled() and not task.exception():
        task.result().close()
