from collections.abc import Iterator
from dataclasses import replace
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from injector.delivery.ports import Outcome
from injector.errors import Rejected
from injector.ledger import Ledger
from injector.ledger.lookup import find
from injector.ledger.ports import NewJob, Receipt, Reject, Selection, Totals
from injector.ledger.shards import SHARDS
from injector.ledger.tables import receipts

FULL = (1 << 100) - 1
names = count()


def register(ledger: Ledger, *, chunks: int = 4) -> str:
    job = f"job-{next(names)}"
    ledger.jobs.register(
        NewJob(job, "mail", "{}", "file:///c", 100 * chunks, chunks, "sha256:1"), now=1.0
    )
    return job


def rejects_of(mask: int, *, chunk: int = 0, reason: str = "bad") -> tuple[Reject, ...]:
    return tuple(
        Reject(position, 100 * chunk + position, 100 * chunk + position + 1, reason)
        for position in range(100)
        if mask >> position & 1
    )


def test_chunk_without_a_receipt_has_none(ledger: Ledger):
    job = register(ledger)

    assert ledger.receipts.load(job, 0) is None


def test_receipt_is_kept_as_it_was_given(ledger: Ledger):
    job = register(ledger)
    receipt = Receipt(job, 1, 100, created_mask=0b0011, existed_mask=0b0100, rejected_mask=0b1000)

    ledger.receipts.merge(replace(receipt, rejects=rejects_of(0b1000)), now=2.0)

    assert ledger.receipts.load(job, 1) == receipt


def test_a_chunk_begins_with_its_job_and_with_what_is_kept(ledger: Ledger):
    job = register(ledger)
    receipt = Receipt(job, 1, 100, created_mask=0b0011, existed_mask=0b0100)
    ledger.receipts.merge(receipt, now=2.0)

    assert ledger.receipts.begin(job, 1) == (ledger.jobs.get(job), receipt)
    assert ledger.receipts.begin(job, 0) == (ledger.jobs.get(job), None)
    assert ledger.receipts.begin(job, 2**64 - 1) == (ledger.jobs.get(job), None)


@pytest.mark.parametrize("records", [1, 7, 8, 9, 39, 100])
def test_masks_of_any_length_come_back(ledger: Ledger, records: int):
    job = register(ledger)
    last = 1 << (records - 1)
    everything = (1 << records) - 1
    receipt = Receipt(job, 0, records, everything & ~last, existed_mask=last)

    ledger.receipts.merge(receipt, now=2.0)

    assert ledger.receipts.load(job, 0) == receipt
    assert receipt.settled


def test_redelivered_receipt_changes_no_total(ledger: Ledger):
    job = register(ledger)
    receipt = Receipt(job, 0, 100, created_mask=FULL)

    for _ in range(3):
        ledger.receipts.merge(receipt, now=2.0)

    assert ledger.jobs.totals(job) == Totals(created=100, chunks_settled=1)


def test_second_delivery_adds_only_what_the_first_left_open(ledger: Ledger):
    job = register(ledger)
    ledger.receipts.merge(Receipt(job, 0, 100, created_mask=0b0111), now=2.0)

    whole = ledger.receipts.merge(Receipt(job, 0, 100, existed_mask=FULL), now=3.0)

    assert (whole.created_mask, whole.existed_mask) == (0b0111, FULL & ~0b0111)
    assert ledger.jobs.totals(job) == Totals(created=3, existed=97, chunks_settled=1)


def test_settled_record_keeps_its_outcome_whatever_is_claimed_later(ledger: Ledger):
    job = register(ledger)
    first = Receipt(job, 0, 100, 0b001, 0b010, 0b100)
    ledger.receipts.merge(replace(first, rejects=rejects_of(0b100, reason="first")), now=2.0)

    claims = Receipt(job, 0, 100, 0b110, 0b101, 0b011, rejects=rejects_of(0b011, reason="later"))
    ledger.receipts.merge(claims, now=3.0)

    assert ledger.receipts.load(job, 0) == first
    assert [reject.reason for reject in ledger.jobs.rejects(job)] == ["first"]


