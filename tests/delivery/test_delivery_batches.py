"""Batch creates: one call and one operation for many, and each record's own end."""

import logging
from collections.abc import Callable

import pytest

from injector.delivery.creator import CallingCreator
from injector.delivery.ports import Create, Outcome
from injector.pacing.backoff import Backoff
from tests.scripted_service import Answer, BatchRequest, Service

Creating = Callable[..., CallingCreator]
QUEUE = "projects/p/locations/l/queues/q"
SOON = Backoff(attempts=4, first_s=0.001, most_s=0.001)


def create(number: int = 0, queue: str = QUEUE, body: bytes = b"") -> Create:
    return Create(queue, f"t{number}", "http://t.test/", body)


def creates(of: int) -> list[Create]:
    return [create(number) for number in range(of)]


def request_ids(service: Service) -> list[str]:
    return [BatchRequest.FromString(seen.request).request_id for seen in service.calls]


def test_a_chunk_in_one_queue_is_one_call(service: Service, creating: Creating) -> None:
    results = creating(mode="batch").create_all(creates(100), budget_s=20)
    assert {result.outcome for result in results} == {Outcome.CREATED}
    assert [len(seen.names) for seen in service.calls] == [100]
    assert len(service.tasks) == 100


def test_a_chunk_in_three_queues_is_three_calls(service: Service, creating: Creating) -> None:
    chunk = [create(number, f"{QUEUE}{number % 3}") for number in range(90)]
    creating(mode="batch").create_all(chunk, budget_s=20)
    assert sorted(seen.queue for seen in service.calls) == [f"{QUEUE}{each}" for each in range(3)]
    assert len(service.tasks) == 90


def test_a_lone_create_is_no_batch(service: Service, creating: Creating) -> None:
    creating(mode="batch").create_all([create()], budget_s=20)
    assert [seen.method for seen in service.calls] == ["CreateTask"]


def test_a_batch_that_is_too_large_is_split_by_bytes(service: Service, creating: Creating) -> None:
    large = [create(number, body=b"x" * 60_000) for number in range(100)]
    creating(mode="batch", most_batch_bytes=1_000_000).create_all(large, budget_s=20)
    assert len(service.tasks) == 100
    assert max(len(seen.request) for seen in service.calls) <= 1_000_000
    assert len(service.calls) < 10


def test_a_million_bytes_for_each_of_a_hundred_records_get_through(
    service: Service, creating: Creating
) -> None:
    large = [create(number, body=b"x" * 1_000_000) for number in range(10)]
    results = creating(mode="batch").create_all(large, budget_s=60)
    assert {result.outcome for result in results} == {Outcome.CREATED}


def test_each_record_of_a_batch_has_its_own_end(service: Service, creating: Creating) -> None:
    creator = creating(mode="batch")
    creator.create_all([create(3), create(5)], budget_s=20)
    results = creator.create_all(creates(8), budget_s=20)
    existed = [number for number, one in enumerate(results) if one.outcome is Outcome.EXISTED]
    assert existed == [3, 5]
    assert len(service.tasks) == 8


def test_an_operation_that_runs_on_is_asked_for_until_it_is_done(
    service: Service, creating: Creating
) -> None:
    service.slow_operations = 3
    results = creating(mode="batch").create_all(creates(10), budget_s=20)
    assert {result.outcome for result in results} == {Outcome.CREATED}
    assert max(service.polls.values()) == 3
    assert len(service.calls) == 1


def test_an_operation_that_outlasts_the_budget_is_found_again(
    service: Service, creating: Creating
) -> None:
    creator = creating(mode="batch", throttle=None, backoff=Backoff(attempts=1))
    service.slow_operations = 1_000_000
    late = creator.create_all(creates(10), budget_s=0.3)
    service.slow_operations = 0
    found = creator.create_all(creates(10), budget_s=20)
    assert {result.code for result in late} == {"DEADLINE_EXCEEDED"}
    assert {result.outcome for result in found} == {Outcome.CREATED}
    assert len(set(request_ids(service))) == 1


