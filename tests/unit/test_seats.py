from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Event

import pytest

from handlers.seats import Seats
from injector.errors import Retryable


def test_a_seat_is_free_again_however_its_holder_ended():
    seats = Seats(1, patience_s=0.001)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), seats.seat():
            1 / 0  # noqa: B018
    with seats.seat(), pytest.raises(Retryable, match="no fan-out ended within"), seats.seat():
        pass
    with seats.seat():
        pass


def test_who_waits_gets_the_seat_that_falls_free():
    seats, given = Seats(1, patience_s=60), Event()

    def sit():
        with seats.seat():
            given.set()

    with ThreadPoolExecutor(1) as pool, ExitStack() as held:
        held.enter_context(seats.seat())
        waiting = pool.submit(sit)
        held.close()
        waiting.result()
    assert given.is_set()


def test_beyond_as_many_waiting_as_seated_one_is_sent_away_at_once():
    seats, over = Seats(2, patience_s=60), Event()

    def sit(_):
        try:
            with seats.seat():
                return over.wait()
        except Retryable as error:
            over.set()
            return str(error)

    with ThreadPoolExecutor(5) as pool:
        ends = list(pool.map(sit, range(5)))
    assert ends.count(True) == 4
    assert any("more wait" in str(end) for end in ends)