def test_receipt_that_settles_nothing_leaves_no_row(ledger: Ledger):
    job = register(ledger)

    returned = ledger.receipts.merge(Receipt(job, 0, 100), now=2.0)

    assert returned == Receipt(job, 0, 100)
    assert ledger.receipts.load(job, 0) is None


def test_receipt_that_settles_nothing_returns_what_is_kept(ledger: Ledger):
    job = register(ledger)
    kept = ledger.receipts.merge(Receipt(job, 0, 100, created_mask=5), now=2.0)

    assert ledger.receipts.merge(Receipt(job, 0, 100), now=3.0) == kept


def test_receipt_of_another_size_is_refused(ledger: Ledger):
    job = register(ledger)
    ledger.receipts.merge(Receipt(job, 0, 100, created_mask=1), now=2.0)

    with pytest.raises(Rejected, match="a receipt of 99 records, the one before had 100"):
        ledger.receipts.merge(Receipt(job, 0, 99, created_mask=2), now=3.0)

    assert ledger.jobs.totals(job) == Totals(created=1)


@pytest.mark.parametrize("chunk", [-1, 4])
def test_receipt_of_a_chunk_that_the_job_does_not_have_is_refused(ledger: Ledger, chunk: int):
    job = register(ledger, chunks=4)

    with pytest.raises(Rejected, match="has 4 chunks"):
        ledger.receipts.merge(Receipt(job, chunk, 100, created_mask=FULL), now=2.0)


def test_bits_beyond_the_chunk_count_for_nothing(ledger: Ledger):
    job = register(ledger)

    ledger.receipts.merge(Receipt(job, 0, 3, created_mask=FULL), now=2.0)

    assert ledger.jobs.totals(job) == Totals(created=3, chunks_settled=1)


def test_record_that_is_claimed_twice_in_one_receipt_counts_once(ledger: Ledger):
    job = register(ledger)

    ledger.receipts.merge(Receipt(job, 0, 100, 0b001, 0b011, 0b111, rejects_of(0b111)), now=2.0)

    assert ledger.jobs.totals(job) == Totals(created=1, existed=1, rejected=1)
    assert [reject.position for reject in ledger.jobs.rejects(job)] == [2]


def test_totals_add_up_over_more_chunks_than_there_are_shards(ledger: Ledger):
    chunks = SHARDS + 10
    job = register(ledger, chunks=chunks)
    for chunk in range(chunks):
        ledger.receipts.merge(Receipt(job, chunk, 100, 0b1111, FULL & ~0b1111), now=2.0)

    totals = ledger.jobs.totals(job)

    assert totals == Totals(4 * chunks, 96 * chunks, chunks_settled=chunks)


def test_rejects_are_listed_in_the_order_of_the_source(ledger: Ledger):
    job = register(ledger)
    for chunk in (2, 0, 1):
        mask = 1 << 5 | 1 << 2
        ledger.receipts.merge(
            Receipt(job, chunk, 100, rejected_mask=mask, rejects=rejects_of(mask, chunk=chunk)),
            now=2.0,
        )

    first = ledger.jobs.rejects(job, limit=4)
    rest = ledger.jobs.rejects(job, after=first[-1].ordinal, limit=4)

    assert [reject.ordinal for reject in first] == [2, 5, 102, 105]
    assert rest == [Reject(2, 202, 203, "bad"), Reject(5, 205, 206, "bad")]


def test_reason_that_a_database_cannot_keep_is_kept_readable(ledger: Ledger):
    job = register(ledger)
    reject = Reject(0, 0, 1, "nul \0 half \ud800 " + "x" * 5000, "ключ.csv")

    ledger.receipts.merge(Receipt(job, 0, 100, rejected_mask=1, rejects=(reject,)), now=2.0)

    (kept,) = ledger.jobs.rejects(job)
    assert kept.reason.startswith("nul \N{SYMBOL FOR NULL} half ? xxx")
    assert len(kept.reason) == 1000
    assert kept.file == "ключ.csv"


