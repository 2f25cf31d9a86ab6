import heapq
import math
from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from injector.errors import Misused
from injector.pacing.hedge import Cancel, Finish, Hedging, HedgingSettings, Send, Wake


@dataclass(frozen=True)
class Answer:
    """How an attempt would end: after so many seconds, well or not."""

    after_s: float
    well: bool = True


@dataclass(frozen=True)
class Run:
    """What came of an operation: when each attempt was sent, who won, when, and who lost."""

    sends: tuple[float, ...]
    winner: int | None
    ended_at: float
    cancelled: tuple[int, ...]


SLOW = Answer(60.0)
latencies = st.floats(0.01, 30).map(lambda s: round(s, 3) + 0.0005)  # never at a delay's end
answers = st.lists(st.builds(Answer, latencies, st.booleans()), min_size=12, max_size=12)


def hedging(*, tokens: int = 0, delay: float = 1.0, ratio: float = 0.1, most: int = 50) -> Hedging:
    made = Hedging(HedgingSettings(delay, most, ratio), first_timeout_s=60.0, total_timeout_s=10.0)
    for _ in range(math.ceil(tokens / ratio)):
        made.refill()
    return made


def run(rule: Hedging, script: list[Answer]) -> Run:
    """Carry out the rule's actions on a virtual clock, where attempt i ends as script[i] says."""
    chain = rule.begin(now=0.0)
    agenda: list[tuple[float, int, str, int]] = []
    sends: list[float] = []
    todo, now = list(chain.first), 0.0
    while True:
        for action in todo:
            match action:
                case Send(attempt, timeout_s):
                    sends.append(now)
                    answer = script[attempt] if attempt < len(script) else SLOW
                    in_time = answer.after_s < timeout_s
                    event = "well" if answer.well and in_time else "ill"
                    end = now + min(answer.after_s, timeout_s)
                    heapq.heappush(agenda, (end, 0, event, attempt))
                case Wake(at):
                    heapq.heappush(agenda, (at, 1, "wake", -1))
                case Finish(attempt, succeeded):
                    lost = tuple(
                        i for each in todo if isinstance(each, Cancel) for i in each.attempts
                    )
                    return Run(tuple(sends), attempt if succeeded else None, now, lost)
        now, _, event, attempt = heapq.heappop(agenda)
        if event == "wake":
            todo = list(chain.woke(now=now))
        else:
            todo = list(chain.succeeded(attempt) if event == "well" else chain.failed(attempt))


def restated(script: list[Answer], *, delay: float, tokens: int, total: float = 10.0) -> Run:
    """Say what FIELD's paragraph says, in the plainest way: try each end, take the earliest."""
    sends, k = [0.0], 1
    while True:
        due = k * delay
        if due >= _end(script, sends, total)[0] or due >= total or tokens < 1:
            break
        sends, tokens, k = [*sends, due], tokens - 1, k + 1
    ended_at, winner = _end(script, sends, total)
    alive = (i for i, sent in enumerate(sends) if _ends(script, i, sent, total)[0] > ended_at)
    return Run(tuple(sends), winner, ended_at, tuple(i for i in alive if i != winner))


def _ends(script: list[Answer], attempt: int, sent: float, total: float) -> tuple[float, bool]:
    limit = total if attempt == 0 else min(total - sent, 10.0)
    answer = script[attempt] if attempt < len(script) else SLOW
    return sent + min(answer.after_s, limit), answer.well and answer.after_s < limit


def _end(script: list[Answer], sends: list[float], total: float) -> tuple[float, int | None]:
    ends = [(*_ends(script, i, sent, total), i) for i, sent in enumerate(sends)]
    final = [(at, i if well else None) for at, well, i in ends if well or i == 0]
    return min(final, key=lambda end: end[0])


@settings(max_examples=500)
@given(answers, st.integers(0, 12), st.sampled_from([0.1, 0.25, 1.0, 3.0]))
def test_rule_does_what_a_plain_restatement_does(script, tokens, delay):
    done = run(hedging(tokens=tokens, delay=delay), script)
    expected = restated(script, delay=delay, tokens=tokens)
    ends = sorted(_ends(script, i, sent, 10.0)[0] for i, sent in enumerate(expected.sends))
    assume(all(b - a > 1e-6 for a, b in pairwise(ends) if b < 9.999))  # which is first is chance
    assert done.winner == expected.winner
    assert done.ended_at == pytest.approx(expected.ended_at)
    assert done.sends == pytest.approx(expected.sends)
    if done.ended_at < 9.999:  # all that are left end at the total time-out together
        assert done.cancelled == expected.cancelled


@pytest.mark.parametrize(
    ("script", "tokens", "expected"),
    [
        ([Answer(0.5)], 5, Run((0,), 0, 0.5, ())),
        ([Answer(2.5)], 0, Run((0,), 0, 2.5, ())),
        ([Answer(2.5), Answer(0.2)], 5, Run((0, 1), 1, 1.2, (0,))),
        ([Answer(2.5), Answer(9)], 1, Run((0, 1), 0, 2.5, (1,))),
        ([Answer(9), Answer(9), Answer(0.1)], 5, Run((0, 1, 2), 2, 2.1, (0, 1))),
        ([Answer(3.5), Answer(0.1, well=False), SLOW], 2, Run((0, 1, 2), 0, 3.5, (2,))),
        ([Answer(1.5, well=False), SLOW], 5, Run((0, 1), None, 1.5, (1,))),
        ([Answer(0.5, well=False)], 5, Run((0,), None, 0.5, ())),
        ([SLOW] * 12, 50, Run(tuple(range(10)), None, 10, tuple(range(1, 10)))),
    ],
    ids=[
        "a call within the delay is left alone",
        "an empty bucket hedges nothing",
        "the hedge wins and the original is cancelled",
        "the original wins and the hedge is cancelled",
        "a chain of hedges, the last one wins",
        "a hedge's error is ignored",
        "the original's error is final though a hedge is in flight",
        "an error within the delay is final",
        "nothing more is sent once the total time is over",
    ],
)
def test_each_branch_of_the_algorithm(script, tokens, expected):
    assert run(hedging(tokens=tokens), script) == expected


