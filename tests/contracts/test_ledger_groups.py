from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from injector.ledger import Ledger, open_ledger
from injector.ledger.ports import GroupState, NewJob, RampDecision, Receipt

RAISE = RampDecision(100.0, "raise", 7.5, 12, "all is well", '{"accepted":500}')


def test_group_that_was_never_saved_is_at_version_0(ledger: Ledger):
    assert ledger.groups.state("mail") == GroupState("mail")


def test_saved_ramp_is_found_with_its_decision(ledger: Ledger):
    assert ledger.groups.save(
        GroupState("mail", '{"rate":7.5}', saved_at=100.0), expected_version=0, decision=RAISE
    )

    assert ledger.groups.state("mail") == GroupState("mail", '{"rate":7.5}', 1, 100.0)
    assert ledger.groups.decisions("mail") == [RAISE]


@pytest.mark.parametrize("expected", [0, 1, 3])
def test_ramp_that_someone_else_saved_is_left_alone_and_no_decision_noted(
    ledger: Ledger, expected: int
):
    for version in (0, 1):
        ledger.groups.save(GroupState("mail", f"{version}"), expected_version=version)

    assert not ledger.groups.save(
        GroupState("mail", "mine"), expected_version=expected, decision=RAISE
    )

    assert ledger.groups.state("mail") == GroupState("mail", "1", 2)
    assert ledger.groups.decisions("mail") == []


def test_newest_decisions_come_first(ledger: Ledger):
    for version in range(4):
        decision = RampDecision(float(version), "hold", 5.0, 1, f"reason {version}")
        ledger.groups.save(GroupState("mail"), expected_version=version, decision=decision)

    assert [each.reason for each in ledger.groups.decisions("mail", limit=2)] == [
        "reason 3",
        "reason 2",
    ]


def test_groups_do_not_see_each_other(ledger: Ledger):
    ledger.groups.save(GroupState("mail", "m"), expected_version=0, decision=RAISE)
    ledger.signals.add("mail", {"accepted": 1}, now=60.0)

    assert ledger.groups.state("push").version == 0
    assert ledger.groups.decisions("push") == []
    assert ledger.signals.since("push", 0.0) == []


def test_signals_add_up_within_their_minute(ledger: Ledger):
    ledger.signals.add("mail", {"accepted": 1, "latency.3": 2}, now=120.0)
    ledger.signals.add("mail", {"accepted": 10}, now=179.9)
    ledger.signals.add("mail", {"accepted": 100}, now=180.0)

    minutes = ledger.signals.since("mail", 0.0)

    assert [(minute.at, dict(minute.counts)) for minute in minutes] == [
        (120.0, {"accepted": 11, "latency.3": 2}),
        (180.0, {"accepted": 100}),
    ]


def test_signals_since_a_time_begin_with_its_whole_minute(ledger: Ledger):
    for now in (60.0, 130.0, 200.0):
        ledger.signals.add("mail", {"accepted": 1}, now=now)

    assert [minute.at for minute in ledger.signals.since("mail", 150.0)] == [120.0, 180.0]


def test_minutes_that_ended_before_are_forgotten(ledger: Ledger):
    for now in (60.0, 130.0, 200.0):
        ledger.signals.add("mail", {"accepted": 1}, now=now)

    ledger.signals.forget(before=150.0)

    assert [minute.at for minute in ledger.signals.since("mail", 0.0)] == [120.0, 180.0]


def rows_per_minute(ledger: Ledger) -> dict[int, int]:
    query = "SELECT minute, count(*) FROM signals GROUP BY minute"
    rows = ledger.database.read(lambda c: c.exec_driver_sql(query).all())
    return {row.minute: row[1] for row in rows}


def test_rows_of_minutes_that_are_over_are_laid_together(ledger: Ledger):
    ledger.jobs.register(NewJob("job", "mail", "{}", "", 5000, 50, "d"), now=1.0)
    for chunk in range(50):
        receipt = Receipt("job", chunk, 100, created_mask=1)
        ledger.receipts.merge(receipt, now=60.0 + 300 * (chunk % 2), counts={"accepted": 1})
    scattered, before = rows_per_minute(ledger), ledger.signals.since("mail", 0.0)

    ledger.signals.forget(before=0.0)

    assert scattered[1] > 4
    assert rows_per_minute(ledger) == {1: 1, 6: scattered[6]}
    assert ledger.signals.since("mail", 0.0) == before


