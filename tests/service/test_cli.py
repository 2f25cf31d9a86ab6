"""The command line: what is shown, and how it ends."""

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import fsspec
import pytest
import responses
from pyarrow import parquet

from injector.cli.main import COMMANDS, run

URL = "http://127.0.0.1:8080"
QUEUES = "projects/p/locations/l/queues"
GROUPS = f"""\
groups:
  welcome:
    injector_queues: {QUEUES}/injector-[0-1]
    queues: {QUEUES}/welcome-[00-09]
"""
MANIFEST = """\
job: welcome
group: welcome
records: users.csv
identity: {field: user_id}
task:
  http:
    url: https://worker.example/users/{user_id}
    headers: {X-Campaign: welcome}
"""
JOB = {
    "id": "welcome",
    "group": "welcome",
    "state": "running",
    "reason": "",
    "records": 1000,
    "chunks": 10,
    "created": 600,
    "existed": 10,
    "rejected": 5,
    "rejects_allowed": 10,
    "digest": "d" * 64,
    "settled": 615,
    "fed": 8,
    "rate_now": 480.0123,
    "rate_allowed": 500.0,
    "eta_s": 75.0,
    "started_at": 1_800_000_000.0,
    "finished_at": None,
    "ramp": {"dangers": []},
}
FINISHED = {**JOB, "state": "finished", "created": 985, "finished_at": 1_800_000_060.0}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder with a manifest of 250 records, two of them bad, and its group."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("INJECTOR_")]:
        monkeypatch.delenv(name)
    rows = [f"{n},Name {n}" for n in range(248)] + [",no id", '"",no id either']
    (tmp_path / "users.csv").write_text("\n".join(["user_id,name", *rows]) + "\n")
    (tmp_path / "m.yaml").write_text(MANIFEST)
    (tmp_path / "g.yaml").write_text(GROUPS)
    return tmp_path


@pytest.fixture
def web():
    with responses.RequestsMock() as web:
        yield web


def read(capsys):
    return json.loads(capsys.readouterr().out)


def test_help_lists_every_command_without_loading_any(capsys):
    program = (
        "import sys; from injector.cli.main import run; run(['--help']);"
        "print({'pydantic', 'rich', 'requests', 'ruamel.yaml', 'grpc'} & set(sys.modules))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert all(name in shown for name in COMMANDS)
    assert shown.endswith("set()\n")


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_help_with_an_example(name, capsys):
    assert run([name, "--help"]) == 0
    assert "Example: injector" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["sumbit"], "did you mean 'submit'?"),
        (["--frobnicate"], "No such option"),
        (["plan"], "Missing argument"),
        (["plan", "nowhere.yaml"], "nowhere.yaml: there is no such file; check the path"),
        (["plan", "."], "is a directory"),
        (["plan", "m.yaml", "--groups", "nowhere.yaml"], "nowhere.yaml: cannot be read"),
        (["plan", "m.yaml", "--target-latency", "0"], "Invalid value"),
        (["plan", "m.yaml", "--records", "nowhere.csv"], "there is no such file"),
        (["plan", "m.yaml", "--encoding", "klingon"], "encoding 'klingon' is not known"),
        (["submit", "m.yaml"], "add --yes"),
        (["status", "../secret"], "is not a job's id"),
        (["jobs", "--state", "odd"], "Invalid value"),
    ],
)
def test_wrong_use_exits_with_2_and_says_what_is_wrong(arguments, words, capsys):
    assert run(arguments) == 2
    shown = capsys.readouterr()
    assert words in shown.err.replace("\n", " ")
    assert "Traceback" not in shown.err
    assert shown.out == ""


def test_wrong_manifest_is_told_with_its_place(folder, capsys):
    (folder / "m.yaml").write_text(MANIFEST + "max_dispaches: 5\n")
    assert run(["plan", "m.yaml"]) == 2
    assert "m.yaml:9:1: unknown key 'max_dispaches'" in capsys.readouterr().err


def test_wrong_setting_is_told(monkeypatch, capsys):
    monkeypatch.setenv("INJECTOR_SERVICE_URL", "nonsense")
    assert run(["jobs"]) == 2
    assert "INJECTOR_SERVICE_URL='nonsense'" in capsys.readouterr().err


def test_fault_of_the_product_itself_is_one_line_and_no_traceback(monkeypatch, capsys):
    monkeypatch.setitem(COMMANDS, "crash", "")
    sys.modules["injector.cli.crash"] = None
    try:
        assert run(["crash"]) == 1
    finally:
        del sys.modules["injector.cli.crash"]
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1
    assert "a fault of injector itself, please report it" in shown


