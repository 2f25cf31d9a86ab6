"""Operations on a group over the emulator: its own counters show that they keep to the curve."""

from dataclasses import replace
from itertools import count
from math import inf

import pytest

from injector.emulator.state.dynamics import FAITHFUL
from injector.errors import Conflict
from injector.operations.kinds import KINDS
from injector.operations.steering import cancel, pause, resume
from injector.operations.values import State
from tests.pace.operated import MINUTE_S, operated

FIRST = 2.0
OWN = 5.0
TASKS = 4000


@pytest.mark.parametrize("way", ["turn", "rate"])
def test_resumed_backlog_keeps_to_the_curve_and_queues_get_their_own_rates(way):
    with operated() as here:
        here.set_all(rate=OWN, paused=True)
        here.fill(TASKS)

        found = here.run(here.begin("resume", by=way, initial=FIRST))

        assert found.state is State.DONE
        assert sum(here.dispatched()) > 10_000
        assert here.excess(first_rate=FIRST) == 0
        assert here.worst_growth(first_rate=FIRST) <= 1.51
        assert (here.rates(), here.states()) == ([OWN] * 4, ["RUNNING"] * 4)


def test_resuming_in_turn_leaves_queues_paused_until_there_is_room_for_them():
    with operated() as here:
        here.set_all(rate=OWN, paused=True)
        here.fill(TASKS)

        here.look(here.begin("resume", initial=7.5))

        assert here.rates()[:2] == [5.0, 2.5]
        assert here.states() == ["RUNNING", "RUNNING", "PAUSED", "PAUSED"]


def test_cold_queues_of_the_service_are_waited_for():
    with operated(dynamics=FAITHFUL) as here:
        here.set_all(rate=OWN, paused=True)
        here.fill(1000)

        found = here.run(here.begin("resume", by="rate", initial=8.0))

        assert found.state is State.DONE
        assert here.excess(first_rate=8.0) == 0
        assert here.rates() == [OWN] * 4


def test_resume_pauses_itself_and_halves_the_rate_when_the_target_fails():
    began = []

    def target(at):
        return 503 if began and at > began[0] + 12 * MINUTE_S else 200

    with operated(target=target) as here:
        here.set_all(rate=OWN, paused=True)
        here.fill(TASKS)
        began.append(here.now)

        found = here.run(here.begin("resume", by="rate", initial=FIRST))

        assert found.state is State.PAUSED
        assert "stopped: " in found.reason
        assert "of the attempts end in UNAVAILABLE" in found.reason
        assert sum(here.rates()) == pytest.approx(4.5 / 2)


def test_drained_queues_let_the_rest_open_and_the_operation_end():
    with operated() as here:
        here.set_all(rate=OWN, paused=True)
        here.fill(20)

        found = here.run(here.begin("resume", initial=6.0), minutes=60)

        assert found.state is State.DONE
        assert here.states() == ["RUNNING"] * 4
        assert sum(here.dispatched()) == 80


def test_ramp_raises_on_the_curve_as_long_as_its_rate_is_used():
    with operated() as here:
        here.set_all(rate=0.5)
        here.fill(3000)

        found = here.run(here.begin("ramp", to=10.0, start=FIRST))

        assert found.state is State.DONE
        assert here.excess(first_rate=FIRST) == 0
        assert here.rates() == [2.5] * 4


def test_monitoring_that_is_minutes_late_makes_steps_longer_and_breaks_no_curve():
    with operated(late_s=240.0) as here:
        here.set_all(rate=0.5)
        here.fill(3000)

        found = here.run(here.begin("ramp", to=6.0, start=FIRST))

        assert found.state is State.DONE
        assert 4 * 6.5 * MINUTE_S <= found.ended_at - found.started_at <= 5 * 8 * MINUTE_S
        assert here.excess(first_rate=FIRST) == 0


def test_ramp_takes_no_step_on_a_rate_that_is_not_used():
    with operated() as here:
        here.set_all(rate=0.5)

        found = here.run(here.begin("ramp", to=10.0, start=FIRST), minutes=30)

        assert found.state is State.RUNNING
        assert sum(here.rates()) == pytest.approx(FIRST)


def test_ramp_holds_while_the_target_fails_a_little_and_cuts_when_it_fails_much():
    failing, number = {}, count()

    def target(at):
        one_in = next((n for (a, b), n in failing.items() if a <= at < b), None)
        return 503 if one_in and next(number) % one_in == 0 else 200

    with operated(target=target) as here:
        here.set_all(rate=0.5)
        here.fill(3000)
        began = here.now
        failing[began + 5 * MINUTE_S, began + 15 * MINUTE_S] = 33
        failing[began + 15 * MINUTE_S, began + 19 * MINUTE_S] = 2
        operation = here.begin("ramp", to=10.0, start=FIRST)

        here.run(operation, minutes=14.5)
        assert sum(here.rates()) == pytest.approx(3.0)
        here.run(operation, minutes=5)
        assert sum(here.rates()) == pytest.approx(2.0)


