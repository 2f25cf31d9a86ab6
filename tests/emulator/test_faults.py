"""Faults: the plan, what it does to calls and attempts, and its receipt."""

import asyncio
import json
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from injector.emulator.dispatch.delivery import Delivery
from injector.emulator.faults.latency import Latency
from injector.emulator.faults.plan import Effect, Fault, Plan
from injector.emulator.faults.reading import read_plan, show_receipt
from injector.emulator.rpc import Code, Dropped
from injector.emulator.timeline import Timeline
from injector.emulator.transport.attempts import Answer, Attempt, End
from injector.errors import Misused
from tests.emulator.direct import refused

LOCATION = "projects/p/locations/us-central1"


def plan_for(direct, *faults: dict[str, object]) -> None:
    direct.parts.plan.set(read_plan(json.dumps({"faults": faults})))


def test_error_refuses_before_anything_is_stored(direct):
    queue = direct.queue()
    plan_for(direct, {"effect": "error", "methods": ["CreateTask"], "code": "RESOURCE_EXHAUSTED"})
    with refused("RESOURCE_EXHAUSTED"):
        direct.task(queue, "t")
    assert direct.depth(queue) == 0
    assert direct.client.get_queue(name=queue)


@pytest.mark.parametrize("code", ["UNAVAILABLE", "DEADLINE_EXCEEDED"])
def test_lost_answer_is_an_error_after_the_store(direct, code):
    queue = direct.queue()
    plan_for(direct, {"effect": "lost", "methods": ["CreateTask"], "code": code, "times": 1})
    with refused(code):
        direct.task(queue, "t")
    with refused("ALREADY_EXISTS"):
        direct.task(queue, "t")
    assert direct.depth(queue) == 1


@pytest.mark.parametrize(("effect", "depth"), [("drop", 0), ("drop_after", 1)])
def test_connection_can_be_dropped_before_or_after_the_store(direct, effect, depth):
    queue = direct.queue()
    plan_for(direct, {"effect": effect, "methods": ["CreateTask"]})
    with pytest.raises(Dropped):
        direct.task(queue, "t")
    assert direct.depth(queue) == depth


def test_hanging_call_is_carried_out_and_never_answered(direct):
    queue = direct.queue()
    plan_for(direct, {"effect": "hang", "methods": ["PauseQueue"]})
    request = b"\n" + bytes([len(queue)]) + queue.encode()
    answer = direct.parts.handle("/google.cloud.tasks.v2.CloudTasks/PauseQueue", request, {})

    async def wait() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(answer, 0.01)

    asyncio.run(wait())
    assert direct.client.get_queue(name=queue).state == 2


def test_every_nth_call_is_struck_and_the_receipt_tells_which(direct):
    queue = direct.queue()
    fault = {"id": "seventh", "effect": "lost", "methods": ["CreateTask"], "every": 7, "after": 3}
    plan_for(direct, fault)
    struck = []
    for number in range(24):
        try:
            direct.task(queue, f"t{number}")
        except Exception:  # noqa: BLE001  # any error is the fault's
            struck.append(number)
    receipt = show_receipt(direct.parts.plan)
    assert struck == [9, 16, 23]
    assert receipt["faults"] == [{"id": "seventh", "effect": "lost", "met": 24, "applied": 3}]
    assert [call["resource"] for call in receipt["calls"]] == [queue] * 3
    assert {call["method"] for call in receipt["calls"]} == {"CreateTask"}


def test_fault_meets_only_its_queues(direct):
    a, b = direct.queue("q-a"), direct.queue("q-b")
    plan_for(direct, {"effect": "error", "methods": ["*Task*"], "queue": "*/queues/q-a"})
    direct.task(b)
    with refused("UNAVAILABLE"):
        direct.task(a)


def test_delay_waits_in_the_emulators_time(emulate):
    emulator = emulate(frozen=False, speed=1000.0, origin=None)
    plan_for(emulator, {"effect": "delay", "latency": {"fixed_s": 20}})
    before = emulator.now
    emulator.queue()
    assert emulator.now - before >= 20