def test_plan_shows_figures_ramp_rejects_and_requests(capsys):
    assert run(["plan", "m.yaml", "--groups", "g.yaml"]) == 0
    shown = capsys.readouterr().out
    assert "250, 2 of them rejected (2 allowed)" in shown
    assert "3 injector tasks of up to 100 records" in shown
    assert re.search(r"0 +5 +500 +0", shown)
    assert re.search(r"250 +needs a value in 'user_id'", shown)
    assert shown.count("POST https://worker.example/users/") == 3
    assert "X-Campaign: welcome" in shown
    assert f"as {QUEUES}/welcome-0" in shown
    assert "USD" in shown


def test_plan_writes_nothing(folder):
    before = sorted(folder.rglob("*"))
    run(["plan", "m.yaml", "--groups", "g.yaml"])
    assert sorted(folder.rglob("*")) == before


def test_plan_as_json_has_every_figure(capsys):
    assert run(["plan", "m.yaml", "--groups", "g.yaml", "--json"]) == 0
    plan = read(capsys)
    assert (plan["records"], plan["rejected"], plan["rejects_allowed"]) == (250, 2, 2)
    assert (plan["chunks"], plan["queues"], plan["queues_needed"]) == (3, 10, 1)
    assert plan["operations"] == 2 * (248 + 3)
    assert [bad["line"] for bad in plan["rejects"]] == [250, 251]
    assert plan["samples"][0]["url"] == "https://worker.example/users/0"
    assert plan["samples"][0]["headers"]["Content-Type"] == "application/json"
    assert plan["steps"][0]["create_rate"] == 500
    assert plan["warnings"] == []


def test_plan_of_an_unknown_group_goes_by_the_usual_curve_and_says_so(capsys):
    assert run(["plan", "m.yaml"]) == 0
    assert "group 'welcome' is taken for a cold one on 500/50/5" in capsys.readouterr().err


def test_plan_refuses_a_group_that_the_configuration_lacks(folder, capsys):
    (folder / "m.yaml").write_text(MANIFEST.replace("group: welcome", "group: other"))
    assert run(["plan", "m.yaml", "--groups", "g.yaml"]) == 2
    assert "group 'other' is not configured; configured: welcome" in capsys.readouterr().err


def test_more_rejects_than_allowed_exit_with_1(folder, capsys):
    (folder / "m.yaml").write_text(MANIFEST + "stop_when_rejected: 0\n")
    assert run(["plan", "m.yaml", "--groups", "g.yaml"]) == 1
    assert "2 records are rejected, and stop_when_rejected: 0 allows 0" in capsys.readouterr().err


def test_first_bad_record_ends_the_reading_when_asked(capsys):
    assert run(["plan", "m.yaml", "--on-error", "stop"]) == 2
    assert "users.csv line 250: needs a value in 'user_id'" in capsys.readouterr().err


def test_no_records_are_an_error_unless_allowed(folder, capsys):
    (folder / "users.csv").write_text("user_id,name\n")
    assert run(["plan", "m.yaml"]) == 2
    assert "0 records" in capsys.readouterr().err
    assert run(["plan", "m.yaml", "--allow-empty", "--json"]) == 0
    assert read(capsys)["records"] == 0


def test_plan_names_the_queues_that_a_fast_job_needs(folder, capsys):
    fast = "    ramp: {initial_rate: 200, unsafe: true}\n"
    (folder / "g.yaml").write_text(GROUPS + fast)
    run(["plan", "m.yaml", "--groups", "g.yaml", "--target-latency", "3", "--json"])
    plan = read(capsys)
    assert plan["queues_needed"] == 40
    unsafe, queues, latency = plan["warnings"]
    assert "initial_rate 200/s is over 5/s" in unsafe
    assert "20,000 tasks/s need at least 40 queues" in queues
    assert "set max_concurrent_dispatches to" not in queues
    assert "500 tasks/s of 3 s each are 1,500 at once" in latency


def test_records_are_found_beside_the_manifest(folder, monkeypatch, capsys):
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    assert run(["plan", "../m.yaml", "--json"]) == 0
    assert read(capsys)["records"] == 250


GROUP = {
    "name": "welcome",
    "injector_queues": [f"{QUEUES}/injector-0"],
    "queues": 10,
    "topic": None,
    "ramp": {"initial_rate": 200.0, "growth": 1.5, "interval_s": 300.0, "max_rate": 500.0}
    | {"warm_rate": None, "unsafe": True, "dangers": ["initial_rate 200/s is over 5/s"]},
}


QUEUE = {"name": f"{QUEUES}/welcome-00", "state": "RUNNING", "rate": 500.0, "concurrency": 1000}
QUEUE |= {"problem": ""}
MISSING = {**QUEUE, "state": "", "problem": f"GetQueue {QUEUES}/welcome-00: it does not exist"}


