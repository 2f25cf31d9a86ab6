"""An emulator may have thousands of connections where the system allows it."""

import resource
from collections.abc import Iterator

import pytest

from injector.emulator.transport.open_files import allow_many, most_connections


@pytest.fixture
def limit() -> Iterator[tuple[int, int]]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield before
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_the_limit_is_raised_but_never_lowered(limit):
    _, hard = limit
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, hard))
    allow_many()
    raised, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert raised == min(hard, 16_384)
    allow_many()
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (raised, hard)


def test_connections_leave_room_for_other_files(limit):
    _, hard = limit
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
    assert most_connections() == 800
