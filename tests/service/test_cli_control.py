"""The commands that steer jobs, and those that prepare and check."""

import json
import os
import re
import subprocess
import sys
from email.utils import formatdate

import pytest
import responses
from click.testing import CliRunner

from injector.cli.main import COMMANDS, cli, run
from injector.ledger.tables import REVISION
from tests.scripted_topics import Topics, serve

URL = "http://127.0.0.1:8080"
JOB = {
    "id": "welcome",
    "group": "welcome",
    "state": "paused",
    "reason": "",
    "records": 1000,
    "chunks": 10,
    "created": 600,
    "existed": 0,
    "rejected": 5,
    "rejects_allowed": 10,
    "rate_now": 3.61681,
    "rate_allowed": 500.0,
    "eta_s": None,
    "started_at": None,
    "finished_at": None,
    "taken_back": None,
    "max_rate": None,
    "weight": 1.0,
    "priority": 0,
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith(("INJECTOR_", "CLOUD"))]:
        monkeypatch.delenv(name)
    return tmp_path


@pytest.fixture
def web():
    with responses.RequestsMock() as web:
        yield web


def body_of(call):
    return json.loads(call.request.body)


@pytest.mark.parametrize("act", ["pause", "resume", "retry"])
def test_an_act_is_sent_for_each_job_under_a_key_of_its_own(web, capsys, act):
    web.post(f"{URL}/jobs/one/{act}", json={**JOB, "id": "one"})
    web.post(f"{URL}/jobs/two/{act}", json={**JOB, "id": "two"})
    assert run([act, "one", "two"]) == 0
    assert len({call.request.headers["Idempotency-Key"] for call in web.calls}) == 2
    assert re.findall(r"^(\w+) is", capsys.readouterr().out, re.MULTILINE) == ["one", "two"]


def test_an_act_that_is_tried_again_keeps_its_key(web, monkeypatch):
    monkeypatch.setattr("injector.clock.SystemClock.sleep", lambda *_: None)
    web.post(f"{URL}/jobs/one/pause", status=503)
    web.post(f"{URL}/jobs/one/pause", json=JOB)
    assert run(["pause", "one"]) == 0
    assert len({call.request.headers["Idempotency-Key"] for call in web.calls}) == 1


def test_what_the_service_refuses_exits_with_2_in_its_words(web, capsys):
    web.post(f"{URL}/jobs/one/pause", status=409, json={"detail": "job 'one' is finished"})
    assert run(["pause", "one"]) == 2
    assert "job 'one' is finished" in capsys.readouterr().err


def test_an_act_as_json_is_what_the_service_says(web, capsys):
    web.post(f"{URL}/jobs/welcome/pause", json=JOB)
    assert run(["pause", "welcome", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == JOB


@pytest.mark.parametrize(
    ("options", "sent"),
    [
        (["--max-rate", "1000"], {"max_rate": 1000.0}),
        (["--max-rate", "none"], {"max_rate": None}),
        (["--weight", "3", "--priority", "-2"], {"weight": 3.0, "priority": -2}),
        (["--stop-when-rejected", "2%"], {"stop_when_rejected": "2%"}),
    ],
)
def test_set_sends_what_is_said_and_nothing_else(web, options, sent):
    web.patch(f"{URL}/jobs/welcome", json=JOB)
    assert run(["set", "welcome", *options]) == 0
    assert body_of(web.calls[0]) == sent


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["set", "welcome"], "nothing to change"),
        (["set", "welcome", "--max-rate", "0"], "must be above 0"),
        (["set", "welcome", "--max-rate", "fast"], "is not a number of creates a second"),
        (["set", "welcome", "--weight", "0"], "Invalid value"),
        (["cancel", "welcome"], "add --yes"),
        (["rm", "welcome"], "add --yes"),
        (["pause"], "Missing argument"),
        (["pause", "../x"], "is not a job's id"),
        (["redrive", "welcome", "--rejected", "--missing"], "choose one of"),
        (["completion", "cmd"], "Invalid value"),
    ],
)
def test_wrong_use_exits_with_2(arguments, words, capsys):
    assert run(arguments) == 2
    assert words in capsys.readouterr().err.replace("\n", " ")