def test_failed_operation_does_part_of_its_work(direct):
    queue = direct.queue()
    plan_for(direct, {"effect": "fail_operation", "code": "INTERNAL", "done": 0.5})
    items = [{"parent": queue, "task": {"http_request": {"url": "http://x"}}}] * 4
    request = {"parent": queue, "requests": items}
    operation = direct.client.batch_create_tasks(request=request).operation
    assert operation.error.code == Code.INTERNAL
    assert direct.depth(queue) == 2


class Target:
    """Counts what it is sent, and answers 200."""

    def __init__(self) -> None:
        self.seen = 0

    async def send(self, _attempt: Attempt) -> Answer:
        self.seen += 1
        return Answer(End.ANSWERED, 200)


@pytest.mark.parametrize(
    ("effect", "seen", "end"),
    [
        (Effect.DUPLICATE, 2, End.ANSWERED),
        (Effect.DROP, 0, End.BROKEN),
        (Effect.LOST, 1, End.BROKEN),
        (Effect.ERROR, 1, End.ANSWERED),
    ],
)
def test_attempts_can_be_doubled_dropped_or_lose_their_answer(effect, seen, end):
    plan, target = Plan(Random(1).random), Target()
    plan.set([Fault("f", effect, methods=("Dispatch",))])
    delivery = Delivery(target, plan, Timeline())
    answer = asyncio.run(delivery(f"{LOCATION}/queues/q/tasks/t", Attempt("http://x")))
    assert (target.seen, answer.end) == (seen, end)


def test_same_seed_strikes_the_same_calls():
    def strikes(seed: int) -> list[bool]:
        plan = Plan(Random(seed).random)
        plan.set([Fault("f", Effect.ERROR, rate=0.3)])
        every = frozenset(Effect)
        return [bool(plan.strike("M", "q", now=0, effects=every)) for _ in range(200)]

    assert strikes(7) == strikes(7) != strikes(8)
    assert 30 <= sum(strikes(7)) <= 90


@settings(deadline=None)
@given(
    calls=st.integers(0, 300),
    every=st.integers(1, 9),
    after=st.integers(0, 50),
    times=st.none() | st.integers(0, 20),
)
def test_number_of_strikes_is_as_planned(calls, every, after, times):
    plan = Plan(lambda: 0.5)
    plan.set([Fault("f", Effect.ERROR, every=every, after=after, times=times)])
    struck = sum(
        bool(plan.strike("M", "q", now=0, effects=frozenset(Effect))) for _ in range(calls)
    )
    expected = max(0, calls - after) // every
    assert struck == (expected if times is None else min(times, expected))
    assert len(plan.receipt) == struck


@settings(deadline=None)
@given(st.floats(0, 1, exclude_max=True))
def test_waits_lie_within_their_distribution(draw):
    steps = ((0.5, 0.02), (0.99, 2.0), (1.0, 5.0))
    assert Latency().draw(draw) == 0
    assert Latency(fixed_s=3).draw(draw) == 3
    assert 1 <= Latency(uniform_s=(1, 4)).draw(draw) <= 4
    assert Latency(mean_s=2).draw(draw) >= 0
    assert Latency(median_s=2, sigma=0.5).draw(draw) > 0
    assert (Latency(quantiles=steps).draw(draw) <= 0.02) is (draw <= 0.5)
    assert Latency(quantiles=steps).draw(draw) <= 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"faults": [{"effect": "explode"}]}', "faults.0.effect"),
        ('{"faults": [{"effect": "error", "rate": 2}]}', "faults.0.rate"),
        ('{"faults": [{"effect": "error", "code": "OK"}]}', "faults.0.code"),
        ('{"faults": [{"effect": "error", "nope": 1}]}', "faults.0.nope"),
        ("nonsense", "JSON"),
    ],
)
def test_plan_that_cannot_be_read_is_refused_with_the_place(text, message):
    with pytest.raises(Misused, match=message):
        read_plan(text)
