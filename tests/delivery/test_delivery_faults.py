"""What the service's faults come to: each record ends once, and nothing is asked too often."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count

import pytest

from injector.delivery.address import Address
from injector.delivery.connection import Connection
from injector.delivery.creator import CallingCreator, Delivery, make_creator
from injector.delivery.ports import Create, Outcome, Result
from injector.emulator.transport import asyncio_server
from injector.errors import Misused
from injector.pacing.backoff import Backoff
from injector.pacing.hedge import HedgingSettings
from injector.pacing.throttle import ThrottleSettings
from tests.scripted_service import Answer, Seen, Service, looping, proxied, serve

Creating = Callable[..., CallingCreator]
QUEUE = "projects/p/locations/l/queues/q"
SOON = Backoff(attempts=4, first_s=0.001, most_s=0.001)


def create(number: int = 0, queue: str = QUEUE) -> Create:
    return Create(queue, f"t{number}", "http://t.test/")


def creates(of: int) -> list[Create]:
    return [create(number) for number in range(of)]


def outcomes(results: list[Result]) -> set[Outcome]:
    return {result.outcome for result in results}


def once_each(faulty: Callable[[Seen], bool], answer: Answer) -> Callable[[Seen], Answer]:
    """Answer so where the test says, but each task only once."""
    met: set[str] = set()

    def plan(seen: Seen) -> Answer:
        (name,) = seen.names
        if name in met or not faulty(seen):
            return Answer()
        met.add(name)
        return answer

    return plan


@pytest.mark.parametrize("code", ["UNAVAILABLE", "DEADLINE_EXCEEDED", "ABORTED", "INTERNAL"])
def test_a_create_whose_answer_was_lost_is_settled_all_the_same(
    service: Service, creating: Creating, code: str
) -> None:
    service.plan = once_each(lambda seen: seen.number % 7 == 0, Answer(code, stores=True))
    creator = creating(backoff=SOON, throttle=None)
    results = creator.create_all(creates(100), budget_s=20)
    assert outcomes(results) == {Outcome.CREATED, Outcome.EXISTED}
    assert len(service.tasks) == 100


def test_creates_survive_connections_that_are_cut(
    service: Service, creating: Creating, stack: ExitStack
) -> None:
    proxy = stack.enter_context(proxied(service))

    def cut(seen: Seen) -> Answer:
        if seen.number % 70 == 35:
            proxy.cut()
        return Answer()

    service.plan = cut
    creator = creating(
        address=proxy.address, streams=10, backoff=Backoff(attempts=30, first_s=0.05, most_s=0.05)
    )
    results = creator.create_all(creates(200), budget_s=60)
    assert outcomes(results) <= {Outcome.CREATED, Outcome.EXISTED}
    assert len(service.tasks) == 200
    assert proxy.cuts >= 2


@pytest.mark.parametrize(
    "code", ["UNAVAILABLE", "RESOURCE_EXHAUSTED", "ABORTED", "DEADLINE_EXCEEDED", "INTERNAL"]
)
def test_overload_is_tried_again_as_often_as_allowed_and_keeps_its_name(
    service: Service, creating: Creating, code: str
) -> None:
    service.plan = lambda _: Answer(code, message="no capacity left")
    (result,) = creating(backoff=SOON, throttle=None).create_all([create()], budget_s=20)
    assert (result.outcome, result.code) == (Outcome.NOT_TAKEN, code)
    assert "no capacity left" in result.reason
    assert not result.queue_at_fault
    assert len(service.calls) == 4


@pytest.mark.parametrize(
    "code",
    [
        "INVALID_ARGUMENT",
        "PERMISSION_DENIED",
        "NOT_FOUND",
        "FAILED_PRECONDITION",
        "UNAUTHENTICATED",
        "UNIMPLEMENTED",
        "UNKNOWN",
        "CANCELLED",
    ],
)
def test_what_another_attempt_cannot_mend_is_sent_once(
    service: Service, creating: Creating, code: str
) -> None:
    service.plan = lambda _: Answer(code)
    (result,) = creating(backoff=SOON).create_all([create()], budget_s=20)
    assert result.code == code
    assert len(service.calls) == 1


def test_an_invalid_create_is_rejected_and_harms_no_other(
    service: Service, creating: Creating
) -> None:
    bad = f"{QUEUE}/tasks/t3"
    service.plan = lambda seen: Answer("INVALID_ARGUMENT" if bad in seen.names else "OK")
    results = creating().create_all(creates(10), budget_s=20)
    assert [result.outcome for result in results].count(Outcome.CREATED) == 9
    assert results[3] == Result(Outcome.REJECTED, "INVALID_ARGUMENT", "as the test asked")


def test_a_create_that_is_not_text_is_rejected_and_harms_no_other(creating: Creating) -> None:
    bad = Create(QUEUE, "bad", "http://t.test/\ud800")
    for mode in ("single", "batch"):
        results = creating(mode=mode).create_all([bad, create(mode == "batch")], budget_s=20)
        assert [each.outcome for each in results] == [Outcome.REJECTED, Outcome.CREATED]


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        ("PERMISSION_DENIED", "roles/cloudtasks.enqueuer"),
        ("PERMISSION_DENIED", "roles/iam.serviceAccountUser"),
        ("NOT_FOUND", "create the queue"),
        ("FAILED_PRECONDITION", "gone"),
        ("UNAUTHENTICATED", "credentials"),
    ],
)
def test_a_queue_that_refuses_every_create_says_what_would_mend_it(
    service: Service, creating: Creating, code: str, remedy: str
) -> None:
    service.plan = lambda _: Answer(code)
    (result,) = creating().create_all([create()], budget_s=20)
    assert result.queue_at_fault
    assert remedy in result.reason
    assert QUEUE in result.reason


def test_a_process_keeps_to_the_streams_that_a_connection_carries(
    service: Service, creating: Creating
) -> None:
    """Six hundred creates from six threads, ten streams, and a time-out below the whole wait."""
    service.plan = lambda _: Answer(delay_s=0.06)
    creator = creating(streams=10, call_timeout_s=2.5)
    parts = [[create(100 * part + each) for each in range(100)] for part in range(6)]
    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(lambda part: creator.create_all(part, budget_s=60), parts))
    assert {one.outcome for part in results for one in part} == {Outcome.CREATED}
    assert service.most_running == 10
    assert set(service.sent().values()) == {1}
    assert len(service.peers) == 1


@pytest.mark.parametrize("streams", [10, 100])
def test_a_server_that_takes_ten_streams_gets_ten_and_every_create(
    creating: Creating, stack: ExitStack, streams: int
) -> None:
    """Its limit holds even where ours is wider; then gRPC waits, and the deadline runs."""
    running = [0, 0]

    async def handle(*_: object) -> bytes:
        running[0] += 1
        running[1] = max(running)
        await asyncio.sleep(0.01)
        running[0] -= 1
        return b""

    loop = stack.enter_context(looping())
    server = asyncio.run_coroutine_threadsafe(
        asyncio_server.serve(handle, host="127.0.0.1", port=0, max_streams=10), loop
    ).result()
    creator = creating(address=f"127.0.0.1:{server.port}", streams=streams)
    parts = [[create(100 * part + each) for each in range(100)] for part in range(10)]
    with ThreadPoolExecutor(10) as pool:
        results = list(pool.map(lambda part: creator.create_all(part, budget_s=60), parts))
    creator.close()
    asyncio.run_coroutine_threadsafe(server.stop(grace_s=0.1), loop).result()
    assert {one.outcome for part in results for one in part} == {Outcome.CREATED}
    assert running[1] == 10


def test_the_wait_for_a_slot_is_counted_apart_from_the_call(
    service: Service, creating: Creating
) -> None:
    service.plan = lambda _: Answer(delay_s=0.02)
    creator = creating(streams=2)
    creator.create_all(creates(20), budget_s=20)
    signals = creator.drain_signals()
    assert (signals.waited.count, signals.latency.count) == (20, 20)
    assert signals.waited.total_us > signals.latency.total_us


def test_as_many_connections_are_used_as_asked_for(service: Service, creating: Creating) -> None:
    creating(channels=3).create_all(creates(30), budget_s=20)
    assert len(service.peers) == 3


def test_no_call_asks_for_more_than_thirty_seconds(service: Service, creating: Creating) -> None:
    creating(call_timeout_s=30.0).create_all(creates(200), budget_s=500)
    assert max(seen.timeout_s or 0 for seen in service.calls) <= 30


@pytest.mark.parametrize("timeout_s", [60, 30.5, 0, -1, float("nan")])
def test_a_call_timeout_that_the_service_refuses_is_refused_at_once(
    creating: Creating, timeout_s: float
) -> None:
    with pytest.raises(Misused, match="at most 30 s"):
        creating(call_timeout_s=timeout_s)


@pytest.mark.parametrize("most", [0, -1, float("nan"), 5_000_000])
def test_a_batch_that_no_server_would_take_is_refused_at_once(
    creating: Creating, most: float
) -> None:
    with pytest.raises(Misused, match="most_batch_bytes"):
        creating(most_batch_bytes=most)


def test_creates_that_are_out_of_time_before_their_turn_are_not_sent(
    service: Service, creating: Creating
) -> None:
    service.plan = lambda _: Answer(delay_s=5)
    results = creating(streams=1, backoff=Backoff(attempts=1)).create_all(creates(3), budget_s=0.3)
    assert [result.code for result in results] == [
        "DEADLINE_EXCEEDED",
        "OUT_OF_TIME",
        "OUT_OF_TIME",
    ]
    assert set(service.sent()) <= {f"{QUEUE}/tasks/t0"}


def test_a_creator_goes_on_after_a_budget_ran_out(service: Service, creating: Creating) -> None:
    creator = creating(streams=2, throttle=None)
    service.plan = lambda _: Answer(delay_s=5)
    creator.create_all(creates(10), budget_s=0.2)
    service.plan = lambda _: Answer()
    assert outcomes(creator.create_all(creates(10), budget_s=20)) == {Outcome.CREATED}


def test_one_sick_queue_of_ten_is_held_back_and_the_others_are_not(
    service: Service, creating: Creating
) -> None:
    queues = [f"{QUEUE}{number}" for number in range(10)]
    service.plan = lambda seen: Answer("RESOURCE_EXHAUSTED" if seen.queue == queues[0] else "OK")
    creator = creating(backoff=SOON)
    numbers = count()
    for _ in range(40):
        chunk = [create(next(numbers), queue) for queue in queues for _ in range(10)]
        results = creator.create_all(chunk, budget_s=20)
        assert outcomes(results[10:]) == {Outcome.CREATED}
    sick = [seen for seen in service.calls if seen.queue == queues[0]]
    assert creator.drain_signals().local_rejects > 200
    assert len(sick) < 300
    assert len(service.calls) - len(sick) == 40 * 90


@pytest.mark.parametrize("mode", ["single", "batch"])
@pytest.mark.parametrize("code", ["RESOURCE_EXHAUSTED", "UNAVAILABLE", "NOT_FOUND"])
def test_what_a_sick_queue_does_not_take_is_told_from_what_the_group_does_not(
    service: Service, creating: Creating, mode: str, code: str
) -> None:
    queues = [f"{QUEUE}{number}" for number in range(5)]
    service.plan = lambda seen: Answer(code if seen.queue == queues[0] else "OK")
    creator = creating(mode=mode, backoff=SOON)
    numbers = count()
    for _ in range(2):
        chunk = [create(next(numbers), queue) for queue in queues for _ in range(20)]
        results = creator.create_all(chunk, budget_s=20)
    assert all(result.sick for result in results[:20])
    assert not any(result.sick for result in results[20:])
    signals = creator.drain_signals()
    assert {name.rpartition(":")[0] for name in signals.sick} == {queues[0]}
    others = signals.without({queues[0]})
    assert others.fault_share < signals.fault_share + signals.throttled_share or code == "NOT_FOUND"
    service.plan = lambda _: Answer(code)
    for _ in range(2):
        everywhere = [create(next(numbers), queue) for queue in queues for _ in range(20)]
        results = creator.create_all(everywhere, budget_s=20)
    assert not any(result.sick for result in results)


def test_where_half_of_all_calls_fail_none_is_tried_more_often_than_allowed(
    service: Service, creating: Creating
) -> None:
    service.plan = lambda seen: Answer("UNAVAILABLE" if seen.number % 2 else "OK")
    creator = creating(backoff=SOON)
    for start in range(0, 1000, 100):
        creator.create_all([create(start + each) for each in range(100)], budget_s=20)
    assert max(service.sent().values()) <= 4
    assert sum(service.sent().values()) < 2 * 1000


def test_a_service_that_always_fails_is_asked_less_and_less(
    service: Service, creating: Creating
) -> None:
    service.plan = lambda _: Answer("UNAVAILABLE")
    creator = creating(backoff=SOON, throttle=ThrottleSettings(floor=0.01))
    results = [
        result for _ in range(10) for result in creator.create_all(creates(100), budget_s=20)
    ]
    assert {result.code for result in results} == {"UNAVAILABLE", "THROTTLED"}
    assert not any(result.queue_at_fault for result in results)
    assert len(service.calls) < 500


def test_a_service_that_comes_back_on_its_port_is_used_again(
    creating: Creating, stack: ExitStack
) -> None:
    with serve(Service()) as first:
        creator = creating(address=first.address, backoff=Backoff(attempts=20, first_s=0.2))
        assert outcomes(creator.create_all([create(1)], budget_s=30)) == {Outcome.CREATED}
        port = int(first.address.rpartition(":")[2])
    second = stack.enter_context(serve(Service(), port=port))
    assert outcomes(creator.create_all([create(2)], budget_s=30)) == {Outcome.CREATED}
    assert len(second.tasks) == 1


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nohost.invalid:443", "[::1]:1"])
def test_an_address_where_nobody_answers_is_not_taken_and_no_hang(
    creating: Creating, address: str
) -> None:
    creator = creating(address=f"http://{address}", backoff=Backoff(attempts=2))
    (result,) = creator.create_all([create()], budget_s=5)
    assert (result.outcome, result.code) == (Outcome.NOT_TAKEN, "UNAVAILABLE")
    assert address.replace("[", "").partition("]")[0] in result.reason


class Stepping:
    """A clock whose wall time must not be asked for, and whose monotonic time jumps about."""

    def __init__(self) -> None:
        self.asked = 0

    def now(self) -> float:
        raise AssertionError

    def monotonic(self) -> float:
        self.asked += 1
        return 10_000.0 + (-3600.0 if self.asked % 2 else 3600.0)

    def sleep(self, seconds: float) -> None:
        raise AssertionError(seconds)


def test_clock_steps_change_nothing_for_creates(service: Service, stack: ExitStack) -> None:
    connection = Connection(Address(emulator_host=service.address))
    stack.callback(connection.close)
    clock = Stepping()
    delivery = Delivery(mode="single", hedging=HedgingSettings())
    creator = make_creator(connection, delivery, clock=clock)
    for start in range(0, 300, 100):
        chunk = [create(start + each) for each in range(100)]
        assert outcomes(creator.create_all(chunk, budget_s=20)) == {Outcome.CREATED}
    assert clock.asked
    assert set(service.sent().values()) == {1}
