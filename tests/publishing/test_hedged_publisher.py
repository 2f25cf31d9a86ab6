"""The hedged publisher against the emulator: what is sent, what wins, what the server sees."""

import pytest
from google.api_core import exceptions
from google.api_core.retry import Retry
from google.cloud.pubsub_v1.publisher.exceptions import FlowControlLimitError
from google.cloud.pubsub_v1.types import (
    BatchSettings,
    LimitExceededBehavior,
    PublisherOptions,
    PublishFlowControl,
)

from injector.errors import Misused
from injector.publishing import HedgingSettings, HedgingStats
from tests.emulator.pubsub import TOPIC
from tests.waiting import PATIENCE_S, until


def counts(stats: HedgingStats) -> tuple[int, int, int]:
    return stats.sent, stats.won, stats.cancelled


def test_a_slow_call_is_hedged_and_cancelled_at_the_server(bench):
    publisher = bench.warm(bench.publisher())
    bench.plan({"effect": "delay", "times": 1, "latency": {"fixed_s": 600}})
    assert publisher.publish(TOPIC, b"x").result(PATIENCE_S)
    until(lambda: bench.seen == {"OK": 1, "CANCELLED": 1})
    assert bench.stored == 1
    assert counts(publisher.hedging_stats()) == (1, 1, 1)


def test_a_batch_that_was_stored_before_its_late_answer_is_stored_twice(bench):
    publisher = bench.warm(bench.publisher())
    bench.plan({"effect": "late", "times": 1, "latency": {"fixed_s": 600}})
    assert publisher.publish(TOPIC, b"x").result(PATIENCE_S)
    assert bench.stored == 2


def test_hedges_follow_each_other_while_tokens_last(bench):
    publisher = bench.warm(bench.publisher(), tokens=2)
    bench.plan({"effect": "delay", "times": 2, "latency": {"fixed_s": 600}})
    assert publisher.publish(TOPIC, b"x").result(PATIENCE_S)
    until(lambda: bench.seen == {"OK": 1, "CANCELLED": 2})
    assert counts(publisher.hedging_stats()) == (2, 1, 2)


def test_the_bucket_starts_empty(bench):
    publisher = bench.publisher()
    bench.plan({"effect": "delay", "times": 1, "latency": {"fixed_s": 0.5}})
    assert publisher.publish(TOPIC, b"x").result(PATIENCE_S)
    assert (bench.seen, publisher.hedging_stats().sent) == ({"OK": 1}, 0)


def test_hedging_is_off_by_default(bench):
    publisher = bench.publisher(hedging=None)
    bench.plan({"effect": "delay", "times": 1, "latency": {"fixed_s": 0.5}})
    assert publisher.publish(TOPIC, b"x").result(PATIENCE_S)
    assert (bench.seen, publisher.hedging_stats()) == ({"OK": 1}, None)


def test_the_original_may_still_win(bench):
    publisher = bench.warm(bench.publisher())
    slow = {"effect": "delay", "times": 1, "latency": {"fixed_s": 0.5}}
    bench.plan(slow, {"effect": "delay", "after": 1, "latency": {"fixed_s": 600}})
    assert publisher.publish(TOPIC, b"x").result(PATIENCE_S)
    until(lambda: bench.seen == {"OK": 1, "CANCELLED": 1})
    assert counts(publisher.hedging_stats()) == (1, 0, 1)


def test_a_hedges_error_is_ignored_and_it_is_not_sent_again(bench):
    publisher = bench.warm(bench.publisher())
    slow = {"effect": "delay", "times": 1, "latency": {"fixed_s": 0.5}}
    bench.plan(slow, {"effect": "error", "after": 1})
    assert publisher.publish(TOPIC, b"x").result(PATIENCE_S)
    assert bench.seen == {"OK": 1, "UNAVAILABLE": 1}


def test_a_final_error_of_the_original_fails_the_batch_and_cancels_its_hedges(bench):
    publisher = bench.warm(bench.publisher())
    refused = {"effect": "error", "code": "PERMISSION_DENIED", "latency": {"fixed_s": 0.5}}
    slow = {"effect": "delay", "after": 1, "latency": {"fixed_s": 600}}
    bench.plan({**refused, "times": 1}, slow)
    with pytest.raises(exceptions.PermissionDenied):
        publisher.publish(TOPIC, b"x").result(PATIENCE_S)
    until(lambda: bench.seen == {"PERMISSION_DENIED": 1, "CANCELLED": 1})


def test_a_final_error_within_the_delay_is_the_plain_publishers(bench):
    bench.plan({"effect": "error", "code": "INVALID_ARGUMENT"})
    with pytest.raises(exceptions.InvalidArgument):
        bench.publisher().publish(TOPIC, b"x").result(PATIENCE_S)
    assert bench.seen == {"INVALID_ARGUMENT": 1}


