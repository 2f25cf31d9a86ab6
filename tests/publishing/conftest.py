"""What tests of the hedged publisher call."""

from collections.abc import Iterator

import pytest

from tests.publishing.bench import Bench, a_bench


@pytest.fixture(scope="module")
def served() -> Iterator[Bench]:
    with a_bench() as bench:
        yield bench


@pytest.fixture
def bench(served: Bench) -> Bench:
    """An emulator without messages and faults."""
    served.reset()
    return served
