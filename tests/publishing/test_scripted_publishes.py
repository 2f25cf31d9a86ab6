"""Moments of a hedged publish that no server brings about at will."""

import threading

import grpc
import pytest
from google.api_core.exceptions import RetryError, ServiceUnavailable
from google.api_core.retry import Retry
from google.pubsub_v1.types import PublishRequest, PublishResponse

from injector.pacing.hedge import Hedging
from injector.publishing.calls import Calls
from injector.publishing.hedger import Hedger
from injector.publishing.seam import retrying
from tests.publishing.bench import SOON
from tests.waiting import PATIENCE_S, until

ANSWER = PublishResponse(message_ids=["1"])


class Scripted:
    """A stub whose first call fails once there is a hedge, which answers when it may."""

    def __init__(self) -> None:
        self.hedged = threading.Event()
        self.may_answer = threading.Event()
        self.calls = 0

    def future(self, _request, **_options: object):
        self.calls += 1
        return Failing(self.hedged) if self.calls == 1 else self._hedge()

    def _hedge(self):
        self.hedged.set()
        return Answering(self.may_answer)


class Failing:
    def __init__(self, when: threading.Event) -> None:
        self.when = when

    def result(self):
        self.when.wait(PATIENCE_S)
        raise grpc.RpcError

    def cancel(self):
        return True


class Answering(Failing):
    def result(self):
        self.when.wait(PATIENCE_S)
        return ANSWER


def with_token() -> Hedging:
    hedging = Hedging(SOON, first_timeout_s=60, total_timeout_s=60)
    while hedging.tokens < 1:
        hedging.refill()
    return hedging


def test_hedge_that_is_first_while_the_originals_error_is_on_its_way_up_is_the_answer():
    stub = Scripted()
    calls = Calls(stub)
    hedger = Hedger(with_token(), calls)

    def publish(*, retry):
        try:
            return calls(PublishRequest())
        except grpc.RpcError:
            stub.may_answer.set()
            until(lambda: hedger.stats().won == 1)
            raise

    assert hedger.publish(publish, None, total_s=60) == ANSWER


def test_originals_error_is_the_end_where_no_hedge_was_first():
    stub = Scripted()
    calls = Calls(stub)
    hedger = Hedger(with_token(), calls)
    with pytest.raises(grpc.RpcError):
        hedger.publish(lambda **_: calls(PublishRequest()), None, total_s=60)
    stub.may_answer.set()
    assert hedger.stats().won == 0


def test_back_off_is_not_waited_out_when_the_first_call_took_all_the_time():
    waited = []

    def slow():
        threading.Event().wait(0.3)
        raise ServiceUnavailable("away")

    publish = retrying(Retry(initial=0.1, timeout=0.2), waited.append)(slow)
    with pytest.raises(RetryError):
        publish()
    assert waited == []
