"""Hedged creates: a slow call is sent again under the same name, and the first success counts."""

from collections.abc import Callable
from itertools import count

import pytest

from injector.delivery.creator import CallingCreator
from injector.delivery.ports import Create, Outcome
from injector.errors import Misused
from injector.pacing.backoff import Backoff
from injector.pacing.hedge import HedgingSettings
from tests.scripted_service import Answer, Seen, Service

Creating = Callable[..., CallingCreator]
QUEUE = "projects/p/locations/l/queues/q"
SOON = HedgingSettings(hedge_delay=0.1, refill_ratio=0.2)
ONCE = Backoff(attempts=1)


def create(number: int = 0) -> Create:
    return Create(QUEUE, f"t{number}", "http://t.test/")


def warm_up(creator: CallingCreator, tokens: int) -> None:
    """Let successes bring tokens: the bucket starts empty, and five of them bring one.

    One that is slow on a busy machine may spend some of it again.
    """
    numbers = count(1_000)
    while creator.hedge_tokens() < tokens:
        creator.create_all([create(next(numbers))], budget_s=20)
    creator.drain_signals()


def slow_first(service: Service, then: Answer, first: Answer) -> Callable[[Seen], Answer]:
    """Answer each task's first create as `first` says, and the later ones as `then`."""

    def plan(seen: Seen) -> Answer:
        (name,) = seen.names
        return then if service.sent()[name] > 1 else first

    return plan


def test_a_slow_create_is_sent_again_and_the_first_success_ends_it(
    service: Service, creating: Creating
) -> None:
    creator = creating(hedging=SOON)
    warm_up(creator, 1)
    service.plan = slow_first(service, Answer(), Answer(until=lambda: False))
    (result,) = creator.create_all([create()], budget_s=20)
    signals = creator.drain_signals()
    assert result.outcome is Outcome.CREATED
    assert (signals.hedges_sent, signals.hedges_won, signals.accepted) == (1, 1, 1)
    assert service.sent()[f"{QUEUE}/tasks/t0"] == 2


def test_a_creator_tells_how_many_tokens_it_has_left_for_hedges(
    service: Service, creating: Creating
) -> None:
    creator = creating(hedging=SOON)
    assert creator.hedge_tokens() == 0
    warm_up(creator, 1)
    before = creator.hedge_tokens()
    service.plan = slow_first(service, Answer(), Answer(until=lambda: False))
    creator.create_all([create()], budget_s=20)
    assert creator.hedge_tokens() == pytest.approx(before - 1 + SOON.refill_ratio)
    assert creating().hedge_tokens() is None


def test_the_loser_is_cancelled(service: Service, creating: Creating) -> None:
    creator = creating(hedging=SOON)
    warm_up(creator, 1)
    service.plan = slow_first(service, Answer(), Answer(until=lambda: False))
    creator.create_all([create()], budget_s=20)
    service.plan = lambda _: Answer(until=lambda: service.cancelled == 1)
    assert creator.create_all([create(1)], budget_s=20)[0].outcome is Outcome.CREATED


def test_an_original_that_landed_although_it_is_slow_is_settled_by_the_hedge(
    service: Service, creating: Creating
) -> None:
    creator = creating(hedging=SOON)
    warm_up(creator, 1)
    name = f"{QUEUE}/tasks/t0"

    def plan(seen: Seen) -> Answer:
        if service.sent()[name] > 1:
            return Answer("ALREADY_EXISTS")
        return Answer(stores=True, until=lambda: False)

    service.plan = plan
    (result,) = creator.create_all([create()], budget_s=20)
    assert result.outcome is Outcome.EXISTED


@pytest.mark.parametrize("code", ["UNAVAILABLE", "INVALID_ARGUMENT", "PERMISSION_DENIED"])
def test_a_hedges_error_is_nobodys(service: Service, creating: Creating, code: str) -> None:
    creator = creating(hedging=SOON)
    warm_up(creator, 1)
    service.plan = slow_first(
        service, Answer(code), Answer(until=lambda: service.sent()[f"{QUEUE}/tasks/t0"] > 1)
    )
    (result,) = creator.create_all([create()], budget_s=20)
    assert result.outcome is Outcome.CREATED
    assert creator.drain_signals().faulted == 0


def test_an_original_that_fails_lets_its_hedge_run_on(service: Service, creating: Creating) -> None:
    creator = creating(hedging=SOON, backoff=ONCE)
    warm_up(creator, 1)
    name = f"{QUEUE}/tasks/t0"

    def plan(seen: Seen) -> Answer:
        if seen.names == [name] and service.sent()[name] == 1:
            return Answer("UNAVAILABLE", until=lambda: service.sent()[name] > 1)
        if seen.names == [name]:
            return Answer(delay_s=0.05)
        return Answer()

    service.plan = plan
    (result,) = creator.create_all([create()], budget_s=20)
    assert result.outcome is Outcome.CREATED
    assert creator.drain_signals().hedges_won == 1


def test_without_tokens_nothing_is_hedged(service: Service, creating: Creating) -> None:
    service.plan = lambda _: Answer(delay_s=0.4)
    creator = creating(hedging=SOON)
    creator.create_all([create(each) for each in range(4)], budget_s=20)
    assert set(service.sent().values()) == {1}


def test_hedges_never_exceed_what_successes_have_brought(
    service: Service, creating: Creating
) -> None:
    creator = creating(hedging=SOON)
    warm_up(creator, 2)
    before = len(service.calls)
    service.plan = lambda _: Answer(until=lambda: len(service.calls) >= before + 20 + 2)
    creator.create_all([create(each) for each in range(20)], budget_s=20)
    signals = creator.drain_signals()
    assert signals.hedges_sent == 2
    assert len(service.calls) == before + 20 + 2


def test_a_client_without_a_spare_slot_sends_no_hedges(
    service: Service, creating: Creating
) -> None:
    creator = creating(hedging=SOON, streams=2)
    warm_up(creator, 2)
    service.plan = lambda _: Answer(delay_s=0.25)
    creator.create_all([create(each) for each in range(4)], budget_s=20)
    assert creator.drain_signals().hedges_sent == 0
    assert service.most_running == 2


def test_hedges_stay_within_the_slots_and_give_them_back(
    service: Service, creating: Creating
) -> None:
    creator = creating(hedging=SOON, streams=3)
    warm_up(creator, 4)
    service.plan = slow_first(service, Answer(), Answer(until=lambda: False))
    for number in range(4):
        creator.create_all([create(number)], budget_s=20)
    service.plan = lambda _: Answer()
    results = creator.create_all([create(each) for each in range(10, 40)], budget_s=20)
    assert {result.outcome for result in results} == {Outcome.CREATED}
    assert service.most_running <= 3


def test_creates_without_a_name_are_never_hedged(service: Service, creating: Creating) -> None:
    creator = creating(hedging=SOON)
    warm_up(creator, 1)
    before = len(service.calls)
    service.plan = lambda _: Answer(delay_s=0.3)
    creator.create_all([Create(QUEUE, "", "http://t.test/")], budget_s=20)
    assert len(service.calls) == before + 1


@pytest.mark.parametrize("timeout_s", [0.5, 1.0])
def test_a_delay_that_is_not_below_the_calls_timeout_is_refused(
    creating: Creating, timeout_s: float
) -> None:
    with pytest.raises(Misused, match="hedge_delay"):
        creating(hedging=HedgingSettings(hedge_delay=1.0), call_timeout_s=timeout_s)