@pytest.fixture
def known(web):
    """A service that knows the group, and its queues."""
    web.get(f"{URL}/groups/welcome", json=GROUP)
    web.get(f"{URL}/groups/welcome/queues", json={"queues": [QUEUE]})
    return web


def test_plan_asks_the_service_for_a_group_that_is_not_configured_here(known, capsys):
    assert run(["plan", "m.yaml", "--service", URL, "--json"]) == 0
    plan = read(capsys)
    assert (plan["queues"], plan["peak_create_rate"]) == (10, 20_000)
    assert "initial_rate 200/s is over 5/s" in plan["warnings"][0]


def test_submit_of_a_group_that_the_service_lacks_reads_no_record(web, folder, capsys):
    web.get(f"{URL}/groups/welcome", status=404, json={"detail": "there is no group 'welcome'"})
    (folder / "users.csv").unlink()
    assert run(["submit", "m.yaml", "--yes"]) == 2
    assert "there is no group 'welcome'" in capsys.readouterr().err


def test_submit_with_a_queue_that_is_missing_names_it_and_reads_no_record(web, folder, capsys):
    web.get(f"{URL}/groups/welcome", json=GROUP)
    web.get(f"{URL}/groups/welcome/queues", json={"queues": [QUEUE, MISSING]})
    (folder / "users.csv").unlink()
    assert run(["submit", "m.yaml", "--yes"]) == 2
    assert MISSING["problem"] in capsys.readouterr().err


def test_plan_warns_of_a_queue_that_is_missing(web, capsys):
    web.get(f"{URL}/groups/welcome", json=GROUP)
    web.get(f"{URL}/groups/welcome/queues", json={"queues": [QUEUE, MISSING]})
    assert run(["plan", "m.yaml", "--service", URL, "--json"]) == 0
    assert MISSING["problem"] in read(capsys)["warnings"]


def test_submit_registers_what_was_staged(known, capsys):
    web = known
    web.post(f"{URL}/jobs", status=201, json=JOB)
    assert run(["submit", "m.yaml", "--yes"]) == 0
    sent = json.loads(web.calls[2].request.body)
    assert sent["manifest"]["job"] == "welcome"
    assert (sent["staged"]["records"], sent["staged"]["chunks"], sent["staged"]["rejected"]) == (
        250,
        3,
        2,
    )
    assert sent["staged"].keys() == {"store", "records", "chunks", "rejected", "digest"}
    assert Path(sent["staged"]["store"].removeprefix("file://")).is_absolute()
    assert "welcome registered: 250 records, 2 of them rejected" in capsys.readouterr().out


def test_same_job_again_is_nothing_new_and_no_error(known, capsys):
    known.post(f"{URL}/jobs", status=200, json=JOB)
    assert run(["submit", "m.yaml", "--yes"]) == 0
    assert "is registered already; nothing new" in capsys.readouterr().out


def test_same_id_with_other_content_exits_with_2(known, capsys):
    known.post(f"{URL}/jobs", status=409, json={"detail": "job welcome has other content"})
    assert run(["submit", "m.yaml", "--yes"]) == 2
    assert "job welcome has other content" in capsys.readouterr().err


def test_too_many_rejects_register_nothing(folder, known, capsys):
    (folder / "m.yaml").write_text(MANIFEST + "stop_when_rejected: 1\n")
    assert run(["submit", "m.yaml", "--yes"]) == 1
    said = capsys.readouterr().err.replace("\n", " ")
    assert "nothing is registered; " in said
    assert "Mend the records, or allow more in the manifest, such as stop_when_rejected: " in said


def test_dry_run_is_the_plan_and_asks_no_service(capsys):
    assert run(["submit", "m.yaml", "--dry-run", "--json"]) == 0
    assert read(capsys)["records"] == 250


def test_service_elsewhere_needs_a_store_that_it_can_read(capsys):
    assert run(["submit", "m.yaml", "--yes", "--service", "https://injector.example"]) == 2
    assert "set --store or INJECTOR_STORE_URL to a bucket" in capsys.readouterr().err


def test_submit_may_follow_the_job_to_its_end(known, capsys):
    known.post(f"{URL}/jobs", status=201, json=JOB)
    known.get(f"{URL}/jobs/welcome", json=FINISHED)
    assert run(["submit", "m.yaml", "--yes", "--watch"]) == 0
    assert "welcome finished 1000/1000 records" in capsys.readouterr().out


