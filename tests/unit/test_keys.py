import pytest

from handlers.keys import Fetched, KeySet
from injector.errors import Retryable

DAY = 24 * 3600.0


class Source:
    """A key set's source that rotates its key, and may be away."""

    def __init__(self) -> None:
        self.now = 0.0
        self.key_id = "a"
        self.away = False
        self.fetches = 0

    def fetch(self):
        self.fetches += 1
        if self.away:
            raise Retryable("away")
        return Fetched({self.key_id: "PEM"}, 3600)

    def key_set(self):
        return KeySet(self.fetch, lambda: self.now)


@pytest.fixture
def source():
    return Source()


def test_keys_are_fetched_when_first_needed(source):
    keys = source.key_set()
    assert source.fetches == 0
    assert keys.holding("a") == {"a": "PEM"}


def test_keys_are_kept_until_they_age(source):
    keys = source.key_set()
    for source.now in (0, 1800, 3599):
        keys.holding("a")
    assert source.fetches == 1
    source.now = 3600
    keys.holding("a")
    assert source.fetches == 2


def test_a_rotated_key_is_found_within_a_minute(source):
    keys = source.key_set()
    keys.holding("a")
    source.key_id = "b"
    assert "b" not in keys.holding("b")
    source.now = 60
    assert "b" in keys.holding("b")


def test_made_up_ids_cause_at_most_a_fetch_a_minute(source):
    keys = source.key_set()
    for second in range(600):
        source.now = second
        keys.holding(f"made-up-{second}")
    assert source.fetches == 10


def test_keys_go_on_being_used_while_the_source_is_away(source):
    keys = source.key_set()
    keys.holding("a")
    source.away = True
    for source.now in (3600, DAY - 1):
        assert keys.holding("a") == {"a": "PEM"}


def test_keys_of_yesterday_are_not_used(source):
    keys = source.key_set()
    keys.holding("a")
    source.away, source.now = True, DAY + 1
    with pytest.raises(Retryable):
        keys.holding("a")


def test_a_source_that_is_away_is_not_asked_by_every_request(source):
    source.away = True
    keys = source.key_set()
    for source.now in (0, 1, 2, 4.9):
        with pytest.raises(Retryable):
            keys.holding("a")
    assert source.fetches == 1
    source.away, source.now = False, 5
    assert keys.holding("a") == {"a": "PEM"}
