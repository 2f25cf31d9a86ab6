"""One suite over every way of creating tasks and of administering queues."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager

import grpc
import pytest

from injector.delivery.address import Address
from injector.delivery.connection import Connection
from injector.delivery.creator import Delivery, make_creator
from injector.delivery.memory import MemoryQueues
from injector.delivery.ports import Create, Creator, Outcome, Queue, QueueAdmin
from injector.delivery.queue_admin import CloudTasksAdmin
from injector.emulator.options import Options
from injector.emulator.server import running
from injector.errors import NotFound
from injector.pacing.hedge import HedgingSettings
from tests.scripted_credentials import StaticCredentials, self_signed
from tests.scripted_service import Service, looping, serve

NOWHERE = "http://127.0.0.1:1/"
QUEUE = "projects/p/locations/l/queues/q"


def create(number: int = 0, **fields: object) -> Create:
    return Create(**{"queue": QUEUE, "task_id": f"t{number}", "url": NOWHERE, **fields})


class Adapter:
    def __init__(self, creator: Creator, admin: QueueAdmin) -> None:
        self.creator = creator
        self.admin = admin
        self.admin.create_queue(Queue(QUEUE, rate=5.0, concurrency=7))

    def outcomes(self, *creates: Create) -> list[Outcome]:
        return [one.outcome for one in self.creator.create_all(creates, budget_s=10)]


def in_memory(stack: ExitStack) -> Adapter:
    queues = MemoryQueues()
    return Adapter(queues, queues)


def over_grpc(stack: ExitStack, delivery: Delivery, *, batches: bool = True) -> Adapter:
    service = stack.enter_context(serve(Service(open_queues=False, batches=batches)))
    connection = Connection(Address(emulator_host=service.address))
    stack.callback(connection.close)
    creator = make_creator(connection, delivery)
    return Adapter(creator, CloudTasksAdmin(connection, creator))


def one_by_one(stack: ExitStack) -> Adapter:
    return over_grpc(stack, Delivery(mode="single"))


def hedged(stack: ExitStack) -> Adapter:
    return over_grpc(stack, Delivery(mode="single", hedging=HedgingSettings()))


def in_batches(stack: ExitStack) -> Adapter:
    return over_grpc(stack, Delivery(mode="batch"))


def fallen_back(stack: ExitStack) -> Adapter:
    return over_grpc(stack, Delivery(mode="auto"), batches=False)


def with_a_token(stack: ExitStack) -> Adapter:
    certificate, key = self_signed()
    trusted = grpc.ssl_server_credentials([(key, certificate)])
    service = stack.enter_context(serve(Service(open_queues=False), credentials=trusted))
    port = service.address.rpartition(":")[2]
    address = Address(service=f"localhost:{port}", root_certificates=certificate)
    connection = Connection(address, lambda: StaticCredentials("t0ken"))
    stack.callback(connection.close)
    creator = make_creator(connection)
    return Adapter(creator, CloudTasksAdmin(connection, creator))


def emulated(stack: ExitStack, delivery: Delivery) -> Adapter:
    connection = Connection(Address(emulator_host=stack.enter_context(emulator())))
    stack.callback(connection.close)
    creator = make_creator(connection, delivery)
    return Adapter(creator, CloudTasksAdmin(connection, creator))


def in_the_emulator(stack: ExitStack) -> Adapter:
    return emulated(stack, Delivery(mode="single"))


def in_the_emulator_in_batches(stack: ExitStack) -> Adapter:
    return emulated(stack, Delivery(mode="batch"))


@contextmanager
def emulator() -> Iterator[str]:
    with looping() as loop:
        started = AsyncExitStack()

        async def start() -> int:
            return (await started.enter_async_context(running(Options(port=0)))).port

        port = asyncio.run_coroutine_threadsafe(start(), loop).result()
        yield f"127.0.0.1:{port}"
        asyncio.run_coroutine_threadsafe(started.aclose(), loop).result()


@pytest.fixture(
    params=[
        in_the_emulator,
        in_the_emulator_in_batches,
        in_memory,
        one_by_one,
        hedged,
        in_batches,
        fallen_back,
        with_a_token,
    ]
)
def adapter(request: pytest.FixtureRequest) -> Iterator[Adapter]:
    make: Callable[[ExitStack], Adapter] = request.param
    with ExitStack() as stack:
        yield make(stack)


def test_a_new_task_is_created(adapter: Adapter) -> None:
    assert adapter.outcomes(create(1)) == [Outcome.CREATED]


def test_a_task_created_again_existed(adapter: Adapter) -> None:
    adapter.outcomes(create(1))
    assert adapter.outcomes(create(1)) == [Outcome.EXISTED]


def test_results_come_in_the_order_of_the_creates(adapter: Adapter) -> None:
    adapter.outcomes(create(3), create(5))
    assert adapter.outcomes(*map(create, range(3, 7))) == [
        Outcome.EXISTED,
        Outcome.CREATED,
        Outcome.EXISTED,
        Outcome.CREATED,
    ]


def test_nothing_to_create_is_no_error(adapter: Adapter) -> None:
    assert adapter.outcomes() == []


def test_a_missing_queue_is_the_queues_fault_and_not_the_records(adapter: Adapter) -> None:
    (result,) = adapter.creator.create_all([create(queue=f"{QUEUE}-gone")], budget_s=10)
    assert result.outcome is Outcome.NOT_TAKEN
    assert result.queue_at_fault
    assert f"{QUEUE}-gone" in result.reason


def test_injector_tasks_are_created_once(adapter: Adapter) -> None:
    later = create(1, schedule_time=time.time() + 3600)
    first = adapter.admin.create_injector_tasks([later], budget_s=10)
    again = adapter.admin.create_injector_tasks([later], budget_s=10)
    assert [first[0].outcome, again[0].outcome] == [Outcome.CREATED, Outcome.EXISTED]


def test_a_queue_reads_as_it_was_created(adapter: Adapter) -> None:
    queue = adapter.admin.get_queue(QUEUE)
    assert (queue.name, queue.state, queue.rate, queue.concurrency) == (QUEUE, "RUNNING", 5.0, 7)


def test_creating_a_queue_that_is_there_changes_nothing(adapter: Adapter) -> None:
    assert adapter.admin.create_queue(Queue(QUEUE, rate=9.0)).rate == 5.0


def test_a_change_of_rate_leaves_the_concurrency(adapter: Adapter) -> None:
    adapter.admin.update_rate(QUEUE, rate=7.5)
    queue = adapter.admin.get_queue(QUEUE)
    assert (queue.rate, queue.concurrency) == (7.5, 7)


def test_a_change_of_concurrency_leaves_the_rate(adapter: Adapter) -> None:
    queue = adapter.admin.update_rate(QUEUE, concurrency=11)
    assert (queue.rate, queue.concurrency) == (5.0, 11)


def test_a_change_of_nothing_only_reads(adapter: Adapter) -> None:
    assert adapter.admin.update_rate(QUEUE) == adapter.admin.get_queue(QUEUE)


def test_a_missing_queue_is_not_found(adapter: Adapter) -> None:
    with pytest.raises(NotFound, match="Queue does not exist"):
        adapter.admin.get_queue(f"{QUEUE}-gone")
    with pytest.raises(NotFound, match="Queue does not exist"):
        adapter.admin.update_rate(f"{QUEUE}-gone", rate=1.0)


def test_an_adapter_works_again_after_it_was_closed(adapter: Adapter) -> None:
    adapter.creator.close()
    assert adapter.outcomes(create(1)) == [Outcome.CREATED]


def test_signals_tell_how_the_creates_ended_and_are_told_once(adapter: Adapter) -> None:
    adapter.outcomes(create(1), create(2))
    adapter.outcomes(create(2))
    signals = adapter.creator.drain_signals()
    assert (signals.accepted, signals.faulted, signals.local_rejects) == (3, 0, 0)
    assert adapter.creator.drain_signals().accepted == 0


def test_more_creates_than_fit_a_call_or_the_line_are_all_created(adapter: Adapter) -> None:
    outcomes = adapter.outcomes(*map(create, range(250)))
    assert outcomes == [Outcome.CREATED] * 250
    assert adapter.outcomes(*map(create, range(250))) == [Outcome.EXISTED] * 250
