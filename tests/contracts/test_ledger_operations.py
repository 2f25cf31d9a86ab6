"""Operations on groups, over every kind of ledger."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from injector.errors import Conflict, NotFound
from injector.ledger import Ledger, open_ledger
from injector.ledger.ports import AuditLine
from injector.operations.values import Act, Operation, State

QUEUE = "projects/p/locations/l/queues/q"
RAMP = Operation(
    "ramp-1",
    "ramp",
    "mail",
    {"queues": [QUEUE], "to": 750.5},
    slot="rates",
    who="ann",
    memory={"held": {QUEUE: 0.1}},
    acts=(Act("set_rate", QUEUE, {"rate": 0.1}), Act("resume_queue", QUEUE)),
    started_at=5.0,
    next_at=65.0,
    ends_at=605.5,
)


def test_operation_comes_back_as_it_was_kept(ledger: Ledger):
    ledger.operations.begin(RAMP)

    assert ledger.operations.get("ramp-1") == RAMP
    assert ledger.operations.list(group="mail") == [RAMP]
    assert ledger.operations.list(group="other") == []


def test_unknown_operation_is_not_found(ledger: Ledger):
    with pytest.raises(NotFound, match="'ramp-9'"):
        ledger.operations.get("ramp-9")


def test_group_has_one_live_operation_for_each_slot(ledger: Ledger):
    ledger.operations.begin(RAMP)

    with pytest.raises(Conflict, match="a ramp that is running, ramp-1"):
        ledger.operations.begin(replace(RAMP, id="ramp-2"))
    ledger.operations.begin(replace(RAMP, id="ramp-3", slot="warmth"))
    ledger.operations.begin(replace(RAMP, id="ramp-4", group="other"))


@pytest.mark.parametrize("state", [State.DONE, State.FAILED, State.ROLLED_BACK, State.CANCELLED])
def test_ended_operation_makes_room_once_its_end_is_carried_out(ledger: Ledger, state: State):
    ledger.operations.begin(RAMP)
    ended = replace(RAMP, state=state, version=1)
    ledger.operations.save(ended, expected_version=0)
    with pytest.raises(Conflict, match=f"a ramp that is {state}, ramp-1"):
        ledger.operations.begin(replace(RAMP, id="ramp-2"))

    ledger.operations.acted(ended, done=len(RAMP.acts))

    ledger.operations.begin(replace(RAMP, id="ramp-2"))


def test_operations_that_may_still_act_are_found_behind_any_number_that_may_not(ledger: Ledger):
    ledger.operations.begin(replace(RAMP, id="keep-warm-1", slot="warmth", acts=()))
    over = replace(RAMP, acts=(), state=State.DONE, slot="done")
    for number in range(3):
        ledger.operations.begin(replace(over, id=f"ramp-{number}"))
    ledger.operations.begin(replace(RAMP, id="spread-1", state=State.CANCELLED))

    acting = ledger.operations.list(group="mail", limit=2, may_act=True)

    assert [each.id for each in acting] == ["spread-1", "keep-warm-1"]


def test_paused_operation_keeps_its_place(ledger: Ledger):
    ledger.operations.begin(RAMP)
    ledger.operations.save(replace(RAMP, state=State.PAUSED, version=1), expected_version=0)

    with pytest.raises(Conflict, match="paused"):
        ledger.operations.begin(replace(RAMP, id="ramp-2"))


def test_save_at_another_version_changes_nothing(ledger: Ledger):
    ledger.operations.begin(RAMP)
    line = AuditLine(6.0, "ramp-1", "", "step", "0", "1", "healthy")
    first = replace(RAMP, step=1, version=1)

    assert ledger.operations.save(first, expected_version=0, lines=[line])
    assert not ledger.operations.save(replace(first, step=9), expected_version=0, lines=[line])

    assert ledger.operations.get("ramp-1") == first
    assert ledger.jobs.audit("ramp-1") == [line]


def test_acts_are_noted_one_by_one_and_only_by_who_knows_the_version(ledger: Ledger):
    ledger.operations.begin(RAMP)

    assert ledger.operations.acted(RAMP, done=1)
    assert ledger.operations.get("ramp-1").acts_left == RAMP.acts[1:]
    assert not ledger.operations.acted(replace(RAMP, version=7), done=2)
    assert ledger.operations.get("ramp-1").acts_done == 1


def test_open_operations_are_those_with_something_left_to_do(ledger: Ledger):
    states = {
        "ramp-1": replace(RAMP, acts_done=2),
        "ramp-2": replace(RAMP, state=State.PAUSED, acts_done=2),
        "ramp-3": replace(RAMP, state=State.CANCELLED, acts_done=1),
        "ramp-4": replace(RAMP, state=State.DONE, acts_done=2),
    }
    for name, operation in states.items():
        ledger.operations.begin(replace(operation, id=name, slot=name))

    assert [each.id for each in ledger.operations.open("mail")] == ["ramp-1", "ramp-3"]


def test_of_many_who_begin_at_once_one_does(shared_url: str):
    ledger = open_ledger(shared_url)

    def begin(number: int) -> bool:
        try:
            ledger.operations.begin(replace(RAMP, id=f"ramp-{number}"))
        except Conflict:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(begin, range(8))) == 1
    ledger.close()
