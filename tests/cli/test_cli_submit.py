"""`injector submit`, and plans that ask the service."""

import json
from pathlib import Path
from unittest.mock import Mock

import pytest
import requests

from injector.cli.main import run
from injector.clock import SystemClock
from injector.errors import Misused
from injector.staging import stage
from injector.staging.seal import SEAL
from tests.cli_samples import FINISHED, JOB, MANIFEST, QUEUES, URL, read

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
    known.get(f"{URL}/jobs/welcome", status=404, json={"detail": "there is no job"})
    assert run(["plan", "m.yaml", "--service", URL, "--json"]) == 0
    plan = read(capsys)
    assert not any("already" in warning for warning in plan["warnings"])
    assert (plan["queues"], plan["peak_create_rate"]) == (10, 20_000)
    assert "initial_rate 200/s is over 5/s" in plan["warnings"][0]


def test_plan_warns_of_an_id_that_is_used_already(known, capsys):
    known.get(f"{URL}/jobs/welcome", json=FINISHED)
    assert run(["plan", "m.yaml", "--service", URL, "--json"]) == 0
    (warning,) = (said for said in read(capsys)["warnings"] if "there already" in said)
    assert warning.startswith("job 'welcome' is there already (finished): submit changes nothing")


def test_plan_without_its_service_waits_for_it_once_and_says_one_thing(web, monkeypatch, capsys):
    waits = []
    monkeypatch.setattr(SystemClock, "sleep", lambda _, seconds: waits.append(seconds))
    assert run(["plan", "m.yaml", "--groups", "g.yaml", "--service", URL, "--json"]) == 0
    (warning,) = read(capsys)["warnings"]
    assert "the queues could not be looked at: " in warning
    assert len(waits) == 4


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
    web.get(f"{URL}/jobs/welcome", status=404, json={"detail": "there is no job"})
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


def test_job_that_has_ended_is_not_to_be_followed_but_accounted_for(known, capsys):
    known.post(f"{URL}/jobs", status=200, json=FINISHED)
    assert run(["submit", "m.yaml", "--yes"]) == 0
    said = capsys.readouterr().out
    assert "it is finished; see what became of it: injector report welcome" in said
    assert "injector watch" not in said


def named_by(web, *jobs: str):
    """Let the service say whose jobs have their chunks in a folder."""
    web.get(f"{URL}/jobs", json={"jobs": [{"id": job} for job in jobs], "next": None})


def refuse(web):
    web.post(f"{URL}/jobs", status=409, json={"detail": "job welcome has other content"})


def stagings(folder):
    return list((folder / ".injector/chunks/welcome").iterdir())


def test_same_id_with_other_content_exits_with_2_and_leaves_nothing(folder, known, capsys):
    refuse(known)
    named_by(known)
    before = set(folder.iterdir())
    assert run(["submit", "m.yaml", "--yes"]) == 2
    assert "job welcome has other content" in capsys.readouterr().err
    assert set(folder.iterdir()) == before


def test_refused_submit_leaves_what_a_job_or_an_earlier_submit_has(folder, known):
    known.post(f"{URL}/jobs", status=201, json=JOB)
    assert run(["submit", "m.yaml", "--yes"]) == 0
    (first,) = stagings(folder)
    known.replace("POST", f"{URL}/jobs", status=409, json={"detail": "no"})
    assert run(["submit", "m.yaml", "--yes"]) == 2
    assert stagings(folder) == [first]
    (folder / "users.csv").write_text("user_id\n1\n")
    named_by(known)
    assert run(["submit", "m.yaml", "--yes"]) == 2
    assert stagings(folder) == [first]


def test_refused_submit_leaves_what_another_run_has_staged_meanwhile(folder, known, monkeypatch):
    refuse(known)
    known.assert_all_requests_are_fired = (
        False  # who asks whether a job names them is wrong already
    )
    named_by(known)
    others = []

    def stage_after_another(source, manifest, store, **named: object):
        others.append(Path(stage(source, manifest, store, **named).store))
        return stage(source, manifest, store, **named)

    monkeypatch.setattr("injector.cli.submit.stage", stage_after_another)
    assert run(["submit", "m.yaml", "--yes"]) == 2
    assert stagings(folder) == others
    assert (others[0] / SEAL).exists()