def test_a_lost_answer_is_found_again_by_its_id(service: Service, creating: Creating) -> None:
    service.plan = lambda seen: Answer("UNAVAILABLE" if seen.number == 0 else "OK", stores=True)
    results = creating(mode="batch", throttle=None, backoff=SOON).create_all(
        creates(10), budget_s=20
    )
    assert {result.outcome for result in results} == {Outcome.CREATED}
    first, second = request_ids(service)
    assert first == second


def test_failures_of_a_batch_are_sent_again_alone_and_under_a_new_id(
    service: Service, creating: Creating
) -> None:
    service.plan = lambda seen: Answer("RESOURCE_EXHAUSTED" if seen.number == 0 else "OK")
    results = creating(mode="batch", throttle=None, backoff=SOON).create_all(
        creates(10), budget_s=20
    )
    assert {result.outcome for result in results} == {Outcome.CREATED}
    first, second = request_ids(service)
    assert first != second


def test_the_same_creates_are_asked_for_anew_once_they_were_answered(
    service: Service, creating: Creating
) -> None:
    """A replayed answer would hide that the tasks have gone meanwhile."""
    creator = creating(mode="batch")
    creator.create_all(creates(10), budget_s=20)
    service.tasks.clear()
    creator.create_all(creates(10), budget_s=20)
    assert len(service.tasks) == 10


def test_a_failed_operation_that_names_no_create_leaves_all_open(
    service: Service, creating: Creating
) -> None:
    service.operation_error = 13
    results = creating(mode="batch", throttle=None, backoff=Backoff(attempts=1)).create_all(
        creates(3), budget_s=20
    )
    assert {(one.outcome, one.code) for one in results} == {(Outcome.NOT_TAKEN, "INTERNAL")}


def test_a_batch_of_which_all_failed_ends_each_by_its_own_status(
    service: Service, creating: Creating
) -> None:
    service.plan = lambda _: Answer("RESOURCE_EXHAUSTED")
    service.operation_error = 10
    results = creating(mode="batch", throttle=None, backoff=Backoff(attempts=1)).create_all(
        creates(3), budget_s=20
    )
    assert {one.code for one in results} == {"RESOURCE_EXHAUSTED"}


@pytest.mark.parametrize("code", ["UNIMPLEMENTED", "PERMISSION_DENIED"])
def test_a_service_without_batches_gets_single_creates_and_it_is_said_once(
    service: Service, creating: Creating, caplog: pytest.LogCaptureFixture, code: str
) -> None:
    service.plan = lambda seen: Answer("OK" if seen.method == "CreateTask" else code, stores=True)
    service.batches = code != "UNIMPLEMENTED"
    creator = creating(mode="auto")
    with caplog.at_level(logging.WARNING):
        for start in (0, 100, 200):
            chunk = [create(start + each, f"{QUEUE}{each % 2}") for each in range(100)]
            results = creator.create_all(chunk, budget_s=20)
            assert {one.outcome for one in results} <= {Outcome.CREATED, Outcome.EXISTED}
    assert len(service.tasks) == 300
    assert len(service.of("BatchCreateTasks")) <= 2
    assert [record.message.split()[0] for record in caplog.records] == [
        "delivery.batch_unavailable"
    ]


def test_batches_that_are_insisted_on_are_not_replaced(
    service: Service, creating: Creating
) -> None:
    service.batches = False
    results = creating(mode="batch").create_all(creates(10), budget_s=20)
    assert {(one.code, one.queue_at_fault) for one in results} == {("UNIMPLEMENTED", True)}
    assert not service.of("CreateTask")


def test_one_invalid_create_does_not_decide_over_its_batch(
    service: Service, creating: Creating
) -> None:
    bad = f"{QUEUE}/tasks/t3"
    service.plan = lambda seen: Answer("INVALID_ARGUMENT" if bad in seen.names else "OK")
    service.refuses_whole = True
    results = creating(mode="batch").create_all(creates(10), budget_s=20)
    rejected = [number for number, one in enumerate(results) if one.outcome is Outcome.REJECTED]
    assert rejected == [3]
    assert len(service.tasks) == 9


def test_a_missing_queue_is_the_queues_fault_in_a_batch_too(
    service: Service, creating: Creating
) -> None:
    service.open_queues = False
    results = creating(mode="batch").create_all(creates(3), budget_s=20)
    assert all(result.queue_at_fault for result in results)
    assert len(service.calls) == 1
