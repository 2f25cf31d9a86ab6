"""The command line as a whole: plans, the state of jobs, and how it ends."""

import json
import os
import re
import subprocess
import sys

import pytest

from injector.cli.main import COMMANDS, run
from injector.cli.reading import Reading
from injector.errors import NotFound
from tests.cli_samples import FINISHED, GROUPS, JOB, MANIFEST, QUEUES, URL, read, summary_of
from tests.waiting import PATIENCE_S


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
        (
            ["plan", "m.yaml", "--target-latency", "0"],
            "'0' will not do; give a time in seconds above 0, up to 1800, or such as 2s",
        ),
        (
            ["group", "ramp", "plan", "welcome", "--to", "nan"],
            "Invalid value for '--to': 'nan' will not do; give a number above 0",
        ),
        (["set", "welcome", "--weight", "x"], "'x' will not do; give a number from 0.01 to 1000"),
        (["set", "welcome", "--priority", "101"], "give a whole number from -100 to 100"),
        (["audit", "welcome", "--limit", "0"], "'0' will not do; give a whole number of 1 or more"),
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


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("users.csv", "user_id,name\n1,a\n\n2,b\n \n\n", 3),
        ("users.jsonl", '{"user_id": 1}\n\n{"user_id": 2}\n  \n\n', 3),
        ("users.csv", "user_id,name\n1,a\n", 0),
        ("users.jsonl", '{"user_id": 1}\n', 0),
    ],
)
def test_plan_tells_of_empty_lines_where_there_are_some(folder, capsys, name, text, lines):
    (folder / name).write_text(text)
    plan = ["plan", "m.yaml", "--groups", "g.yaml", "--records", name]
    run(plan)
    shown = capsys.readouterr().out
    assert re.findall(r"empty lines +(\d+), passed over", shown) == ([str(lines)] if lines else [])
    run([*plan, "--json"])
    assert read(capsys)["blank"] == lines


def test_missing_records_are_told_with_the_line_that_names_them(folder, capsys):
    (folder / "m.yaml").write_text(MANIFEST.replace("users.csv", "userz.csv"))
    assert run(["plan", "m.yaml"]) == 2
    said = capsys.readouterr().err
    assert "m.yaml:3:1: records: userz.csv: there is no such file; a path starts at" in said
    assert run(["plan", "m.yaml", "--records", "nowhere.csv"]) == 2
    assert "m.yaml" not in capsys.readouterr().err


def test_what_else_is_missing_is_not_taken_for_the_records_whatever_its_name(folder):
    (folder / "m.yaml").write_text(MANIFEST)
    reading = Reading(None, None, "skip", allow_empty=False, groups_file=None, latency_s=None)
    other = NotFound("users.csv-chunks: holds no finished staging")
    with pytest.raises(NotFound) as raised, reading.placed(folder / "m.yaml"):
        raise other
    assert raised.value is other


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
    assert re.search(r"users.csv:250 +248 +needs a value in 'user_id'", shown)
    assert "repeated" not in shown
    assert shown.count("POST https://worker.example/users/") == 3
    assert "X-Campaign: welcome" in shown
    assert f"as {QUEUES}/welcome-0" in shown
    assert "USD" in shown


def test_plan_tells_of_records_whose_identity_came_before(folder, capsys):
    with (folder / "users.csv").open("a") as users:
        users.write("7,Again\n7,And again\n\n8,Too\n")
    assert run(["plan", "m.yaml", "--groups", "g.yaml"]) == 0
    assert re.search(r"repeated +3: their identity came before; existed", capsys.readouterr().out)
    run(["plan", "m.yaml", "--groups", "g.yaml", "--json"])
    plan = read(capsys)
    assert (plan["records"], plan["repeated"], plan["compared"]) == (253, 3, 251)


def test_plan_by_index_has_no_record_twice(folder, capsys):
    (folder / "m.yaml").write_text(MANIFEST.replace("identity: {field: user_id}", ""))
    (folder / "users.csv").write_text("user_id,name\n7,Again\n7,Again\n")
    run(["plan", "m.yaml", "--groups", "g.yaml", "--json"])
    assert read(capsys)["repeated"] == 0


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
    run(["plan", "m.yaml", "--groups", "g.yaml", "--target-latency", "3s", "--json"])
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


def test_status_shows_counts_and_rates(web, capsys):
    web.get(f"{URL}/jobs/welcome", json=JOB)
    assert run(["status", "welcome"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"state +running", shown)
    assert re.search(r"open +385", shown)
    assert "480 of 500 creates/s" in shown
    assert "1 min 15 s" in shown
    assert "\x1b" not in shown


def test_times_of_a_run_whose_clock_is_faster_say_so(web, monkeypatch, capsys):
    web.get(f"{URL}/jobs/welcome", json=JOB)
    run(["status", "welcome"])
    assert "as yours" not in capsys.readouterr().out
    monkeypatch.setenv("INJECTOR_CLOCK_SPEED", "10")
    run(["status", "welcome"])
    assert re.search(r"clock +10 times as fast as yours", capsys.readouterr().out)


def test_watch_says_first_how_fast_the_clock_of_the_run_is(web, monkeypatch, capsys):
    web.get(f"{URL}/jobs/welcome", json=FINISHED)
    run(["watch", "welcome"])
    assert "as yours" not in capsys.readouterr().out
    monkeypatch.setenv("INJECTOR_CLOCK_SPEED", "10")
    run(["watch", "welcome"])
    assert capsys.readouterr().out.startswith("clock: 10 times as fast as yours\n")


def test_status_says_what_sets_the_pace(web, capsys):
    web.get(f"{URL}/jobs/welcome", json={**JOB, "why": "it is paused"})
    run(["status", "welcome"])
    assert re.search(r"why +it is paused", capsys.readouterr().out)


def test_status_tells_of_rejects_that_staging_found_until_their_chunks_have_run(web, capsys):
    job = {**JOB, "staged_rejects": 7}
    web.get(f"{URL}/jobs/welcome", json=job)
    assert run(["status", "welcome"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^rejected +5, 7 found by staging \(10 allowed\)$", shown, re.MULTILINE)
    web.replace("GET", f"{URL}/jobs/welcome", json={**job, "state": "finished"})
    assert run(["status", "welcome"]) == 0
    assert "staging" not in capsys.readouterr().out


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
    schema.wait(timeout=PATIENCE_S)


@pytest.mark.parametrize("locale", ["C", "POSIX", "en_US.ISO-8859-1"])
def test_output_survives_any_locale(folder, locale):
    (folder / "users.csv").write_text("user_id,name\n名前,☃\n", encoding="utf-8")
    plan = start(["plan", "m.yaml"], {"LC_ALL": locale, "PYTHONIOENCODING": "ascii"})
    out, said = plan.communicate(timeout=PATIENCE_S)
    assert plan.returncode == 0
    assert b"Traceback" not in said
    assert b"%E5%90%8D%E5%89%8D" in out
