from dataclasses import replace

import pytest

from injector.errors import Conflict, Misused, NotFound
from injector.ledger import Ledger
from injector.ledger.ports import Chunks, JobState, NewJob, Receipt, Reject, Tuning

JOB = NewJob(
    id="welcome",
    group="mail",
    manifest_json='{"job":"welcome","task":{"http":{"url":"https://a"}}}',
    store="file:///chunks",
    records=250,
    chunks=3,
    digest="sha256:1",
    rejected=2,
)


def settle(ledger: Ledger, job: NewJob, *, now: float = 20.0) -> None:
    for chunk in range(job.chunks):
        records = min(100, job.records - 100 * chunk)
        everything = (1 << records) - 1
        ledger.receipts.merge(Receipt(job.id, chunk, records, created_mask=everything), now=now)


def test_registered_job_is_found_as_it_was_given(ledger: Ledger):
    ledger.jobs.register(replace(JOB, weight=3.0, priority=2, max_rate=7.5, parent="old"), now=10.0)

    job = ledger.jobs.get("welcome")

    assert (job.group, job.manifest_json, job.store) == ("mail", JOB.manifest_json, JOB.store)
    assert (job.records, job.chunks, job.digest, job.rejected) == (250, 3, "sha256:1", 2)
    assert (job.weight, job.priority, job.max_rate, job.parent) == (3.0, 2, 7.5, "old")
    assert (job.state, job.cursor, job.registered_at) == (JobState.RUNNING, 0, 10.0)
    assert (job.started_at, job.finished_at) == (None, None)


def test_registering_the_same_job_again_changes_nothing(ledger: Ledger):
    assert ledger.jobs.register(JOB, now=10.0)
    before = ledger.jobs.get("welcome")

    assert not ledger.jobs.register(replace(JOB, store="file:///elsewhere"), now=99.0)

    assert ledger.jobs.get("welcome") == before
    assert len(ledger.jobs.audit("welcome")) == 1


def test_same_job_stays_the_same_after_it_was_tuned(ledger: Ledger):
    ledger.jobs.register(JOB, now=10.0)
    ledger.jobs.tune("welcome", Tuning(weight=9.0), now=11.0)

    assert not ledger.jobs.register(JOB, now=12.0)


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (replace(JOB, digest="sha256:2"), "digest was 'sha256:1', is 'sha256:2'"),
        (replace(JOB, group="push"), "group was 'mail', is 'push'"),
        (replace(JOB, records=251), "records was 250, is 251"),
        (
            replace(JOB, manifest_json='{"job":"welcome","task":{"http":{"url":"https://b"}}}'),
            'manifest.task.http.url was "https://a", is "https://b"',
        ),
    ],
)
def test_same_id_with_other_content_is_refused_with_what_differs(
    ledger: Ledger, other: NewJob, named: str
):
    ledger.jobs.register(JOB, now=10.0)

    with pytest.raises(Conflict) as refusal:
        ledger.jobs.register(other, now=11.0)

    assert f"\n  {named}" in str(refusal.value)


def test_manifest_written_in_another_order_is_the_same(ledger: Ledger):
    ledger.jobs.register(replace(JOB, manifest_json='{"a":1,"b":2}'), now=10.0)

    assert not ledger.jobs.register(replace(JOB, manifest_json='{"b": 2, "a": 1}'), now=11.0)


@pytest.mark.parametrize("job_id", ["", "nul\0nul", "half \ud800", "x" * 1001])
def test_id_that_a_database_cannot_keep_is_refused(ledger: Ledger, job_id: str):
    with pytest.raises(Misused):
        ledger.jobs.register(replace(JOB, id=job_id), now=10.0)


@pytest.mark.parametrize(
    "job_id", ["名前", "a/b", "'; DROP TABLE jobs; --", " x ", "%", "x" * 1000]
)
def test_id_is_any_text(ledger: Ledger, job_id: str):
    ledger.jobs.register(replace(JOB, id=job_id), now=10.0)

    assert ledger.jobs.get(job_id).id == job_id


