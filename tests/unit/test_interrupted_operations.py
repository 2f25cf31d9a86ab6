"""Operations that are interrupted: by a kill, by others who change the queues, by the target."""

from dataclasses import replace
from math import inf

import pytest

from injector.control.operate import Operates
from injector.errors import Conflict, Retryable
from injector.groups import Group
from injector.operations.kinds import KINDS
from injector.operations.steering import cancel, pause, resume
from injector.operations.stopping import rates_before
from injector.operations.values import State
from tests.moving_clock import T0
from tests.unit.desk import NAMES, OWN, PARENT, Busy, Desk

FIRST = 100.0
LOW = (10.0, 30.0, 20.0, 40.0)
GROUP = Group("g", (), tuple(NAMES))
MORE = [f"{PARENT}/q-{number}" for number in range(7)]
CASES = {
    "resume in turn": ("resume", {"initial": FIRST}, "PAUSED", OWN),
    "resume by rate": ("resume", {"initial": FIRST, "by": "rate"}, "PAUSED", OWN),
    "ramp up": ("ramp", {"to": 600.0, "start": FIRST}, "RUNNING", LOW),
    "ramp down": ("ramp", {"to": 50.0}, "RUNNING", OWN),
    "spread": ("spread", {"initial": FIRST, "at": T0 + 600}, "RUNNING", OWN),
    "provision": ("provision", {"queues": MORE, "rate": 40.0}, "RUNNING", OWN),
    "expand": ("expand", {"to": 7, "creates_per_s": 900.0}, "RUNNING", OWN),
    "keep-warm": ("keep-warm", {"for_s": 300.0}, "RUNNING", OWN),
}


class Unreachable:
    """A watcher that nobody can reach."""

    def look(self, queues, *, since, now):
        raise Retryable(f"no answer about {len(queues)} queues from {since} to {now}")


def desk_of(case):
    kind, spec, state, rates = CASES[case]
    desk = Desk(state, rates)
    return desk, desk.begin(kind, **spec)


def ended(case):
    """Return how it ends without an interruption, and how many changes that takes."""
    desk, operation = desk_of(case)
    assert desk.run(operation).state is State.DONE
    return desk.found(), set(desk.queues.created), desk.queues.changes


@pytest.mark.parametrize("case", CASES)
def test_killed_after_any_change_it_ends_as_if_it_had_not_been(case):
    found, tasks, changes = ended(case)

    for number in {*range(1, min(changes, 5) + 1), *range(5, changes + 1, 7)}:
        desk, operation = desk_of(case)
        desk.die(operation, after=number)
        assert desk.run(operation).state is State.DONE

        assert (desk.found(), set(desk.queues.created)) == (found, tasks)
        if CASES[case][0] in ("resume", "ramp") and case != "ramp down":
            assert desk.worst_growth(FIRST) <= 1.5 + 1e-6
        steps = [line.new for line in desk.ledger.jobs.audit(operation) if line.what == "step"]
        assert len(steps) == len(set(steps))


@pytest.mark.parametrize("case", ["resume by rate", "ramp up"])
@pytest.mark.parametrize("theirs", [1.0, 450.0])
def test_queue_that_someone_has_set_meanwhile_is_left_to_them(case, theirs):
    desk, operation = desk_of(case)
    desk.look(operation)
    desk.die_at_a_look(operation, after=2, minutes=5)
    desk.by_hand(3, rate=theirs)

    found = desk.run(operation)

    assert desk.found_rates()[3] == theirs
    assert found.state is State.DONE
    assert f"someone set q-3 to {theirs:g}/s; it is left to them" in found.reason


@pytest.mark.parametrize("ends", [True, False])
def test_queue_that_is_set_by_hand_before_it_is_opened_is_not_opened_at_that_rate(ends):
    desk, operation = desk_of("resume by rate")
    desk.runner().go_on(operation, time_left=iter([60.0, 60.0, 60.0, 0.0]).__next__)
    opening = desk.get(operation).acts_left[0]
    assert (opening.verb, opening.what) == ("resume_queue", NAMES[1])
    desk.by_hand(1, rate=450.0)
    desk.runner().go_on(operation, time_left=lambda: 0.0)
    if ends:
        cancel(desk.ledger, operation, KINDS["resume"], now=desk.clock.now(), who="ann")
        assert desk.look(operation).state is State.CANCELLED
    else:
        assert desk.run(operation).state is State.DONE

    theirs = desk.queues.queues[NAMES[1]]
    assert (theirs.rate, theirs.state) == (450.0, "PAUSED")
    assert set(rates_before(desk.get(operation))) == {*NAMES} - {NAMES[1]}


