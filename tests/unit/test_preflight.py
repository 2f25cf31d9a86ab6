"""Looking at a group's queues before anything is created."""

import pytest

from injector.delivery.memory import MemoryQueues
from injector.delivery.ports import Queue
from injector.errors import Misused, Retryable
from injector.groups import Group
from injector.queues.preflight import checked, look_at_all, problems

PLACE = "projects/p/locations/l/queues"
GROUP = Group("mail", (f"{PLACE}/i-0",), tuple(f"{PLACE}/q-{n}" for n in range(20)))
NAMES = (*GROUP.injector_queues, *GROUP.queues)


def queues(**states: str):
    made = (
        Queue(name, states.get(name.rsplit("/", 1)[1].replace("-", "_"), "RUNNING"))
        for name in NAMES
    )
    return MemoryQueues(made)


def test_every_queue_is_seen_injector_queues_first_and_in_order():
    assert [seen.name for seen in look_at_all(GROUP, queues())] == list(NAMES)
    assert list(problems(look_at_all(GROUP, queues()))) == []


def test_each_queue_that_is_missing_or_stands_still_is_named_with_a_remedy():
    admin = queues(q_3="PAUSED", q_4="DISABLED")
    del admin.queues[f"{PLACE}/q-7"]
    with pytest.raises(Misused) as failure:
        checked(GROUP, admin)
    said = str(failure.value)
    assert said.count("\n") == 3
    for queue, remedy in (
        ("q-3", "group resume"),
        ("q-4", "queue.yaml"),
        ("q-7", "does not exist"),
    ):
        (line,) = [line for line in said.splitlines() if f"/{queue}" in line]
        assert remedy in line


def test_a_service_that_cannot_be_asked_is_no_fault_of_the_queues():
    class Away(MemoryQueues):
        def get_queue(self, queue):
            raise Retryable(f"{queue} does not answer")

    with pytest.raises(Retryable):
        look_at_all(GROUP, Away())