@pytest.mark.parametrize("job_id", ["nobody", "", "nul\0nul", "half \ud800"])
def test_unknown_job_is_not_found_by_any_question(ledger: Ledger, job_id: str):
    questions = [
        lambda: ledger.jobs.get(job_id),
        lambda: ledger.jobs.totals(job_id),
        lambda: ledger.jobs.set_state(job_id, JobState.PAUSED, "", now=1.0),
        lambda: ledger.jobs.tune(job_id, Tuning(), now=1.0),
        lambda: ledger.jobs.advance(job_id, Chunks(0, 1, 0), scheduled_until=1.0, now=1.0),
        lambda: ledger.jobs.overdue(job_id, before=1.0, limit=1),
        lambda: ledger.jobs.refeed(job_id, [], scheduled_until=1.0, now=1.0),
        lambda: ledger.jobs.finish(job_id, now=1.0),
        lambda: ledger.jobs.rejects(job_id),
        lambda: ledger.jobs.delete(job_id, now=1.0),
        lambda: ledger.receipts.load(job_id, 0),
        lambda: ledger.receipts.begin(job_id, 0),
        lambda: ledger.receipts.merge(Receipt(job_id, 0, 1, 1), now=1.0),
        lambda: list(ledger.receipts.stream(job_id)),
    ]
    for question in questions:
        with pytest.raises(NotFound, match="there is no job"):
            question()


def test_jobs_are_listed_newest_first_page_by_page(ledger: Ledger):
    for number in range(5):
        ledger.jobs.register(replace(JOB, id=f"job-{number}"), now=10.0)

    first = ledger.jobs.list(limit=2)
    second = ledger.jobs.list(after=first[-1].id, limit=2)
    last = ledger.jobs.list(after=second[-1].id, limit=2)

    listed = [job.id for job in [*first, *second, *last]]
    assert listed == ["job-4", "job-3", "job-2", "job-1", "job-0"]
    assert ledger.jobs.list(after="job-0") == []


def test_jobs_are_listed_by_state(ledger: Ledger):
    for number in range(4):
        ledger.jobs.register(replace(JOB, id=f"job-{number}"), now=10.0)
    ledger.jobs.set_state("job-1", JobState.PAUSED, "", now=11.0)
    ledger.jobs.set_state("job-3", JobState.PAUSED, "", now=11.0)

    paused = ledger.jobs.list(state=JobState.PAUSED)

    assert [job.id for job in paused] == ["job-3", "job-1"]


ALLOWED = {
    ("running", "paused"),
    ("running", "cancelled"),
    ("running", "failed"),
    ("paused", "running"),
    ("paused", "cancelled"),
    ("paused", "failed"),
    ("failed", "running"),
    ("failed", "cancelled"),
}


@pytest.mark.parametrize("old", ["running", "paused", "cancelled", "failed"])
@pytest.mark.parametrize("new", ["running", "paused", "cancelled", "failed"])
def test_state_follows_only_where_it_may(ledger: Ledger, old: str, new: str):
    ledger.jobs.register(JOB, now=10.0)
    ledger.jobs.set_state("welcome", JobState(old), "as given", now=11.0)

    if old == new or (old, new) in ALLOWED:
        assert ledger.jobs.set_state("welcome", JobState(new), "", now=12.0).state == new
    else:
        with pytest.raises(Conflict, match=f"'welcome' is {old}; it cannot become {new}"):
            ledger.jobs.set_state("welcome", JobState(new), "", now=12.0)
        assert ledger.jobs.get("welcome").state == old


def test_finished_is_for_good(ledger: Ledger):
    ledger.jobs.register(JOB, now=10.0)
    settle(ledger, JOB)
    ledger.jobs.finish("welcome", now=30.0)

    with pytest.raises(Conflict):
        ledger.jobs.set_state("welcome", JobState.RUNNING, "", now=31.0)


def test_change_of_state_is_kept_with_who_when_and_why(ledger: Ledger):
    ledger.jobs.register(JOB, now=10.0, who="ann@example.com")
    ledger.jobs.set_state("welcome", JobState.PAUSED, "someone called", now=11.0, who="bob")
    ledger.jobs.set_state("welcome", JobState.PAUSED, "again", now=12.0, who="cid")
    ledger.jobs.set_state("welcome", JobState.RUNNING, "", now=13.0, who="dan")

    lines = [(a.at, a.who, a.what, a.old, a.new, a.reason) for a in ledger.jobs.audit("welcome")]

    assert lines == [
        (13.0, "dan", "state", "paused", "running", ""),
        (11.0, "bob", "state", "running", "paused", "someone called"),
        (10.0, "ann@example.com", "registered", "", "running", ""),
    ]


