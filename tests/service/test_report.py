import json

from hypothesis import given, settings
from hypothesis import strategies as st

from injector.control.report import Span, report_lines
from tests.bench import bench_of


def outcomes_of(bench, *, first=0, past=None, every=True):
    opened = bench.open_job(bench.state)
    span = Span(first, len(bench.chunks) if past is None else past, every=every)
    read, name = opened.read, opened.renderer.name
    text = b"".join(report_lines(bench.ledger, bench.state, span, read=read, name=name)).decode()
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
    exceptions = outcomes_of(bench, every=False)
    parts = [outcomes_of(bench, first=n, past=n + 1) for n in range(len(bench.chunks))]
    created = {f"{create.queue}/tasks/{create.task_id}" for create in bench.creator.asked}
    bench.ledger.close()
    assert exceptions == [line for line in lines if line["outcome"] != "created"]
    assert [line for part in parts for line in part] == lines
    assert {line["task"] for line in lines if line["outcome"] == "created"} <= created
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
