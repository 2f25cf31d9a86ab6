"""Reaching hosts with several addresses."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from injector.delivery.dial import by_turns, dial, first_of
from tests.delivery.channels import run

V4, V6 = socket.AF_INET, socket.AF_INET6
PLACES = st.lists(st.tuples(st.sampled_from([V4, V6]), st.tuples(st.text(), st.just(1))))


@given(PLACES)
def test_families_take_turns_and_no_address_is_lost(places):
    ordered = by_turns(places)
    assert sorted(map(repr, ordered)) == sorted(map(repr, places))
    assert ordered[:1] == places[:1]
    fewer = min(sum(family is V4 for family, _ in places), len(places) // 2)
    fewer = min(fewer, sum(family is V6 for family, _ in places))
    families = [family for family, _ in ordered[: 2 * fewer]]
    assert all(one is not other for one, other in pairwise(families))


@pytest.fixture
def alive(stack: ExitStack) -> tuple[str, int]:
    listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    return listener.getsockname()


@pytest.fixture
def silent(stack: ExitStack) -> tuple[str, int]:
    """Listen where no more connections are taken: a further one's first packet is dropped."""
    listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
    for _ in range(3):
        filling = stack.enter_context(socket.socket())
        filling.settimeout(0)
        filling.connect_ex(listener.getsockname())
    return listener.getsockname()


@pytest.fixture
def refused() -> Iterator[tuple[str, int]]:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()


def test_an_address_that_is_dead_does_not_hide_one_that_is_not(alive, silent, refused) -> None:
    async def reach() -> tuple[str, int]:
        async with asyncio.timeout(10):
            with await first_of([(V4, refused), (V4, silent), (V4, alive)]) as line:
                return line.getpeername()

    assert run(reach()) == alive


def test_where_no_address_answers_the_first_ones_reason_is_given(refused) -> None:
    async def reach() -> None:
        with pytest.raises(ConnectionRefusedError):
            await first_of([(V4, refused), (V4, refused)])

    run(reach())


def test_giving_up_leaves_no_attempt_behind(silent) -> None:
    async def reach() -> set[object]:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.4):
                await first_of([(V4, silent), (V4, silent)])
        await asyncio.sleep(0.01)
        return asyncio.all_tasks() - {asyncio.current_task()}

    assert run(reach()) == set()


def test_a_name_is_looked_up(alive) -> None:
    async def reach() -> tuple[str, int]:
        with await dial("localhost", alive[1]) as line:
            return line.getpeername()

    assert run(reach()) == alive
