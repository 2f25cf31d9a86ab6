import json

from hypothesis import given, settings
from hypothesis import strategies as st

from injector.control.report import report_lines
from tests.bench import bench_of


def outcomes_of(bench):
    text = b"".join(report_lines(bench.ledger, bench.state)).decode()
    return [json.loads(line) for line in text.splitlines()]


CODES = ["", "UNAVAILABLE", "INVALID_ARGUMENT"]


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 350),
    st.sets(st.integers(0, 3)),
    st.sets(st.integers(0, 349)),
    st.lists(st.sampled_from(CODES), min_size=1, max_size=5),
)
def test_a_report_has_every_record_once_and_agrees_with_the_totals(records, delivered, bad, codes):
    bench = bench_of(records, bad=bad)
    bench.creator.fault = lambda create: codes[int(create.url.rsplit("/", 1)[1]) % len(codes)]
    for chunk in delivered & set(range(len(bench.chunks))):
        bench.deliver(chunk)
    lines = outcomes_of(bench)
    bench.ledger.close()
    assert [line["ordinal"] for line in lines] == list(range(records))
    ends = [line["outcome"] for line in lines]
    assert ends.count("created") == sum(
        1
        for n in range(records)
        if n // 100 in delivered and n not in bad and codes[n % len(codes)] == ""
    )
    for line in lines:
        if line["outcome"] == "rejected":
            assert (line["line"], bool(line["reason"])) == (line["ordinal"] + 1, True)


def test_tasks_that_were_there_before_are_reported_as_such():
    first, again = bench_of(3), bench_of(3)
    first.deliver(0)
    again.creator.queues = first.creator.queues
    again.deliver(0)
    assert {line["outcome"] for line in outcomes_of(again)} == {"existed"}
    first.ledger.close()
    again.ledger.close()