def test_ordinals_and_lines_are_counted_beyond_32_bits(ledger: Ledger):
    job = register(ledger)
    reject = Reject(0, 5_000_000_000, 5_000_000_001, "bad")

    ledger.receipts.merge(Receipt(job, 0, 100, rejected_mask=1, rejects=(reject,)), now=2.0)

    assert ledger.jobs.rejects(job) == [reject]


def test_counts_join_the_signals_of_the_group_and_minute(ledger: Ledger):
    job = register(ledger)
    receipt = Receipt(job, 0, 100, created_mask=FULL)

    ledger.receipts.merge(receipt, now=61.0, counts={"accepted": 100, "faults.UNAVAILABLE": 2})
    ledger.receipts.merge(replace(receipt, chunk=1), now=119.0, counts={"accepted": 50})

    (minute,) = ledger.signals.since("mail", 60.0)
    assert minute.at == 60.0
    assert minute.counts == {"accepted": 150, "faults.UNAVAILABLE": 2}


def test_counts_of_a_delivery_that_settled_nothing_are_kept(ledger: Ledger):
    job = register(ledger)

    ledger.receipts.merge(Receipt(job, 0, 100), now=61.0, counts={"faults.UNAVAILABLE": 100})

    assert ledger.signals.since("mail", 0.0)[0].counts == {"faults.UNAVAILABLE": 100}


def test_refused_receipt_leaves_nothing_behind(ledger: Ledger):
    job = register(ledger)
    ledger.receipts.merge(Receipt(job, 0, 100, created_mask=1), now=2.0)

    with pytest.raises(Rejected):
        ledger.receipts.merge(Receipt(job, 0, 50, created_mask=2), now=3.0, counts={"accepted": 1})

    assert ledger.signals.since("mail", 0.0) == []


def test_receipts_stream_in_chunk_order_over_several_pages(
    ledger: Ledger,
):
    job = register(ledger, chunks=2500)
    order = [(7 * chunk) % 2500 for chunk in range(0, 2500, 2)]
    fill(ledger, job, order)

    streamed = [receipt.chunk for receipt in ledger.receipts.stream(job)]

    assert streamed == sorted(order)
    assert [r.chunk for r in ledger.receipts.stream(job, first=2400)] == list(range(2400, 2500, 2))


def fill(ledger: Ledger, job: str, chunks: list[int]) -> None:
    """Settle many chunks at once, plainly, without their totals."""
    rows = [{"chunk": chunk} for chunk in chunks]
    key = ledger.database.read(lambda c: find(c, job)).key
    statement = receipts.insert().values(job=key, records=100, settled=True)
    ledger.database.write(lambda c: c.execute(statement, rows))


def test_records_are_selected_by_outcome(ledger: Ledger):
    job = register(ledger)
    ledger.receipts.merge(Receipt(job, 0, 100, created_mask=FULL), now=2.0)
    ledger.receipts.merge(Receipt(job, 1, 100, FULL & ~3, 1, 2, rejects_of(2, chunk=1)), now=2.0)
    ledger.receipts.merge(Receipt(job, 3, 100, existed_mask=FULL & ~8), now=2.0)

    selected = {outcome: list(ledger.receipts.select(job, outcome)) for outcome in Outcome}

    assert selected == {
        Outcome.CREATED: [Selection(0, FULL), Selection(1, FULL & ~3)],
        Outcome.EXISTED: [Selection(1, 1), Selection(3, FULL & ~8)],
        Outcome.REJECTED: [Selection(1, 2)],
        Outcome.NOT_TAKEN: [Selection(2, -1), Selection(3, 8)],
    }


def test_missing_chunks_are_found_among_many(ledger: Ledger):
    job = register(ledger, chunks=3000)
    lost = {0, 1, 1499, 2000, 2999}
    fill(ledger, job, [chunk for chunk in range(3000) if chunk not in lost])

    missing = list(ledger.receipts.select(job, Outcome.NOT_TAKEN))

    assert missing == [Selection(chunk, -1) for chunk in sorted(lost)]