def test_bucket_starts_empty():
    assert hedging().tokens == 0


def test_ten_successes_at_a_tenth_pay_for_one_hedge():
    rule = hedging()
    for _ in range(10):
        run(rule, [Answer(0.01)])
    assert run(rule, [SLOW, Answer(0.1)]).winner == 1
    assert rule.sent == rule.won == rule.cancelled == 1


@given(st.lists(answers, max_size=30), st.sampled_from([0.001, 0.05, 0.2]), st.integers(1, 250))
def test_hedges_never_exceed_what_successes_paid_for(scripts, ratio, most):
    rule, successes = hedging(delay=0.1, ratio=ratio, most=most), 0
    for script in scripts:
        successes += run(rule, script).winner is not None
        assert rule.sent <= most + ratio * successes
        assert rule.sent <= ratio * successes + 1e-6
        assert rule.tokens <= most


def test_sustained_slowness_ends_hedging_by_itself():
    rule = hedging(tokens=50)
    for _ in range(100):
        run(rule, [Answer(9.9, well=False)] + [Answer(20)] * 10)
    assert (rule.sent, rule.tokens) == (50, 0)


def test_success_is_paid_once_however_many_attempts_succeed():
    rule = hedging(tokens=1)
    chain = rule.begin(now=0)
    chain.woke(now=1)
    before = rule.tokens
    chain.succeeded(1)
    assert chain.succeeded(0) == chain.failed(0) == chain.woke(now=2) == ()
    assert rule.tokens - before == pytest.approx(0.1)


def test_error_pays_nothing():
    rule = hedging()
    run(rule, [Answer(0.1, well=False)])
    assert rule.tokens == 0


def test_hedge_has_ten_seconds_at_most():
    rule = Hedging(HedgingSettings(), first_timeout_s=60, total_timeout_s=600)
    for _ in range(10):
        rule.refill()
    assert rule.begin(now=0).woke(now=1) == (Send(1, 10.0), Wake(2.0))


def test_hedge_has_no_more_time_than_the_operation():
    assert hedging(tokens=1).begin(now=0).woke(now=7)[0] == Send(1, 3.0)


def test_no_hedge_while_the_throttle_rejects():
    rule = hedging(tokens=5)
    assert rule.begin(now=0).woke(now=1, throttled=True) == ()
    assert rule.tokens == 5


def test_operation_with_less_time_than_the_delay_is_never_hedged():
    assert hedging(tokens=5).begin(now=0, timeout_s=0.8).woke(now=1) == ()


@pytest.mark.parametrize(("p95", "delay"), [(0.01, 0.1), (0.4, 0.4), (3, 3), (25, 1.0)])
def test_delay_follows_the_latency_within_its_range_and_the_time_outs(p95, delay):
    rule = Hedging(HedgingSettings(follow_p95=True), first_timeout_s=5, total_timeout_s=60)
    rule.follow(p95)
    assert rule.delay_s == delay


def test_delay_that_is_set_follows_nothing():
    rule = hedging(delay=2.0)
    rule.follow(0.4)
    assert rule.delay_s == 2.0


@pytest.mark.parametrize(
    "settings_",
    [
        {"hedge_delay": 0.1, "max_tokens": 1, "refill_ratio": 0.001},
        {"hedge_delay": 10, "max_tokens": 250, "refill_ratio": 0.2},
    ],
)
def test_bounds_themselves_are_allowed(settings_):
    HedgingSettings(**settings_)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hedge_delay", 0.099),
        ("hedge_delay", 10.001),
        ("hedge_delay", math.nan),
        ("max_tokens", 0),
        ("max_tokens", 251),
        ("max_tokens", 1.5),
        ("refill_ratio", 0.0009),
        ("refill_ratio", 0.21),
        ("refill_ratio", math.nan),
    ],
)
def test_setting_out_of_range_is_refused_by_name(name, value):
    with pytest.raises(Misused, match=name):
        HedgingSettings(**{name: value})


@pytest.mark.parametrize(
    ("first", "total", "named"), [(1.0, 60, "first"), (0.5, 60, "first"), (60, 1.0, "total")]
)
def test_delay_must_be_below_both_time_outs(first, total, named):
    with pytest.raises(Misused, match=f"below the {named} time-out"):
        Hedging(HedgingSettings(), first_timeout_s=first, total_timeout_s=total)


@pytest.mark.parametrize("reason", ["message ordering", "tasks without names"])
def test_what_may_not_be_sent_twice_is_refused(reason):
    with pytest.raises(Misused, match=reason):
        Hedging(HedgingSettings(), first_timeout_s=60, total_timeout_s=60, unrepeatable=reason)
