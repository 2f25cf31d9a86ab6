"""What operations say of themselves."""

import pytest

from injector.operations.kind import Ports
from injector.operations.kinds import KINDS
from injector.operations.steering import cancel, new_operation
from tests.moving_clock import T0
from tests.unit.desk import NAMES, Busy, Desk


def planned(desk, kind, **spec: object):
    """Return the figures of a plan."""
    operation = new_operation(
        KINDS[kind], "g", {"queues": list(NAMES), **spec}, now=T0, who="ann", draw=0
    )
    ports = Ports(desk.queues, desk.clock, Busy(desk.queues))
    return KINDS[kind].foresee(operation, ports, T0).figures


def test_one_queue_is_resumed_in_words_of_one():
    desk = Desk("PAUSED")
    assert planned(desk, "resume", queues=[NAMES[1]])["group"] == "g, 1 of 1 queue paused"
    assert planned(desk, "resume")["group"] == "g, 4 of 4 queues paused"
    ended = desk.run(desk.begin("resume", queues=[NAMES[1]]))
    assert ended.reason == "done: the queue has its rate, 300/s"


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"to": 100.0, "start": 200.0}, "100/s at once, since 200/s is above what is wanted"),
        ({"to": 100.0}, "100/s at once, since 782.7/s is above what is wanted"),
        ({"to": 200.0, "start": 200.0}, "200/s"),
        ({"to": 900.0, "start": 200.0}, "200/s"),
    ],
)
def test_a_ramp_down_says_why_it_does_not_begin_where_the_group_is(spec, said):
    assert planned(Desk(), "ramp", **spec)["from"] == said


@pytest.mark.parametrize(
    ("queues", "said"),
    [
        (NAMES[1:2], "cancelled: 1 queue left at a lowered rate, 0 as before"),
        (NAMES[1:3], "cancelled: 2 queues left at a lowered rate, 0 as before"),
    ],
)
def test_a_cancelled_resume_counts_its_queues(queues, said):
    desk = Desk("PAUSED")
    operation = desk.begin("resume", queues=list(queues), by="rate", initial=100)
    desk.look(operation)
    ended = cancel(desk.ledger, operation, KINDS["resume"], now=desk.clock.now(), who="ann")
    assert ended.reason.startswith(said)