def test_end_is_dated_and_forgotten_when_a_failed_job_goes_on(ledger: Ledger):
    ledger.jobs.register(JOB, now=10.0)
    failed = ledger.jobs.set_state("welcome", JobState.FAILED, "queue gone", now=11.0)
    running = ledger.jobs.set_state("welcome", JobState.RUNNING, "", now=12.0)

    assert (failed.finished_at, failed.reason) == (11.0, "queue gone")
    assert (running.finished_at, running.reason) == (None, "")


def test_version_grows_with_each_change_and_not_without(ledger: Ledger):
    ledger.jobs.register(JOB, now=10.0)
    paused = ledger.jobs.set_state("welcome", JobState.PAUSED, "", now=11.0)
    again = ledger.jobs.set_state("welcome", JobState.PAUSED, "", now=12.0)
    tuned = ledger.jobs.tune("welcome", Tuning(weight=2.0), now=13.0)
    untuned = ledger.jobs.tune("welcome", Tuning(weight=2.0), now=14.0)

    versions = [job.version for job in (paused, again, tuned, untuned)]
    assert versions == [2, 2, 3, 3]


def test_change_of_a_version_that_is_gone_is_refused(ledger: Ledger):
    ledger.jobs.register(JOB, now=10.0)
    seen = ledger.jobs.get("welcome").version
    ledger.jobs.tune("welcome", Tuning(weight=2.0), now=11.0, expected_version=seen)

    with pytest.raises(Conflict, match="was changed meanwhile: it is at version 2, not 1"):
        ledger.jobs.set_state("welcome", JobState.PAUSED, "", now=12.0, expected_version=seen)
    with pytest.raises(Conflict, match="was changed meanwhile"):
        ledger.jobs.tune("welcome", Tuning(weight=3.0), now=12.0, expected_version=seen)

    job = ledger.jobs.get("welcome")
    assert (job.state, job.weight) == (JobState.RUNNING, 2.0)


def test_tuning_leaves_a_line_for_each_value_that_differs(ledger: Ledger):
    ledger.jobs.register(JOB, now=10.0)

    job = ledger.jobs.tune("welcome", Tuning(weight=2.0, max_rate=7.5), now=11.0, who="ann")

    assert (job.weight, job.priority, job.max_rate) == (2.0, 0, 7.5)
    lines = {(a.what, a.old, a.new) for a in ledger.jobs.audit("welcome") if a.who == "ann"}
    assert lines == {("weight", "1.0", "2.0"), ("max_rate", "None", "7.5")}


def test_runnable_jobs_come_by_priority_then_weight_then_age(ledger: Ledger):
    ranks = {"old": (0, 1.0), "heavy": (0, 5.0), "urgent": (1, 0.1), "new": (0, 1.0)}
    for name, (priority, weight) in ranks.items():
        ledger.jobs.register(replace(JOB, id=name, priority=priority, weight=weight), now=10.0)

    assert [job.id for job in ledger.jobs.runnable("mail")] == ["urgent", "heavy", "old", "new"]


def test_runnable_leaves_out_what_has_nothing_to_feed(ledger: Ledger):
    for name in ("fresh", "paused", "fed", "cancelled"):
        ledger.jobs.register(replace(JOB, id=name), now=10.0)
    ledger.jobs.register(replace(JOB, id="foreign", group="push"), now=10.0)
    ledger.jobs.set_state("paused", JobState.PAUSED, "", now=11.0)
    ledger.jobs.set_state("cancelled", JobState.CANCELLED, "", now=11.0)
    ledger.jobs.advance("fed", Chunks(0, 3, 0), scheduled_until=12.0, now=11.0)

    assert [job.id for job in ledger.jobs.runnable("mail")] == ["fresh"]
    assert [job.id for job in ledger.jobs.active("mail")] == ["fresh", "paused", "fed"]


def test_job_is_finished_when_all_its_chunks_are_settled(ledger: Ledger):
    ledger.jobs.register(JOB, now=10.0)
    assert not ledger.jobs.finish("welcome", now=11.0)
    settle(ledger, JOB)

    assert ledger.jobs.finish("welcome", now=30.0)

    job = ledger.jobs.get("welcome")
    assert (job.state, job.finished_at) == (JobState.FINISHED, 30.0)
    assert not ledger.jobs.finish("welcome", now=31.0)