def test_refused_submit_leaves_chunks_that_a_job_names_meanwhile(folder, known):
    refuse(known)
    named_by(known, "welcome")
    assert run(["submit", "m.yaml", "--yes"]) == 2
    assert len(stagings(folder)) == 1


def test_submit_whose_end_nobody_knows_keeps_its_chunks(folder, known, monkeypatch):
    monkeypatch.setattr(SystemClock, "sleep", lambda *_: None)
    known.post(f"{URL}/jobs", status=503, json={"detail": "the ledger is away"})
    assert run(["submit", "m.yaml", "--yes"]) == 3
    assert len(stagings(folder)) == 1


def test_submit_refused_after_an_attempt_that_may_yet_count_keeps_its_chunks(
    folder, known, monkeypatch, capsys
):
    monkeypatch.setattr(SystemClock, "sleep", lambda *_: None)
    known.assert_all_requests_are_fired = False  # nor is it asked whether a job names them
    known.post(f"{URL}/jobs", body=requests.ConnectionError("timed out"))
    refuse(known)
    named_by(known)
    assert run(["submit", "m.yaml", "--yes"]) == 2
    (left,) = stagings(folder)
    said = capsys.readouterr().err
    assert f"its chunks stay at {left}: an attempt before may yet register the job" in said
    assert "Trying again in" in said


@pytest.mark.parametrize("status", [401, 403])
def test_submit_by_whom_the_service_does_not_let_in_leaves_nothing(folder, known, status):
    known.post(f"{URL}/jobs", status=status, json={"detail": "no"})
    named_by(known)
    assert run(["submit", "m.yaml", "--yes"]) == 3
    assert not (folder / ".injector").exists()


def test_submit_that_may_not_ask_who_names_its_chunks_keeps_and_tells_them(folder, known, capsys):
    known.post(f"{URL}/jobs", status=403, json={"detail": "no"})
    known.get(f"{URL}/jobs", status=403, json={"detail": "no"})
    assert run(["submit", "m.yaml", "--yes"]) == 3
    (left,) = stagings(folder)
    assert (left / SEAL).exists()
    assert f"its chunks stay at {left}: " in capsys.readouterr().err


def test_submit_whose_plan_fails_leaves_nothing(folder, known, monkeypatch):
    monkeypatch.setattr("injector.cli.submit.make_plan", Mock(side_effect=Misused("no plan")))
    named_by(known)
    assert run(["submit", "m.yaml", "--yes"]) == 2
    assert not (folder / ".injector").exists()


def test_redrive_that_can_ask_nobody_stages_nothing(folder, web, monkeypatch, capsys):
    assert run(["redrive", "welcome", "--records", "0-9"]) == 2
    assert "add --yes" in capsys.readouterr().err
    assert not (folder / ".injector").exists()


def test_chunks_that_cannot_be_taken_back_are_told(folder, known, monkeypatch, capsys):
    monkeypatch.setattr(SystemClock, "sleep", lambda *_: None)
    refuse(known)
    known.get(f"{URL}/jobs", status=503, json={"detail": "the ledger is away"})
    assert run(["submit", "m.yaml", "--yes"]) == 2
    (left,) = stagings(folder)
    said = capsys.readouterr().err.splitlines()
    assert said[-1] == "injector: job welcome has other content"
    assert any(f"its chunks stay at {left}: " in line for line in said)


def test_submit_of_a_job_that_has_its_chunks_elsewhere_leaves_none(folder, known):
    known.post(f"{URL}/jobs", status=200, json={**JOB, "store": "gs://b/c/welcome/1"})
    named_by(known)
    assert run(["submit", "m.yaml", "--yes"]) == 0
    assert not (folder / ".injector").exists()


def test_records_that_cannot_be_staged_leave_no_folder(folder, known):
    (folder / "users.csv").write_text("id\n1\n")
    assert run(["submit", "m.yaml", "--yes"]) == 2
    assert not (folder / ".injector").exists()


def test_too_many_rejects_register_nothing(folder, known, capsys):
    named_by(known)
    (folder / "m.yaml").write_text(MANIFEST + "stop_when_rejected: 1\n")
    assert run(["submit", "m.yaml", "--yes"]) == 1
    assert not (folder / ".injector").exists()
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
