import time

from hypothesis import given
from hypothesis import strategies as st

from injector.clock import FastClock, SystemClock


@given(st.floats(1, 1000))
def test_a_fast_clock_gains_in_proportion_to_its_speed(speed: float) -> None:
    origin = time.time() - 60
    assert FastClock(speed, origin).now() - origin >= 60 * speed - 1e-6


def test_two_processes_with_the_same_fast_clock_agree() -> None:
    origin = time.time() - 5
    first, second = FastClock(10, origin), FastClock(10, origin)
    earlier, between, later = first.now(), second.now(), first.now()
    assert earlier <= between <= later


def test_a_sleep_on_a_fast_clock_lasts_its_own_seconds() -> None:
    clock = FastClock(1000, time.time())
    before = clock.monotonic()
    clock.sleep(1)
    assert clock.monotonic() - before >= 1


def test_the_system_clock_tells_unix_time() -> None:
    before = time.time()
    assert before <= SystemClock().now() <= time.time()
