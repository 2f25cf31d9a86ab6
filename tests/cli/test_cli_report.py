"""`injector report`: every record accounted for, on the screen or in a file."""

import csv
import json
import re

import fsspec
import pytest
from pyarrow import parquet

from injector.cli.main import run
from tests.cli_samples import FINISHED, URL, read, summary_of

REJECT = {"position": 1, "ordinal": 1, "line": 3, "reason": "needs a value in '[id]'", "file": ""}
TURN = {"at": 1_800_000_000.0, "action": "raise", "rate": 7.5, "concurrency": 9}
TURN |= {"reason": "all is well", "evidence": {}}


def test_report_adds_up_and_lists_rejects_as_they_are(web, capsys):
    web.get(f"{URL}/jobs/welcome", json=FINISHED)
    web.get(f"{URL}/jobs/welcome/summary", json=summary_of(FINISHED) | {"ramp_history": [TURN]})
    web.get(f"{URL}/jobs/welcome/rejects", json={"rejects": [REJECT], "next": None})
    assert run(["report", "welcome"]) == 0
    shown = capsys.readouterr().out
    assert "985 + 10 + 5 + 0 open = 1,000: adds up" in shown
    assert "needs a value in '[id]'" in shown
    assert re.search(r"took +1 min 0 s", shown)
    assert "2,000, about USD 0.00" in shown
    assert re.search(r"raise +7.5 +all is well", shown)


def test_report_that_does_not_add_up_exits_with_1(web, capsys):
    odd = {**FINISHED, "created": 984, "rejected": 0}
    web.get(f"{URL}/jobs/welcome", json=odd)
    web.get(f"{URL}/jobs/welcome/summary", json=summary_of(odd))
    assert run(["report", "welcome"]) == 1
    assert "does NOT add up" in capsys.readouterr().out


def test_report_prints_every_reject_as_a_line(web, capsys):
    web.get(f"{URL}/jobs/welcome", json=FINISHED)
    web.get(f"{URL}/jobs/welcome/rejects", json={"rejects": [REJECT] * 2, "next": None})
    assert run(["report", "welcome", "--rejects"]) == 0
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == [REJECT] * 2


ROWS = [
    {"ordinal": n, "file": "", "line": n + 2, "message_id": "", **rest}
    for n, rest in (
        (0, {"outcome": "existed", "task": "q/tasks/a", "reason": ""}),
        (7, {"outcome": "rejected", "task": "", "reason": 'a, "b"'}),
    )
]
LINES = b"".join(json.dumps(row).encode() + b"\n" for row in ROWS)


@pytest.fixture
def reported(web):
    """A job of 1,200 chunks, of which each part asked for has the same two rows."""
    big = {**FINISHED, "chunks": 1200}
    web.get(f"{URL}/jobs/welcome", json=big)
    web.get(f"{URL}/jobs/welcome/report", body=LINES)
    web.get(f"{URL}/jobs/welcome/summary", json=summary_of(big))
    web.get(f"{URL}/jobs/welcome/rejects", json={"rejects": [], "next": None})
    web.assert_all_requests_are_fired = False
    return web


def asked_for(web):
    return [call.request.params for call in web.calls if "/report" in call.request.url]


def test_report_prints_every_record_in_parts(reported, capfdbinary):
    assert run(["report", "welcome", "--all"]) == 0
    assert capfdbinary.readouterr().out == LINES * 3
    assert [query["first"] for query in asked_for(reported)] == ["0", "500", "1000"]
    assert {query["all"] for query in asked_for(reported)} == {"true"}


def test_report_writes_exceptions_as_json_lines(reported, folder, capsys):
    assert run(["report", "welcome", "--out", "r.jsonl"]) == 0
    assert (folder / "r.jsonl").read_bytes() == LINES * 3
    assert capsys.readouterr().out == "welcome: 6 rows written to r.jsonl\n"
    assert {query["all"] for query in asked_for(reported)} == {"false"}


def test_report_writes_csv(reported, folder):
    assert run(["report", "welcome", "--out", "r.csv"]) == 0
    with (folder / "r.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert rows == [{key: str(value) for key, value in row.items()} for row in ROWS] * 3


def test_report_writes_parquet(reported, folder):
    assert run(["report", "welcome", "--all", "--out", "r.parquet"]) == 0
    assert parquet.read_table(folder / "r.parquet").to_pylist() == ROWS * 3


def test_report_goes_to_any_store_that_fsspec_knows(reported):
    assert run(["report", "welcome", "--out", "memory://reports/r.txt", "--format", "jsonl"]) == 0
    with fsspec.open("memory://reports/r.txt", "rb") as stream:
        assert stream.read() == LINES * 3


@pytest.mark.parametrize(
    ("out", "words"),
    [("r.txt", "name it .jsonl, .csv or .parquet"), ("no/r.csv", "no/r.csv: cannot be written")],
)
def test_report_that_cannot_be_written_exits_with_2(reported, capsys, out, words):
    assert run(["report", "welcome", "--out", out]) == 2
    assert words in capsys.readouterr().err


def test_report_as_json_is_the_summary(web, capsys):
    web.get(f"{URL}/jobs/welcome", json=FINISHED)
    web.get(f"{URL}/jobs/welcome/summary", json=summary_of(FINISHED))
    assert run(["report", "welcome", "--json"]) == 0
    assert read(capsys) == summary_of(FINISHED)