def test_operation_of_a_kind_that_is_not_known_pauses_and_keeps_no_other_from_its_turn():
    desk, operation = desk_of("ramp up")
    warm = desk.begin("keep-warm", for_s=300.0)
    runner = replace(desk.runner(), kinds={"keep-warm": KINDS["keep-warm"]})

    said = list(Operates(runner).run(GROUP, rate=1.0, time_left=lambda: 60.0))

    assert len(said) == 2
    assert desk.get(operation).state is State.PAUSED
    assert "ramp" in desk.get(operation).reason
    assert desk.get(warm).step == 0
    assert desk.queues.created


def test_operation_that_cannot_be_reached_keeps_no_other_from_its_turn():
    desk, operation = desk_of("ramp up")
    desk.begin("keep-warm", for_s=300.0)
    desk.watcher = Unreachable()

    said = list(Operates(desk.runner()).run(GROUP, rate=1.0, time_left=lambda: 60.0))

    assert any("no answer" in each for each in said)
    assert desk.get(operation).state is State.RUNNING
    assert desk.queues.created


def test_queue_that_is_set_by_hand_between_two_steps_is_left_to_whoever_did_it():
    desk, operation = desk_of("ramp up")
    desk.look(operation)
    desk.by_hand(0, rate=3.0)

    found = desk.run(operation)

    assert (found.state, desk.found_rates()) == (State.DONE, [3.0, 150.0, 150.0, 150.0])


def test_operation_whose_queues_are_all_set_by_others_pauses_and_says_so():
    desk, operation = desk_of("ramp up")
    desk.look(operation)
    for number in range(4):
        desk.by_hand(number, rate=3.0)

    found = desk.look(operation, minutes=1)

    assert found.state is State.PAUSED
    assert "someone else has set 4 queues" in found.reason
    assert desk.found_rates() == [3.0] * 4


def by_pausing(desk):
    desk.by_hand(1, state="PAUSED")


def by_failing(desk):
    desk.watcher.failing = 0.03


@pytest.mark.parametrize("case", ["resume by rate", "ramp up", "spread"])
@pytest.mark.parametrize("interfere", [by_pausing, by_failing])
def test_step_up_that_was_interrupted_is_not_finished_when_all_is_not_well(case, interfere):
    desk, operation = desk_of(case)
    rates = desk.found_rates()
    while sum(rates) != pytest.approx(1.5 * FIRST):  # the first step up but one
        desk.look(operation, minutes=1)
        rates = desk.found_rates()
    before = rates[0]
    while (rates := desk.found_rates())[0] == before:
        desk.die_at_a_look(operation, after=1, minutes=1)
    interfere(desk)

    desk.look(operation, minutes=4)
    desk.look(operation, minutes=1)

    assert desk.found_rates()[0] > before
    assert desk.found_rates() == rates
    assert desk.get(operation).acts_left == ()


def test_step_up_that_was_interrupted_is_cut_from_what_was_reached_when_the_target_fails():
    desk, operation = desk_of("ramp up")
    desk.look(operation)
    desk.look(operation, minutes=2)
    desk.look(operation, minutes=2)
    desk.die_at_a_look(operation, after=2, minutes=1)
    reached = sum(desk.found_rates())
    assert FIRST < reached < 1.5 * FIRST
    desk.watcher.failing = 0.5

    desk.look(operation, minutes=4)

    assert sum(desk.found_rates()) <= max(FIRST, reached / 2) + 1e-6


def test_queue_that_is_paused_by_hand_is_named_and_holds_the_rest():
    desk, operation = desk_of("ramp up")
    desk.look(operation)
    by_pausing(desk)

    assert "q-1 is paused" in desk.look(operation, minutes=1).reason


def test_warm_stream_that_was_interrupted_leaves_out_paused_queues_and_what_is_past():
    desk, operation = desk_of("keep-warm")
    desk.die_at_a_look(operation, after=1)
    desk.queues.created.clear()
    by_pausing(desk)

    desk.look(operation, minutes=1.5)

    assert {create.queue for create in desk.queues.created.values()} == {*NAMES} - {NAMES[1]}
    assert min(create.schedule_time for create in desk.queues.created.values()) >= T0 + 60


def test_queue_that_is_deleted_pauses_the_operation_until_it_is_back():
    desk, operation = desk_of("ramp up")
    desk.look(operation)
    gone = desk.queues.queues.pop(NAMES[2])

    found = desk.look(operation, minutes=1)
    assert found.state is State.PAUSED
    assert NAMES[2] in found.reason

    desk.queues.queues[gone.name] = gone
    resume(desk.ledger, operation, now=desk.clock.now(), who="ann")
    assert desk.run(operation).state is State.DONE


