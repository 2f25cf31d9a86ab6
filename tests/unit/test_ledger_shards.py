from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from injector.ledger.shards import SHARDS, shard_of


@given(st.integers(0, 2**31 - 1))
def test_shard_is_one_of_them(chunk: int):
    assert 0 <= shard_of(chunk) < SHARDS


@pytest.mark.parametrize("step", [1, 2, 16, 64, 100, 500, 1000, 4096, 2000])
def test_chunks_a_round_number_apart_are_on_different_shards(step: int):
    used = Counter(shard_of(number * step) for number in range(640))

    assert len(used) > SHARDS / 2
    assert max(used.values()) <= 40