def test_count_that_comes_late_joins_the_rows_laid_together(ledger: Ledger):
    ledger.jobs.register(NewJob("job", "mail", "{}", "", 5000, 50, "d"), now=1.0)
    for chunk in range(20):
        receipt = Receipt("job", chunk, 100, created_mask=1)
        ledger.receipts.merge(receipt, now=60.0, counts={"accepted": 1})
    ledger.signals.add("mail", {"accepted": 100}, now=600.0)
    ledger.signals.forget(before=0.0)

    ledger.receipts.merge(Receipt("job", 20, 100, 1), now=60.0, counts={"accepted": 1})
    ledger.signals.forget(before=0.0)

    assert rows_per_minute(ledger) == {1: 1, 10: 1}
    assert ledger.signals.since("mail", 0.0)[0].counts == {"accepted": 21}


def test_lease_is_held_by_one_owner_until_it_ends(ledger: Ledger):
    assert ledger.leases.acquire("tick", "a", now=100.0, ttl_s=60.0)

    assert not ledger.leases.acquire("tick", "b", now=159.9, ttl_s=60.0)
    assert ledger.leases.acquire("tick", "b", now=160.0, ttl_s=60.0)
    assert not ledger.leases.acquire("tick", "a", now=161.0, ttl_s=60.0)


def test_owner_renews_its_lease(ledger: Ledger):
    ledger.leases.acquire("tick", "a", now=100.0, ttl_s=60.0)

    assert ledger.leases.acquire("tick", "a", now=150.0, ttl_s=60.0)
    assert not ledger.leases.acquire("tick", "b", now=170.0, ttl_s=60.0)


def test_released_lease_is_free_and_only_its_owner_releases_it(ledger: Ledger):
    ledger.leases.acquire("tick", "a", now=100.0, ttl_s=60.0)
    ledger.leases.release("tick", "b")
    assert not ledger.leases.acquire("tick", "b", now=101.0, ttl_s=60.0)

    ledger.leases.release("tick", "a")

    assert ledger.leases.acquire("tick", "b", now=102.0, ttl_s=60.0)


def test_leases_of_other_names_are_free(ledger: Ledger):
    ledger.leases.acquire("tick mail", "a", now=100.0, ttl_s=60.0)

    assert ledger.leases.acquire("tick push", "b", now=100.0, ttl_s=60.0)


def test_lease_granted_by_a_clock_since_set_back_does_not_last_for_hours(ledger: Ledger):
    ledger.leases.acquire("tick", "a", now=10_000.0, ttl_s=60.0)

    assert ledger.leases.acquire("tick", "b", now=6_400.0, ttl_s=60.0)


def test_clock_a_little_behind_does_not_take_a_lease_away(ledger: Ledger):
    ledger.leases.acquire("tick", "a", now=100.0, ttl_s=60.0)

    assert not ledger.leases.acquire("tick", "b", now=95.0, ttl_s=60.0)


RUNNERS = 4


def test_of_controllers_that_decide_at_once_one_takes_the_step(shared_url: str):
    barrier = Barrier(RUNNERS)

    def tick(_number: int) -> bool:
        runner = open_ledger(shared_url)
        seen = runner.groups.state("mail").version
        barrier.wait()
        step = GroupState("mail", "one step up")
        saved = runner.groups.save(step, expected_version=seen, decision=RAISE)
        runner.close()
        return saved

    with ThreadPoolExecutor(RUNNERS) as pool:
        steps = list(pool.map(tick, range(RUNNERS)))

    ledger = open_ledger(shared_url)
    assert steps.count(True) == 1
    assert ledger.groups.state("mail").version == 1
    assert ledger.groups.decisions("mail") == [RAISE]
    ledger.close()


def test_of_ticks_that_begin_at_once_one_has_the_turn(shared_url: str):
    barrier = Barrier(RUNNERS)

    def tick(number: int) -> bool:
        runner = open_ledger(shared_url)
        barrier.wait()
        taken = runner.leases.acquire("tick", f"runner-{number}", now=100.0, ttl_s=60.0)
        runner.close()
        return taken

    with ThreadPoolExecutor(RUNNERS) as pool:
        turns = list(pool.map(tick, range(RUNNERS)))

    assert turns.count(True) == 1
