"""Access tokens on real connections, and none where an emulator is called."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import grpc
import pytest
from google.auth.credentials import TokenState

from injector.delivery.address import Address
from injector.delivery.connection import Connection
from injector.delivery.creator import CallingCreator, Delivery, make_creator
from injector.delivery.credentials import Credentials
from injector.delivery.ports import Create, Outcome
from injector.pacing.backoff import Backoff
from tests.scripted_credentials import StaticCredentials, self_signed
from tests.scripted_service import Answer, Service, serve

QUEUE = "projects/p/locations/l/queues/q"


def create(number: int) -> Create:
    return Create(QUEUE, f"t{number}", "http://t.test/")


@pytest.fixture
def secure(stack: ExitStack) -> tuple[Service, Address]:
    """Serve with TLS, as the real service does."""
    certificate, key = self_signed()
    trusted = grpc.ssl_server_credentials([(key, certificate)])
    service = stack.enter_context(serve(Service(), credentials=trusted))
    port = service.address.rpartition(":")[2]
    return service, Address(service=f"https://localhost:{port}", root_certificates=certificate)


def creator_with(
    stack: ExitStack, address: Address, load: Callable[[], Credentials], **delivery: object
) -> CallingCreator:
    connection = Connection(address, load)
    stack.callback(connection.close)
    return make_creator(connection, Delivery(**{"mode": "single", **delivery}))


def test_sixty_four_threads_share_one_refresh_for_each_expiry(
    stack: ExitStack, secure: tuple[Service, Address]
) -> None:
    service, address = secure
    credentials = StaticCredentials("t0ken")
    creator = creator_with(stack, address, lambda: credentials)
    with ThreadPoolExecutor(64) as pool:
        for expiry in (1, 2):
            credentials.token_state = TokenState.INVALID
            numbers = range(64 * expiry, 64 * expiry + 64)
            ends = list(
                pool.map(lambda n: creator.create_all([create(n)], budget_s=20)[0], numbers)
            )
            assert {result.outcome for result in ends} == {Outcome.CREATED}
            assert credentials.refreshes == expiry
    assert {seen.metadata["authorization"] for seen in service.calls} == {"Bearer t0ken"}


def test_refreshes_that_fail_are_waited_out_and_nothing_is_refused_for_good(
    stack: ExitStack, secure: tuple[Service, Address]
) -> None:
    credentials = StaticCredentials("t0ken", fails=2)
    patient = Backoff(attempts=30, first_s=0.2, most_s=0.2)
    creator = creator_with(stack, secure[1], lambda: credentials, backoff=patient)
    results = creator.create_all([create(number) for number in range(50)], budget_s=60)
    assert {result.outcome for result in results} == {Outcome.CREATED}
    assert credentials.refreshes == 3


def test_a_refresh_that_goes_on_failing_leaves_creates_not_taken_and_the_queue_blameless(
    stack: ExitStack, secure: tuple[Service, Address]
) -> None:
    service, address = secure
    credentials = StaticCredentials("t0ken", fails=1000)
    creator = creator_with(stack, address, lambda: credentials, backoff=Backoff(attempts=2))
    results = creator.create_all([create(number) for number in range(50)], budget_s=20)
    assert {(one.outcome, one.code) for one in results} == {(Outcome.NOT_TAKEN, "NO_TOKEN")}
    assert not any(result.queue_at_fault for result in results)
    assert creator.drain_signals().faulted == 0
    assert not service.calls


def test_a_token_that_the_service_refuses_at_once_is_the_credentials_fault(
    stack: ExitStack, secure: tuple[Service, Address]
) -> None:
    service, address = secure
    service.plan = lambda _: Answer("UNAUTHENTICATED")
    creator = creator_with(stack, address, lambda: StaticCredentials("t0ken"))
    (result,) = creator.create_all([create(1)], budget_s=20)
    assert (result.code, result.queue_at_fault) == ("UNAUTHENTICATED", True)


@pytest.mark.parametrize("prefix", ["", "http://"])
def test_an_emulator_is_called_without_asking_for_credentials(
    stack: ExitStack, service: Service, prefix: str
) -> None:
    def none() -> Credentials:
        raise AssertionError

    creator = creator_with(stack, Address(emulator_host=prefix + service.address), none)
    (result,) = creator.create_all([create(1)], budget_s=20)
    assert result.outcome is Outcome.CREATED
    assert "authorization" not in service.calls[0].metadata


def test_a_call_says_which_resource_it_is_about_and_who_calls(
    stack: ExitStack, service: Service
) -> None:
    creator = creator_with(stack, Address(emulator_host=service.address), StaticCredentials)
    creator.create_all([create(1)], budget_s=20)
    metadata = service.calls[0].metadata
    assert metadata["x-goog-request-params"] == f"parent={QUEUE}"
    assert metadata["user-agent"].startswith("cloud-tasks-injector/")