def test_cancel_says_what_is_taken_back_and_follows_it_to_the_end(web, monkeypatch, capsys):
    monkeypatch.setattr("injector.clock.SystemClock.sleep", lambda *_: None)
    begun = {"deleted": 0, "gone": 0, "chunks_done": 0, "chunks": 10, "done": False}
    half = begun | {"deleted": 400, "chunks_done": 5}
    done = begun | {"deleted": 700, "gone": 300, "chunks_done": 10, "done": True}
    cancelled = {**JOB, "state": "cancelled"}
    web.post(f"{URL}/jobs/welcome/cancel", json={**cancelled, "taken_back": begun})
    for told in (half, done):
        web.get(f"{URL}/jobs/welcome", json={**cancelled, "taken_back": told})
    assert run(["cancel", "welcome", "--delete", "--watch", "--yes"]) == 0
    assert body_of(web.calls[0]) == {"take_back": True}
    said = capsys.readouterr().err
    assert "400 tasks deleted, 0 had run or were never created, chunk 5 of 10" in said
    assert "700 tasks deleted, 300 had run or were never created\n" in said


def test_audit_lists_who_changed_what(web, capsys):
    line = {"at": 1.0, "job": "welcome", "who": "ann@p.example", "what": "state"}
    line |= {"old": "running", "new": "paused", "reason": ""}
    web.get(f"{URL}/jobs/welcome/audit", json={"changes": [line, {**line, "who": ""}]})
    assert run(["audit", "welcome"]) == 0
    assert re.search(r"ann@p.example +state +running +paused", capsys.readouterr().out)
    assert run(["audit", "welcome", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[0]) == line


def test_audit_cuts_long_texts_but_not_in_json(web, capsys):
    line = {"at": 1.0, "job": "ramp-1", "who": "", "what": "begun", "old": "", "reason": ""}
    line |= {"new": "q" * 5000}
    web.get(f"{URL}/jobs/ramp-1/audit", json={"changes": [line]})
    run(["audit", "ramp-1"])
    assert "q" * 99 + "…" in capsys.readouterr().out
    run(["audit", "ramp-1", "--json"])
    assert json.loads(capsys.readouterr().out) == line


@pytest.mark.parametrize(("option", "act"), [("--rejected", "redrive"), ("--missing", "retry")])
def test_redrive_goes_under_the_job_itself_unless_told_otherwise(web, capsys, option, act):
    web.post(f"{URL}/jobs/welcome/{act}", json={"opened": 5, "job": JOB})
    assert run(["redrive", "welcome", option, "--yes"]) == 0
    assert "are fed again at the next tick" in capsys.readouterr().out


def test_watch_shows_a_line_each_ten_seconds_or_when_the_state_changes(web, monkeypatch, capsys):
    class Clock:
        time = 0.0

        def monotonic(self):
            return self.time

        def sleep(self, seconds):
            self.time += seconds

    monkeypatch.setattr("injector.cli.client.SystemClock", Clock)
    running = {**JOB, "state": "running"}
    for second in range(25):
        web.get(f"{URL}/jobs/welcome", json={**running, "created": 600 + second})
    web.get(f"{URL}/jobs/welcome", json={**running, "state": "finished", "created": 995})
    run(["watch", "welcome"])
    lines = capsys.readouterr().out.splitlines()
    assert [re.search(r"(\d+)/1000", line)[1] for line in lines] == ["605", "615", "625", "1000"]
    assert "3.62 of 500 creates/s" in lines[0]


def test_db_upgrade_says_what_it_did(folder, capsys):
    url = f"sqlite:///{folder}/ledger.db"
    assert run(["db", "upgrade", "--url", url]) == 0
    assert run(["db", "upgrade", "--url", url]) == 0
    first, again = capsys.readouterr().out.splitlines()
    assert first == f"the ledger went from version none to {REVISION}"
    assert again == f"the ledger is at version {REVISION} already"
    run(["db", "upgrade", "--url", url, "--json"])
    assert json.loads(capsys.readouterr().out) == {"before": REVISION, "now": REVISION}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_each_shell(capsys, shell):
    assert run(["completion", shell]) == 0
    assert "_INJECTOR_COMPLETE" in capsys.readouterr().out


def completed(words, typed):
    env = {"COMP_WORDS": " ".join(["injector", *words, typed]), "COMP_CWORD": str(len(words) + 1)}
    env |= {"_INJECTOR_COMPLETE": "bash_complete"}
    shown = CliRunner().invoke(cli, prog_name="injector", env=env).output
    return [line.partition(",")[2] for line in shown.splitlines() if line]


def test_commands_and_options_are_completed():
    assert completed([], "re") == [name for name in COMMANDS if name.startswith("re")]
    assert "--max-rate" in completed(["set", "welcome"], "--")


def test_job_ids_are_completed_from_the_service(web):
    jobs = [{**JOB, "id": name} for name in ("welcome-1", "welcome-2", "other")]
    web.get(f"{URL}/jobs", json={"jobs": jobs, "next": None})
    assert completed(["pause"], "wel") == ["welcome-1", "welcome-2"]


def test_completion_of_job_ids_is_silent_without_a_service():
    assert completed(["pause"], "wel") == []


QUEUE = {"name": "projects/p/locations/l/queues/welcome-0", "state": "RUNNING"}
QUEUE |= {"rate": 500.0, "concurrency": 1000, "problem": ""}


@pytest.fixture
def well(web, monkeypatch):
    """A service, caller, clock, store and queues without fault, at an emulator."""
    monkeypatch.setenv("CLOUDTASKS_EMULATOR_HOST", "127.0.0.1:8123")
    web.assert_all_requests_are_fired = False
    web.get(f"{URL}/ready", json={"status": "ready"}, headers={"Date": formatdate(usegmt=True)})
    web.get(f"{URL}/jobs", json={"jobs": [], "next": None})
    web.get(f"{URL}/groups", json={"groups": [{"name": "welcome"}]})
    web.get(f"{URL}/groups/welcome/queues", json={"queues": [QUEUE, QUEUE]})
    web.get(f"{URL}/groups/welcome/rights", json={"lacks": []})
    return web


def findings(capsys):
    run(["doctor", "--json"])
    found = json.loads(capsys.readouterr().out)
    return {each["name"]: each for each in found["findings"]}


def test_doctor_finds_nothing_where_nothing_is_wrong(well, capsys):
    assert run(["doctor"]) == 0
    shown = capsys.readouterr().out
    for name in ("credentials", "service", "caller", "clock", "store", "group welcome"):
        assert re.search(rf"^ok +{name}:", shown, re.MULTILINE), shown
    assert "2 queues running, with 500 dispatches/s and 1000 at once" in shown


def test_doctor_makes_no_folder_for_a_store_that_is_not_there_yet(well, folder, monkeypatch):
    monkeypatch.setenv("INJECTOR_STORE_URL", "new/chunks")
    assert run(["doctor"]) == 0
    assert not (folder / "new").exists()
    (folder / "new").mkdir()
    run(["doctor"])
    assert list((folder / "new").iterdir()) == []


def test_doctor_leaves_nothing_of_a_probe_that_failed_half_way(folder):
    program = (
        "import resource as r, sys; r.setrlimit(r.RLIMIT_FSIZE, (0, r.RLIM_INFINITY));"  # full
        "from injector.cli.main import run; sys.exit(run(['doctor', '--json']))"
    )
    settings = {"INJECTOR_STORE_URL": "new/chunks", "INJECTOR_SERVICE_URL": "http://127.0.0.1:9"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | settings | {"CLOUDTASKS_EMULATOR_HOST": "127.0.0.1:8123"},
        capture_output=True,
        text=True,
        check=False,
    )
    found = {each["name"]: each for each in json.loads(done.stdout)["findings"]}
    assert "cannot be written" in found["store"]["said"]
    assert not (folder / "new").exists()


def test_doctor_leaves_no_probe_in_the_store(well, folder):
    run(["doctor"])
    assert not [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("path", "answer", "name", "said", "mend"),
    [
        (
            "/ready",
            {"status": 503, "json": {"detail": "no ledger"}},
            "service",
            "no ledger",
            "log",
        ),
        ("/jobs", {"status": 403, "json": {"detail": "who?"}}, "caller", "who?", "INJECTOR_PEOPLE"),
        (
            "/ready",
            {"json": {}, "headers": {"Date": "Mon, 30 Nov 2020 00:00:00 GMT"}},
            "clock",
            "s apart",
            "NTP",
        ),
        (
            "/groups/welcome/queues",
            {"json": {"queues": [{**QUEUE, "problem": "GetQueue q: PERMISSION_DENIED"}]}},
            "group welcome",
            "PERMISSION_DENIED",
            "roles/cloudtasks.taskDeleter",
        ),
        (
            "/groups/welcome/queues",
            {"json": {"queues": [{**QUEUE, "problem": "queue q is paused; resume it"}]}},
            "group welcome",
            "queue q is paused",
            "message",
        ),
    ],
)
def test_doctor_says_what_is_wrong_and_how_to_mend_it(well, capsys, path, answer, name, said, mend):  # noqa: PLR0917  (an example each)
    well.replace("GET", f"{URL}{path}", **answer)
    found = findings(capsys)[name]
    assert found["verdict"] == "fault"
    assert said in found["said"]
    assert mend in found["mend"]
    assert run(["doctor"]) == 1


EVENTS = "projects/p/topics/jobs"


@pytest.mark.parametrize(
    ("topics", "ending"),
    [
        (Topics({EVENTS: []}), ("ok", "can be published to")),
        (Topics({EVENTS: []}, granted=()), ("fault", "may not be published to")),
        (Topics({}), ("fault", "create the topic")),
    ],
)
def test_doctor_looks_at_the_topic_of_events(well, monkeypatch, capsys, topics, ending):
    verdict, said = ending
    with serve(topics) as served:
        monkeypatch.setenv("PUBSUB_EMULATOR_HOST", served.address)
        monkeypatch.setenv("INJECTOR_EVENTS_TOPIC", EVENTS)
        found = findings(capsys)["events"]
    assert (found["verdict"], EVENTS in found["said"]) == (verdict, True)
    assert said in found["said"]
    assert ("roles/pubsub.publisher" in found["mend"]) == (verdict == "fault")


def test_doctor_without_a_token_for_a_service_elsewhere_says_how_to_get_one(
    monkeypatch, folder, capsys
):
    monkeypatch.setenv("CLOUDTASKS_EMULATOR_HOST", "127.0.0.1:8123")
    monkeypatch.setenv("INJECTOR_SERVICE_URL", "https://injector.example")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(folder / "none.json"))
    found = findings(capsys)
    assert found["service"]["verdict"] == "doubt"
    assert found["caller"]["verdict"] == "fault"
    assert "none.json was not found" in found["caller"]["said"]
    assert "--impersonate-service-account" in found["caller"]["mend"]
    assert "INJECTOR_IMPERSONATE" in found["caller"]["mend"]


def test_doctor_of_nothing_that_runs_says_how_to_begin(monkeypatch, capsys):
    monkeypatch.setenv("CLOUDTASKS_EMULATOR_HOST", "127.0.0.1:8123")
    monkeypatch.setenv("INJECTOR_SERVICE_URL", "http://127.0.0.1:9")
    found = findings(capsys)
    assert found["service"]["verdict"] == "fault"
    assert "injector up" in found["service"]["mend"]


def test_doctor_names_an_old_ledger_and_a_store_that_cannot_be_written(
    well, folder, monkeypatch, capsys
):
    (folder / "file").write_text("no folder")
    monkeypatch.setenv("INJECTOR_LEDGER_URL", f"sqlite:///{folder}/none.db")
    monkeypatch.setenv("INJECTOR_STORE_URL", str(folder / "file" / "chunks"))
    found = findings(capsys)
    assert "injector db upgrade" in found["ledger"]["mend"]
    assert found["store"]["verdict"] == "fault"
    assert not (folder / "none.db").exists()