def test_paused_job_finishes_when_the_last_chunk_under_way_settles(ledger: Ledger):
    ledger.jobs.register(JOB, now=10.0)
    ledger.jobs.set_state("welcome", JobState.PAUSED, "", now=11.0)
    settle(ledger, JOB)

    assert ledger.jobs.finish("welcome", now=30.0)


def test_cancelled_job_is_not_finished(ledger: Ledger):
    ledger.jobs.register(JOB, now=10.0)
    settle(ledger, JOB)
    ledger.jobs.set_state("welcome", JobState.CANCELLED, "", now=21.0)

    assert not ledger.jobs.finish("welcome", now=30.0)
    assert ledger.jobs.get("welcome").state == JobState.CANCELLED


def test_nobody_can_call_a_job_finished_that_is_not(ledger: Ledger):
    ledger.jobs.register(JOB, now=10.0)

    with pytest.raises(Conflict, match="has settled 0 of 3 chunks"):
        ledger.jobs.set_state("welcome", JobState.FINISHED, "", now=11.0)


def test_job_without_chunks_finishes_at_once(ledger: Ledger):
    ledger.jobs.register(replace(JOB, records=0, chunks=0), now=10.0)

    assert ledger.jobs.finish("welcome", now=11.0)


@pytest.mark.parametrize("state", [JobState.RUNNING, JobState.PAUSED])
def test_job_under_way_is_not_deleted(ledger: Ledger, state: JobState):
    ledger.jobs.register(JOB, now=10.0)
    ledger.jobs.set_state("welcome", state, "", now=11.0)

    with pytest.raises(Conflict, match="cancel it first"):
        ledger.jobs.delete("welcome", now=12.0)

    assert ledger.jobs.get("welcome").state == state


def cancelled_with_leavings(ledger: Ledger) -> None:
    ledger.jobs.register(JOB, now=10.0)
    ledger.jobs.advance("welcome", Chunks(0, 3, 0), scheduled_until=11.0, now=11.0)
    ledger.receipts.merge(
        Receipt("welcome", 0, 100, rejected_mask=1, rejects=(Reject(0, 0, 1, "bad"),)), now=12.0
    )
    settle(ledger, replace(JOB, chunks=2))
    ledger.jobs.set_state("welcome", JobState.CANCELLED, "", now=21.0)


def test_id_of_a_deleted_job_starts_from_nothing(ledger: Ledger):
    cancelled_with_leavings(ledger)
    ledger.jobs.delete("welcome", now=30.0)
    with pytest.raises(NotFound):
        ledger.jobs.get("welcome")

    ledger.jobs.register(replace(JOB, digest="sha256:2"), now=31.0)

    assert ledger.jobs.totals("welcome").settled == 0
    assert list(ledger.receipts.stream("welcome")) == []
    assert ledger.jobs.rejects("welcome") == []
    assert ledger.jobs.overdue("welcome", before=99.0, limit=9) == []


def test_jobs_are_found_by_the_folder_of_their_chunks(ledger: Ledger):
    for job_id, folder in (("a", "0-ab_1"), ("b", "0-ab_1"), ("c", "0-abx1")):
        ledger.jobs.register(replace(JOB, id=job_id, store=f"/store/a/{folder}"), now=10.0)

    assert [job.id for job in ledger.jobs.list(staging="0-ab_1")] == ["b", "a"]
    assert ledger.jobs.list(staging="ab_1") == []


def test_deletion_leaves_only_the_audit(ledger: Ledger):
    ledger.jobs.register(replace(JOB, id="other"), now=10.0)
    settle(ledger, replace(JOB, id="other"))
    cancelled_with_leavings(ledger)

    ledger.jobs.delete("welcome", now=30.0, who="ann")

    rows = ledger.database.read(
        lambda c: {
            name: c.exec_driver_sql(f"SELECT count(*) FROM {name}").scalar()
            for name in ("jobs", "feeds", "receipts", "rejects")
        }
    )
    assert rows == {"jobs": 1, "feeds": 0, "receipts": 3, "rejects": 0}
    newest = ledger.jobs.audit("welcome")[0]
    assert (newest.who, newest.what, newest.old) == ("ann", "deleted", "cancelled")