def test_status_shows_counts_and_rates(web, capsys):
    web.get(f"{URL}/jobs/welcome", json=JOB)
    assert run(["status", "welcome"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"state +running", shown)
    assert re.search(r"open +385", shown)
    assert "480 of 500 creates/s" in shown
    assert "1 min 15 s" in shown
    assert "\x1b" not in shown


def test_status_as_json_is_what_the_service_says(web, capsys):
    web.get(f"{URL}/jobs/welcome", json=JOB)
    assert run(["status", "welcome", "--json"]) == 0
    assert read(capsys) == JOB


def test_status_names_an_unsafe_ramp(web, capsys):
    web.get(f"{URL}/jobs/welcome", json={**JOB, "ramp": {"dangers": ["growth 2 each 60 s"]}})
    run(["status", "welcome"])
    assert "the ramp of group welcome is unsafe: growth 2 each 60 s" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"state": "running"}, 0),
        ({"state": "finished"}, 0),
        ({"state": "finished", "created": 979, "rejected": 11}, 1),
        ({"state": "paused"}, 0),
        ({"state": "paused", "reason": "50 of 250 records are rejected"}, 1),
        ({"state": "failed", "reason": "the chunks are gone"}, 1),
        ({"state": "cancelled"}, 1),
    ],
)
@pytest.mark.parametrize("command", ["status", "report"])
def test_exit_code_tells_a_job_that_went_wrong(web, command, changes, code):
    job = {**FINISHED, **changes}
    web.get(f"{URL}/jobs/welcome", json=job)
    web.get(f"{URL}/jobs/welcome/summary", json=summary_of(job))
    web.get(f"{URL}/jobs/welcome/rejects", json={"rejects": [], "next": None})
    web.assert_all_requests_are_fired = False
    assert run([command, "welcome"]) == code


def test_unknown_job_exits_with_2(web, capsys):
    web.get(f"{URL}/jobs/nothing", status=404, json={"detail": "there is no job nothing"})
    assert run(["status", "nothing"]) == 2
    assert "there is no job nothing" in capsys.readouterr().err


def test_caller_that_is_not_let_in_exits_with_1_and_learns_the_remedy(web, capsys):
    web.get(f"{URL}/jobs/welcome", status=403, json={"detail": "not among people"})
    assert run(["status", "welcome"]) == 1
    assert "set INJECTOR_TOKEN" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["watch", "welcome"], ["watch", "welcome", "--json"]])
def test_watch_ends_when_the_job_has_stopped_itself(web, capsys, arguments):
    stopped = {**JOB, "state": "paused", "reason": "too many rejects"}
    web.get(f"{URL}/jobs/welcome", json=stopped)
    assert run(arguments) == 1
    assert "paused" in capsys.readouterr().out


def test_jobs_are_listed(web, capsys):
    web.get(f"{URL}/jobs", json={"jobs": [JOB, {**FINISHED, "id": "other"}], "next": None})
    assert run(["jobs"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"welcome +welcome +running +1,000 +615 +5", shown)
    assert "other" in shown


def test_jobs_as_json_are_one_in_each_line(web, capsys):
    web.get(f"{URL}/jobs", json={"jobs": [JOB, FINISHED], "next": None})
    run(["jobs", "--json", "--state", "running"])
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == [JOB, FINISHED]
    assert "state=running" in web.calls[0].request.url


def summary_of(job):
    return {"job": job, "took_s": 60.0, "operations": 2000, "cost_usd": 0.0, "ramp_history": []}


REJECT = {"position": 1, "ordinal": 1, "line": 3, "reason": "needs a value in '[id]'", "file": ""}


TURN = {"at": 1_800_000_000.0, "action": "raise", "rate": 7.5, "concurrency": 9}
TURN |= {"reason": "all is well", "evidence_json": ""}


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
    assert "6 rows to r.jsonl" in capsys.readouterr().out
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


def test_schema_is_json(capsys):
    assert run(["schema"]) == 0
    assert read(capsys)["title"] == "Injector manifest"


def start(arguments, environment=()):
    command = [sys.executable, "-m", "injector", *arguments]
    env = {**os.environ, **dict(environment)}
    return subprocess.Popen(
        command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def test_reader_that_goes_away_gets_no_complaint():
    schema = start(["schema"])
    schema.stdout.close()
    assert schema.stderr.read() == b""
    schema.stderr.close()
    schema.stdin.close()
    schema.wait(timeout=30)


@pytest.mark.parametrize("locale", ["C", "POSIX", "en_US.ISO-8859-1"])
def test_output_survives_any_locale(folder, locale):
    (folder / "users.csv").write_text("user_id,name\n名前,☃\n", encoding="utf-8")
    plan = start(["plan", "m.yaml"], {"LC_ALL": locale, "PYTHONIOENCODING": "ascii"})
    out, said = plan.communicate(timeout=30)
    assert plan.returncode == 0
    assert b"Traceback" not in said
    assert b"%E5%90%8D%E5%89%8D" in out