def test_ramp_down_is_one_step():
    with operated() as here:
        here.set_all(rate=OWN)

        here.look(here.begin("ramp", to=3.0))

        assert here.rates() == [0.75] * 4


def test_tasks_of_one_instant_leave_on_the_curve_from_then_on():
    with operated() as here:
        here.set_all(rate=OWN)
        at = here.now + 20 * MINUTE_S
        here.fill(TASKS, at=at)

        operation = here.begin("spread", at=at, initial=FIRST)
        here.run(operation, minutes=16)
        assert here.rates() == [OWN] * 4
        here.run(operation, minutes=2)
        assert sum(here.rates()) == pytest.approx(FIRST)
        found = here.run(operation)

        assert found.state is State.DONE
        assert here.excess(first_rate=FIRST) == 0
        assert here.rates() == [OWN] * 4


def test_kept_warm_queues_get_a_task_a_minute_each_until_cancelled():
    with operated() as here:
        operation = here.begin("keep-warm")
        here.run(operation, minutes=10)
        for queue in here.queues:
            assert set(here.dispatched((queue,))[:10]) == {1}

        cancel(here.world.ledger, operation, KINDS["keep-warm"], now=here.now, who="ann")
        here.world.run_until(here.now + 10 * MINUTE_S)

        assert sum(here.dispatched()[13:]) == 0
        assert here.get(operation).state is State.CANCELLED


def test_laptop_that_slept_catches_nothing_up():
    with operated() as here:
        here.set_all(rate=0.5)
        here.fill(3000)
        operation = here.begin("ramp", to=10.0, start=FIRST)
        here.run(operation, minutes=4)

        here.world.run_until(here.now + 60 * MINUTE_S)
        here.look(operation)

        assert sum(here.rates()) <= FIRST * 1.5


def test_paused_operation_changes_nothing_until_it_goes_on():
    with operated() as here:
        here.set_all(rate=0.5)
        here.fill(3000)
        operation = here.begin("ramp", to=10.0, start=FIRST)
        here.look(operation)

        pause(here.world.ledger, operation, now=here.now, who="ann")
        assert here.run(operation).state is State.PAUSED
        here.world.run_until(here.now + 10 * MINUTE_S)
        assert here.look(operation).step == 1
        resume(here.world.ledger, operation, now=here.now, who="ann")

        assert here.run(operation).state is State.DONE
        assert here.excess(first_rate=FIRST) == 0


def test_second_operation_on_the_rates_is_refused_and_the_same_one_goes_on():
    with operated() as here:
        here.set_all(rate=0.5)
        first = here.begin("ramp", to=10.0)

        assert here.begin("ramp", to=10.0) == first
        with pytest.raises(Conflict, match=first):
            here.begin("ramp", to=12.0)


def test_cancelled_resume_leaves_rates_low_and_says_so():
    with operated() as here:
        here.set_all(rate=OWN, paused=True)
        operation = here.begin("resume", by="rate", initial=FIRST)
        here.look(operation)

        cancel(here.world.ledger, operation, KINDS["resume"], now=here.now, who="ann")

        assert sum(here.rates()) == pytest.approx(FIRST)
        assert "4 queues left at a lowered rate" in here.get(operation).reason
        assert "20/s together" in here.get(operation).reason


def test_warm_stream_pauses_where_whoever_goes_on_knows_no_service_to_call():
    with operated() as here:
        operation = here.begin("keep-warm")
        here.runner.go_on(operation, time_left=lambda: 0.0)
        ports = replace(here.runner.ports, keep_warm=None)

        found = replace(here.runner, ports=ports).go_on(operation, time_left=lambda: inf)

        assert found.state is State.PAUSED
        assert "set INJECTOR_SERVICE_URL" in found.reason


def test_queues_kept_warm_take_a_burst_at_their_rate_and_the_others_begin_cold():
    with operated(dynamics=FAITHFUL) as here:
        here.set_all(rate=20.0)
        here.fill(1500)
        here.world.run_until(here.now + 4 * MINUTE_S)  # all have climbed to their rate, and ended
        warm, cold = here.queues[:2], here.queues[2:]
        here.run(here.begin("keep-warm", queues=warm), minutes=30)
        before = {queue: sum(here.dispatched((queue,))) for queue in here.queues}

        here.fill(1500, prefix="burst-")
        here.world.run_until(here.now + MINUTE_S)

        came = {queue: sum(here.dispatched((queue,))) - before[queue] for queue in here.queues}
        assert min(came[queue] for queue in warm) >= 0.9 * 20 * MINUTE_S
        assert min(came[queue] for queue in warm) > 3 * max(came[queue] for queue in cold)
