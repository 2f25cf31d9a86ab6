"""Each layer around a sender that does as the test says."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from injector.delivery.call import Call
from injector.delivery.counted import Counted
from injector.delivery.hedged import Hedged
from injector.delivery.limited import Limited, Turns
from injector.delivery.ports import Create, Outcome, Result
from injector.delivery.retried import Retried
from injector.delivery.throttled import Throttled
from injector.delivery.verdict import judge
from injector.pacing.backoff import Backoff
from injector.pacing.hedge import Hedging, HedgingSettings
from injector.pacing.signals import Tally
from injector.pacing.throttle import GroupThrottle, ThrottleSettings

QUEUE = "projects/p/locations/l/queues/q"
HOUR_S = 3600.0


class Scripted:
    """Ends each create of each call as the script says; the last line stands for all after it."""

    def __init__(self, *script: str, until: Callable[[], Awaitable[object]] | None = None) -> None:
        self.script = list(script)
        self.sent: list[list[str]] = []
        self._until = until

    async def send(self, call: Call) -> Sequence[Result]:
        self.sent.append([create.task_id for create in call.creates])
        if self._until:
            await self._until()
        codes = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        split = codes.split()
        codes_each = split * len(call.creates) if len(split) == 1 else split
        return [judge(code, "", call.queue) for code in codes_each]


def call_of(*names: str, within_s: float = HOUR_S) -> Call:
    creates = [Create(QUEUE, name, "http://t/") for name in names]
    return Call(QUEUE, creates, asyncio.get_running_loop().time() + within_s, Tally())


def retried(inner: Scripted, attempts: int = 3) -> Retried:
    backoff = Backoff(attempts=attempts, first_s=0.001, most_s=0.001)
    return Retried(inner, backoff=backoff, codes=frozenset({"UNAVAILABLE"}), draw=lambda: 0.0)


def codes(results: Sequence[Result]) -> str:
    return " ".join(result.code for result in results)


def test_only_what_was_not_taken_is_sent_again() -> None:
    inner = Scripted("OK UNAVAILABLE ALREADY_EXISTS UNAVAILABLE NOT_FOUND", "UNAVAILABLE OK", "OK")

    async def send() -> str:
        return codes(await retried(inner).send(call_of("a", "b", "c", "d", "e")))

    assert asyncio.run(send()) == "OK OK ALREADY_EXISTS OK NOT_FOUND"
    assert inner.sent == [["a", "b", "c", "d", "e"], ["b", "d"], ["b"]]


@given(st.integers(1, 5))
def test_a_call_is_sent_as_often_as_allowed_and_no_more(attempts: int) -> None:
    inner = Scripted("UNAVAILABLE")

    async def send() -> str:
        return codes(await retried(inner, attempts).send(call_of("a")))

    assert asyncio.run(send()) == "UNAVAILABLE"
    assert len(inner.sent) == attempts


def test_a_retry_that_is_held_back_leaves_the_fault_that_caused_it() -> None:
    class HeldBack(Scripted):
        async def send(self, call: Call) -> Sequence[Result]:
            if self.sent:
                return [Result(Outcome.NOT_TAKEN, "THROTTLED")]
            return await super().send(call)

    async def send() -> str:
        return codes(await retried(HeldBack("UNAVAILABLE")).send(call_of("a")))

    assert asyncio.run(send()) == "UNAVAILABLE"


def test_no_wait_goes_beyond_the_deadline() -> None:
    """The wait would be of a minute: longer than the call has, and than the test is patient."""
    inner = Scripted("UNAVAILABLE")
    backoff = Backoff(attempts=9, first_s=60, most_s=60)

    async def send() -> None:
        layer = Retried(
            inner, backoff=backoff, codes=frozenset({"UNAVAILABLE"}), draw=lambda: 0.999
        )
        await layer.send(call_of("a", within_s=30))

    asyncio.run(send())
    assert len(inner.sent) == 1


def test_where_most_calls_fail_retries_end_and_first_tries_go_on() -> None:
    inner = Scripted("UNAVAILABLE")

    async def send() -> None:
        layer = retried(inner)
        for number in range(300):
            await layer.send(call_of(f"t{number}"))

    asyncio.run(send())
    assert 300 <= len(inner.sent) <= 300 + 2 * 50


def test_a_queue_that_fails_takes_no_retries_from_another() -> None:
    async def send() -> int:
        inner = Scripted("UNAVAILABLE")
        layer = retried(inner)
        for _ in range(200):
            await layer.send(call_of("a"))
        before = len(inner.sent)
        other = call_of("b")
        other.queue = f"{QUEUE}2"
        await layer.send(other)
        return len(inner.sent) - before

    assert asyncio.run(send()) == 3


@given(
    st.integers(1, 4),
    st.lists(st.sampled_from(["take", "give", "cancel"]), max_size=60),
)
def test_turns_are_taken_in_order_never_too_many_and_never_lost(
    limit: int, steps: list[str]
) -> None:
    async def play() -> None:
        turns = Turns(limit)
        waiting: list[asyncio.Task[None]] = []
        held = 0
        for step in steps:
            if step == "take":
                waiting.append(asyncio.create_task(turns.take()))
            elif step == "give" and held:
                turns.give_back()
                held -= 1
            elif step == "cancel" and waiting:
                waiting.pop(len(waiting) // 2).cancel()
            await asyncio.sleep(0)
            done = [task for task in waiting if task.done()]
            assert waiting[: len(done)] == done
            waiting = waiting[len(done) :]
            held += len(done)
            assert held <= limit
            assert held == limit or not waiting
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        while held:
            turns.give_back()
            held -= 1
        assert [turns.take_spare() for _ in range(limit + 1)] == [True] * limit + [False]

    asyncio.run(play())


def test_a_turn_given_to_one_who_is_cancelled_at_that_moment_goes_on() -> None:
    async def play() -> None:
        turns = Turns(1)
        await turns.take()
        first, second = (asyncio.create_task(turns.take()) for _ in range(2))
        await asyncio.sleep(0)
        turns.give_back()
        first.cancel()
        await second

    asyncio.run(play())


def test_a_call_whose_time_is_over_when_its_turn_comes_is_not_sent() -> None:
    inner = Scripted("OK")

    async def send() -> str:
        return codes(await Limited(inner, turns=Turns(1)).send(call_of("a", within_s=-1)))

    assert asyncio.run(send()) == "OUT_OF_TIME"
    assert not inner.sent


def test_a_failing_call_gives_its_turn_back() -> None:
    class Broken:
        async def send(self, _: Call) -> Sequence[Result]:
            raise RuntimeError

    async def send() -> bool:
        turns = Turns(1)
        with pytest.raises(RuntimeError):
            await Limited(Broken(), turns=turns).send(call_of("a"))
        return turns.take_spare()

    assert asyncio.run(send())


def throttled(inner: Scripted, throttle: GroupThrottle) -> Throttled:
    return Throttled(inner, throttle=throttle, now=lambda: 1.0, draw=lambda: 0.5)


@pytest.mark.parametrize("code", ["ALREADY_EXISTS", "INVALID_ARGUMENT", "NOT_FOUND", "OK"])
def test_an_answer_opens_the_throttle_whatever_it_says(code: str) -> None:
    async def send() -> float:
        throttle = GroupThrottle(ThrottleSettings(least=1))
        for _ in range(100):
            await throttled(Scripted(code), throttle).send(call_of("a"))
        return throttle.rejected_share(QUEUE, now=1.0)

    assert asyncio.run(send()) == 0


def test_codes_of_our_own_are_no_evidence_against_the_service() -> None:
    async def send() -> float:
        throttle = GroupThrottle(ThrottleSettings(least=1))
        for code in ("NO_TOKEN", "OUT_OF_TIME") * 50:
            await throttled(Scripted(code), throttle).send(call_of("a"))
        return throttle.rejected_share(QUEUE, now=1.0)

    assert asyncio.run(send()) == 0


def test_what_is_held_back_is_counted_and_not_sent() -> None:
    async def send() -> tuple[int, int]:
        inner, throttle, tally = (
            Scripted("UNAVAILABLE"),
            GroupThrottle(ThrottleSettings(least=1)),
            Tally(),
        )
        for _ in range(100):
            call = call_of("a")
            call.tally = tally
            await throttled(inner, throttle).send(call)
        return len(inner.sent), tally.drain().local_rejects

    sent, rejected = asyncio.run(send())
    assert sent + rejected == 100
    assert rejected > 90


def test_a_batch_that_is_held_back_weighs_as_much_as_one_that_fails() -> None:
    async def send() -> tuple[int, float]:
        inner, throttle = Scripted("UNAVAILABLE"), GroupThrottle(ThrottleSettings(least=1))
        for _ in range(2):
            await throttled(inner, throttle).send(call_of("a", "b", "c", "d"))
        return len(inner.sent), throttle.rejected_share(QUEUE, now=1.0)

    assert asyncio.run(send()) == (1, pytest.approx(8 / 9))


def test_a_batch_is_counted_record_by_record_and_timed_once() -> None:
    async def send() -> tuple[int, dict[str, int], int]:
        call = call_of("a", "b", "c")
        await Counted(Scripted("OK UNAVAILABLE ALREADY_EXISTS")).send(call)
        signals = call.tally.drain()
        return signals.accepted, dict(signals.faults), signals.latency.count

    assert asyncio.run(send()) == (2, {"UNAVAILABLE": 1}, 1)


@pytest.mark.parametrize("throttles", [True, False])
def test_nothing_is_hedged_while_the_throttle_rejects(*, throttles: bool) -> None:
    async def send() -> int:
        settings = HedgingSettings(hedge_delay=0.1, refill_ratio=0.2)
        hedging = Hedging(settings, first_timeout_s=20, total_timeout_s=20)
        for _ in range(10):
            hedging.refill()
        inner = Scripted("OK", until=lambda: asyncio.sleep(0.15))
        layer = Hedged(inner, hedging=hedging, turns=Turns(9), throttled=lambda _: throttles)
        await layer.send(call_of("a"))
        return len(inner.sent)

    assert asyncio.run(send()) == (1 if throttles else 2)


def test_a_race_that_is_cancelled_from_outside_ends_with_its_hedges() -> None:
    async def send() -> bool:
        hedging = Hedging(
            HedgingSettings(hedge_delay=0.1, refill_ratio=0.2),
            first_timeout_s=20,
            total_timeout_s=20,
        )
        for _ in range(10):
            hedging.refill()
        turns, inner = Turns(9), Scripted("OK", until=asyncio.Event().wait)
        layer = Hedged(inner, hedging=hedging, turns=turns, throttled=lambda _: False)
        task = asyncio.create_task(layer.send(call_of("a")))
        while len(inner.sent) < 2:  # noqa: ASYNC110  the sender has no event for it
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return task.cancelled() and [turns.take_spare() for _ in range(9)] == [True] * 9

    assert asyncio.run(send())
