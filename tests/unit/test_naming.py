"""Task ids and the choice of queue."""

import os
import re
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from injector.naming import draw_of, draw_of_chunk, injector_task_id, name_task, task_id

RULE = re.compile(r"[A-Za-z0-9_-]{1,500}")
CHI_SQUARE_255_AT_ONE_IN_A_MILLION = 377.0

PROGRAM = """
from injector.naming import name_task
keys = [str(i) for i in range(1000)] + ["\\u00e9", "e\\u0301", '{"a":1,"b":2}']
print([name_task("job", key.encode(), key) for key in keys])
"""


@given(identity=st.binary(), suffix=st.text(), job=st.text(max_size=30))
def test_any_key_gives_an_id_that_cloud_tasks_accepts(identity, suffix, job):
    assert RULE.fullmatch(task_id(job, identity, suffix))


@pytest.mark.parametrize("key", ["a/b", "é", "名前", "x y", "", "k" * 600, "../q", "a\0b", "a\n"])
def test_awkward_keys_give_ids_that_cloud_tasks_accepts(key):
    assert RULE.fullmatch(task_id("job", key.encode(), key))


def test_readable_suffix_follows_the_digest():
    assert re.fullmatch(r"[0-9a-f]{32}-a-b_1", task_id("job", b"x", "a/b_1"))
    assert re.fullmatch(r"[0-9a-f]{32}", task_id("job", b"x"))


def test_leading_characters_are_uniform_for_consecutive_ids_under_one_readable_word():
    names = [task_id("campaign-2026", b"%d" % n, f"user-{n}") for n in range(10_000)]
    counts = Counter(name[:2] for name in names)
    expected = len(names) / 256
    chi_square = sum((counts[f"{n:02x}"] - expected) ** 2 / expected for n in range(256))
    assert chi_square < CHI_SQUARE_255_AT_ONE_IN_A_MILLION


@pytest.mark.parametrize("queues", [1, 7, 40, 256])
def test_records_spread_evenly_over_the_queues(queues):
    counts = Counter(draw_of("job", b"%d" % n) % queues for n in range(queues * 400))
    assert set(counts) == set(range(queues))
    assert max(counts.values()) < 400 + 6 * 20
    assert min(counts.values()) > 400 - 6 * 20


def test_queue_is_independent_of_the_leading_characters_of_the_id():
    ids = [n for n in range(60_000) if task_id("job", b"%d" % n).startswith("00")]
    counts = Counter(draw_of("job", b"%d" % n) % 4 for n in ids)
    assert len(ids) > 150
    assert min(counts[queue] for queue in range(4)) > len(ids) / 4 * 0.5


def test_names_are_the_same_in_every_process():
    def run(seed):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", PROGRAM]
        return subprocess.run(command, env=environment, capture_output=True, check=True).stdout

    assert run("0") == run("1") == run("random")


def test_composed_and_decomposed_letters_are_two_identities():
    assert task_id("job", "\u00e9".encode()) != task_id("job", "e\u0301".encode())


def test_names_of_a_released_version_never_change():
    assert task_id("welcome", b"42", "42") == "0db804876e9c636cc40bc11b15f51be8-42"
    assert draw_of("welcome", b"42") % 40 == 29
    assert injector_task_id("welcome", 12, 0) == "12146cb4acfb526110f8d8cf4417d873-welcome-12-0"


@given(st.text(max_size=20), st.binary())
def test_both_at_once_agree_with_each_alone(job, identity):
    both = task_id(job, identity, "s"), draw_of(job, identity)
    assert name_task(job, identity, "s") == both


@given(st.binary(), st.binary())
def test_other_jobs_give_other_names(one, other):
    assert (task_id("a", one) == task_id("b", other)) is False
    assert (task_id("a", one) == task_id("a", other)) is (one == other)


def test_each_generation_of_a_chunk_has_its_own_name():
    names = {injector_task_id("job", chunk, g) for chunk in range(20) for g in range(3)}
    assert len(names) == 60
    assert all(RULE.fullmatch(name) for name in names)


def test_chunks_spread_over_the_queues():
    assert {draw_of_chunk("job", chunk) % 10 for chunk in range(200)} == set(range(10))