@pytest.mark.parametrize("case", CASES)
def test_paused_operation_does_nothing_that_was_left_until_it_goes_on(case):
    found, tasks, _ = ended(case)
    desk, operation = desk_of(case)
    desk.die(operation, after=1)
    pause(desk.ledger, operation, now=desk.clock.now(), who="ann")
    before = desk.queues.changes

    for _ in range(3):
        desk.look(operation, minutes=0.2)
    assert desk.queues.changes == before
    assert desk.ledger.operations.open("g") == []

    resume(desk.ledger, operation, now=desk.clock.now(), who="ann")
    assert desk.run(operation).state is State.DONE
    assert (desk.found(), set(desk.queues.created)) == (found, tasks)


@pytest.mark.parametrize("number", range(1, 9))
def test_cancelled_resume_gives_queues_that_stay_paused_exactly_what_they_had(number):
    desk, operation = desk_of("resume by rate")
    desk.die(operation, after=number)
    cancel(desk.ledger, operation, KINDS["resume"], now=desk.clock.now(), who="ann")
    desk.die_at_a_look(operation, after=1)
    desk.look(operation)

    rates, states = desk.found_rates(), [desk.queues.queues[name].state for name in NAMES]
    kept = [rate for rate, state in zip(rates, states, strict=True) if state == "PAUSED"]
    own = [rate for rate, state in zip(OWN, states, strict=True) if state == "PAUSED"]
    assert kept == own
    assert desk.get(operation).state is State.CANCELLED


def test_spread_that_is_cancelled_before_its_instant_gives_every_queue_what_it_had():
    desk, operation = desk_of("spread")
    desk.look(operation, minutes=7)
    desk.look(operation, minutes=1)
    assert sum(desk.found_rates()) == pytest.approx(FIRST)

    cancel(desk.ledger, operation, KINDS["spread"], now=desk.clock.now(), who="ann")
    desk.look(operation)

    assert desk.found_rates() == list(OWN)


@pytest.mark.parametrize(
    ("case", "minutes"),
    [("resume by rate", 12), ("resume in turn", 12), ("spread", 12), ("ramp down", 3)],
)
def test_rates_before_an_operation_can_be_gone_back_to_on_the_curve(case, minutes):
    desk, operation = desk_of(case)
    for _ in range(minutes):
        desk.look(operation, minutes=1)
    cancel(desk.ledger, operation, KINDS[CASES[case][0]], now=desk.clock.now(), who="ann")
    before = desk.get(operation).memory["before"]
    desk.look(operation)
    desk.totals.clear()

    for name in NAMES:  # what a resume in turn has not opened yet
        desk.queues.queues[name] = desk.queues.resume_queue(name)
    first = max(sum(desk.found_rates()), 500.0)
    assert desk.run(desk.begin("ramp", own=before)).state is State.DONE

    assert desk.found_rates() == list(OWN)
    assert desk.worst_growth(first) <= 1.5 + 1e-6


def test_end_that_still_has_something_to_do_keeps_others_from_the_groups_rates():
    desk, operation = desk_of("spread")
    desk.look(operation, minutes=8)
    cancel(desk.ledger, operation, KINDS["spread"], now=desk.clock.now(), who="ann")
    with pytest.raises(Conflict, match=operation):
        desk.begin("ramp", to=50.0)

    desk.look(operation)

    assert desk.begin("ramp", to=50.0)


def test_two_at_once_go_on_with_one_operation_in_turn():
    desk, operation = desk_of("ramp up")
    name = f"operation {operation}"
    assert desk.ledger.leases.acquire(name, "another", now=desk.clock.now(), ttl_s=90.0)

    with pytest.raises(Conflict, match="carried on by another process"):
        desk.runner("me").go_on(operation, time_left=lambda: inf)
    assert desk.queues.changes == 0

    assert desk.run(operation).state is State.DONE


def test_end_that_cannot_be_carried_out_is_a_failure_and_stays_an_end():
    desk, operation = desk_of("spread")
    desk.look(operation, minutes=8)
    cancel(desk.ledger, operation, KINDS["spread"], now=desk.clock.now(), who="ann")
    del desk.queues.queues[NAMES[2]]

    found = desk.look(operation)

    assert found.state is State.FAILED
    assert NAMES[2] in found.reason
    assert desk.ledger.operations.open("g") == []


def test_ramp_of_queues_that_dispatch_nothing_holds_at_its_first_rate():
    desk = Desk("RUNNING", (500.0,) * 4)
    desk.watcher = Busy(desk.queues, idle=True)
    operation = desk.begin("ramp", to=1500.0)
    looks = [desk.look(operation, minutes=1.0) for _ in range(30)]
    assert {look.steps for look in looks} == {looks[0].steps}
    assert sum(queue.rate for queue in desk.queues.queues.values()) == 500
    assert "was not used" in looks[-1].reason