def test_the_original_is_retried_as_the_client_is_set(bench):
    options = PublisherOptions(retry=Retry(initial=0.01, maximum=0.01, timeout=20))
    bench.plan({"effect": "error", "times": 5})
    assert bench.publisher(publisher_options=options).publish(TOPIC, b"x").result(PATIENCE_S)
    assert bench.seen == {"UNAVAILABLE": 5, "OK": 1}


def test_a_hedge_wins_while_the_original_waits_to_be_retried(bench):
    options = PublisherOptions(retry=Retry(initial=600, maximum=600, timeout=1200))
    publisher = bench.warm(bench.publisher(publisher_options=options))
    bench.plan({"effect": "error", "times": 1})
    assert publisher.publish(TOPIC, b"x").result(PATIENCE_S)
    assert bench.seen == {"UNAVAILABLE": 1, "OK": 1}
    assert publisher.hedging_stats().won == 1


def test_without_a_retry_an_error_is_final(bench):
    publisher = bench.warm(bench.publisher(HedgingSettings(hedge_delay=10, refill_ratio=0.2)))
    bench.plan({"effect": "error", "times": 1})
    with pytest.raises(exceptions.ServiceUnavailable):
        publisher.publish(TOPIC, b"x", retry=None).result(PATIENCE_S)


def test_batching_goes_on(bench):
    publisher = bench.publisher(batch_settings=BatchSettings(max_messages=51, max_latency=2))
    sent = [publisher.publish(TOPIC, b"x", number=str(n)) for n in range(100)]
    assert len({future.result(PATIENCE_S) for future in sent}) == 100
    assert bench.seen == {"OK": 2}


def test_flow_control_goes_on(bench):
    limits = PublishFlowControl(
        message_limit=1, limit_exceeded_behavior=LimitExceededBehavior.ERROR
    )
    publisher = bench.publisher(publisher_options=PublisherOptions(flow_control=limits))
    bench.plan({"effect": "delay", "latency": {"fixed_s": 0.5}})
    first, second = publisher.publish(TOPIC, b"x"), publisher.publish(TOPIC, b"y")
    with pytest.raises(FlowControlLimitError):
        second.result(PATIENCE_S)
    assert first.result(PATIENCE_S)


def test_successes_refill_the_bucket_once_a_batch(bench):
    publisher = bench.publisher()
    for _ in range(3):
        publisher.publish(TOPIC, b"x").result(PATIENCE_S)
    stats = publisher.hedging_stats()
    assert (stats.tokens, stats.latency.count) == (pytest.approx(0.6), 3)


def test_under_lasting_slowness_hedges_fade(bench):
    """All calls are slow: hedges stay within max tokens + refill ratio x successes."""
    settings = HedgingSettings(hedge_delay=0.1, max_tokens=2, refill_ratio=0.1)
    publisher = bench.warm(bench.publisher(settings), tokens=2)
    bench.plan({"effect": "delay", "latency": {"fixed_s": 0.35}})
    for _ in range(15):
        publisher.publish(TOPIC, b"x").result(PATIENCE_S)
    extra = publisher.hedging_stats().sent
    assert 2 <= extra <= 2 + 0.1 * 15
    until(lambda: sum(bench.seen.values()) == 15 + extra)


def test_a_plain_client_on_the_same_transport_stays_plain(bench):
    hedged = bench.warm(bench.publisher())
    plain = type(hedged).__mro__[1](transport=hedged.transport)
    bench.plan({"effect": "delay", "times": 1, "latency": {"fixed_s": 0.5}})
    assert plain.publish(TOPIC, b"x").result(PATIENCE_S)
    assert (bench.seen, hedged.hedging_stats().sent) == ({"OK": 1}, 0)


def test_message_ordering_is_refused(bench):
    options = PublisherOptions(enable_message_ordering=True)
    with pytest.raises(Misused, match="message ordering"):
        bench.publisher(publisher_options=options)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (PublisherOptions(timeout=1.0), "first"),
        (PublisherOptions(retry=Retry(timeout=1.0)), "total"),
        (PublisherOptions(retry=None, timeout=1.0), "first"),
    ],
)
def test_a_delay_that_is_not_below_a_time_out_is_refused(bench, options, name):
    with pytest.raises(Misused, match=f"below the {name} time-out, which is 1.0 s"):
        bench.publisher(HedgingSettings(hedge_delay=1.0), publisher_options=options)
    assert bench.publisher(HedgingSettings(hedge_delay=0.9), publisher_options=options)


def test_the_defaults_are_those_of_other_clients():
    settings = HedgingSettings()
    assert (settings.hedge_delay, settings.max_tokens, settings.refill_ratio) == (1.0, 50, 0.1)