def test_all_chunks_of_an_unfed_job_are_missing(ledger: Ledger):
    job = register(ledger, chunks=2500)

    missing = list(ledger.receipts.select(job, Outcome.NOT_TAKEN))

    assert missing == [Selection(chunk, -1) for chunk in range(2500)]


outcomes = st.sampled_from([Outcome.CREATED, Outcome.EXISTED, Outcome.REJECTED])
RECORDS = 12


@st.composite
def deliveries(
    draw: st.DrawFn,
) -> tuple[dict[tuple[int, int], Outcome], list[list[tuple[int, int]]]]:
    """What became of each record of three chunks, and the parts in which it was reported."""
    truth = {(chunk, position): draw(outcomes) for chunk in range(3) for position in range(RECORDS)}
    part = st.lists(st.sampled_from(sorted(truth)), max_size=3 * RECORDS)
    return truth, draw(st.lists(part, max_size=8))


def as_receipts(job: str, claims: list[tuple[tuple[int, int], Outcome]]) -> Iterator[Receipt]:
    for chunk in sorted({chunk for (chunk, _), _ in claims}):
        masks = dict.fromkeys(Outcome, 0)
        for (where, position), outcome in claims:
            masks[outcome] |= (where == chunk) << position
        rejected = masks[Outcome.REJECTED]
        yield Receipt(
            job,
            chunk,
            RECORDS,
            masks[Outcome.CREATED],
            masks[Outcome.EXISTED],
            rejected,
            rejects_of(rejected, chunk=chunk),
        )


def sum_of_receipts(ledger: Ledger, job: str) -> Totals:
    kept = list(ledger.receipts.stream(job))
    return Totals(
        sum(receipt.created_mask.bit_count() for receipt in kept),
        sum(receipt.existed_mask.bit_count() for receipt in kept),
        sum(receipt.rejected_mask.bit_count() for receipt in kept),
        sum(receipt.settled for receipt in kept),
    )


on_one_ledger = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@on_one_ledger
@given(deliveries(), st.data())
def test_totals_do_not_depend_on_order_or_repetition(ledger: Ledger, delivered, data):
    truth, parts = delivered
    shuffled = data.draw(
        st.permutations(parts + data.draw(st.lists(st.sampled_from(parts or [[]]))))
    )
    one, other = register(ledger), register(ledger)

    for job, order in ((one, parts), (other, shuffled)):
        for part in order:
            for receipt in as_receipts(job, [(record, truth[record]) for record in part]):
                ledger.receipts.merge(receipt, now=2.0)

    reported = {record: truth[record] for part in parts for record in part}
    totals = ledger.jobs.totals(other)
    assert totals == ledger.jobs.totals(one) == sum_of_receipts(ledger, other)
    assert totals.settled == len(reported)
    assert totals.created == sum(outcome is Outcome.CREATED for outcome in reported.values())
    assert len(ledger.jobs.rejects(other)) == totals.rejected


@on_one_ledger
@given(
    st.lists(
        st.lists(st.tuples(st.tuples(st.integers(0, 2), st.integers(0, RECORDS - 1)), outcomes))
    )
)
def test_totals_are_the_sum_of_receipts_and_first_outcomes_stand(ledger: Ledger, claims):
    job = register(ledger)
    first: dict[tuple[int, int], Outcome] = {}
    for part in claims:
        settled_at_once = dict(reversed(part))
        for receipt in as_receipts(job, list(settled_at_once.items())):
            ledger.receipts.merge(receipt, now=2.0)
        first = settled_at_once | first

    totals = ledger.jobs.totals(job)

    assert totals == sum_of_receipts(ledger, job)
    assert totals.settled == len(first)
    assert [totals.created, totals.existed, totals.rejected] == [
        sum(outcome is each for outcome in first.values())
        for each in (Outcome.CREATED, Outcome.EXISTED, Outcome.REJECTED)
    ]
    assert len(ledger.jobs.rejects(job)) == totals.rejected
