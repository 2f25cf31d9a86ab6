import pytest

from handlers.dashboard.glances import FRESH_S, KEPT, USABLE_S, Glances
from injector.errors import Retryable


class Maker:
    """Counts how often it is asked to make an answer."""

    def __init__(self) -> None:
        self.made = 0

    def __call__(self) -> str:
        self.made += 1
        return f"answer {self.made}"


def test_all_who_look_within_a_second_share_one_answer():
    glances, make = Glances(2), Maker()
    seen = [glances.see("a", make, now=10 + i * FRESH_S / 10) for i in range(10)]
    assert set(seen) == {"answer 1"}
    assert glances.see("a", make, now=10 + FRESH_S) == "answer 2"


def test_one_answer_is_not_another():
    glances = Glances(2)
    assert glances.see("a", lambda: "A", now=0) == "A"
    assert glances.see("b", lambda: "B", now=0) == "B"


def test_with_all_makers_busy_nobody_waits_but_gets_what_was_made_before():
    glances, make = Glances(1), Maker()
    glances.see("a", make, now=0)

    def busy():
        return glances.see("a", make, now=USABLE_S)

    assert glances.see("b", busy, now=USABLE_S) == "answer 1"
    assert make.made == 1


@pytest.mark.parametrize("age", [None, FRESH_S + USABLE_S + 0.1])
def test_with_all_makers_busy_and_nothing_fit_to_show_one_is_asked_to_come_again(age):
    glances, make = Glances(1), Maker()
    if age:
        glances.see("a", make, now=100 - age)
    with pytest.raises(Retryable) as told:
        glances.see("b", lambda: glances.see("a", make, now=100), now=100)
    assert told.value.retry_after_s


def test_a_maker_that_fails_is_free_again():
    glances = Glances(1)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            glances.see("a", lambda: str(1 / 0), now=0)
    assert glances.see("a", lambda: "A", now=0) == "A"


def test_however_many_addresses_are_asked_few_answers_are_kept():
    glances, make = Glances(1), Maker()
    for number in range(KEPT + 1):
        glances.see(str(number), make, now=0)
    glances.see("0", make, now=0)
    glances.see(str(KEPT), make, now=0)
    assert make.made == KEPT + 2
