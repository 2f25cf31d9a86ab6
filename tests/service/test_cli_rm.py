"""`injector rm`: a job, and those of its chunks that are its own."""

import json
import os
from pathlib import Path

import pytest
import responses

from injector.cli.main import run
from tests.stagings import stage_bytes

URL = "http://127.0.0.1:8080"
ROWS = b"id\n" + b"1\n" * 250


@pytest.fixture
def web():
    with responses.RequestsMock() as web:
        yield web


@pytest.fixture
def store(tmp_path, monkeypatch):
    """The folder with the chunks of a job."""
    for name in [name for name in os.environ if name.startswith(("INJECTOR_", "CLOUD"))]:
        monkeypatch.delenv(name)
    return Path(stage_bytes(tmp_path, ROWS, "r.csv").store)


def job(web, store, state="finished"):
    web.get(f"{URL}/jobs/welcome", json={"id": "welcome", "state": state, "store": str(store)})


def named_by(web, store, *jobs: str):
    found = {"jobs": [{"id": name} for name in jobs], "next": None}
    query = responses.matchers.query_param_matcher({"staging": store.name, "limit": "200"})
    web.get(f"{URL}/jobs", json=found, match=[query])


def deleted(web, status=204, **more: object):
    web.delete(f"{URL}/jobs/welcome", status=status, **more)


def test_rm_removes_the_job_and_its_chunks_and_says_how_much_that_frees(web, store, capsys):
    size = sum(file.stat().st_size for file in store.iterdir())
    job(web, store)
    deleted(web)
    named_by(web, store)
    assert run(["rm", "welcome", "--yes"]) == 0
    assert not store.exists()
    assert f"welcome is removed: {size / 1000:.3g} kB of chunks freed" in capsys.readouterr().out


def test_chunks_that_another_job_names_stay(web, store, capsys):
    job(web, store)
    deleted(web)
    named_by(web, store, "again")
    assert run(["rm", "welcome", "--yes", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["removed"], found["chunks_named_by"], found["bytes_freed"]) == (
        True,
        ["again"],
        0,
    )
    assert (store / "staged.json").exists()


def test_a_dry_run_removes_nothing(web, store, capsys):
    job(web, store)
    named_by(web, store, "welcome")
    assert run(["rm", "welcome", "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "welcome would be removed; nothing is yet: " in said
    assert "kB of chunks to free" in said
    assert (store / "staged.json").exists()


def test_a_dry_run_says_that_a_running_job_is_to_be_cancelled_first(web, store, capsys):
    job(web, store, "running")
    assert run(["rm", "welcome", "--dry-run"]) == 2
    assert "injector cancel welcome" in capsys.readouterr().err


def test_chunks_of_a_job_that_is_not_removed_stay(web, store, capsys):
    job(web, store)
    deleted(web, 409, json={"detail": "job 'welcome' is running; cancel it first"})
    assert run(["rm", "welcome", "--yes"]) == 2
    assert (store / "staged.json").exists()


def test_a_job_whose_chunks_are_elsewhere_is_removed_all_the_same(web, store, capsys):
    elsewhere = store.with_name("001800000000-00000000")
    job(web, elsewhere)
    deleted(web)
    assert run(["rm", "welcome", "--yes"]) == 0
    assert f"no chunks of its own are at {elsewhere}" in capsys.readouterr().out


def test_a_folder_that_no_staging_made_is_not_touched(web, store, tmp_path):
    job(web, tmp_path)
    deleted(web)
    assert run(["rm", "welcome", "--yes"]) == 0
    assert (tmp_path / "r.csv").exists()


def test_chunks_that_cannot_be_removed_are_named(web, store, capsys):
    job(web, store)
    deleted(web)
    web.get(f"{URL}/jobs", status=404, json={"detail": "away"})
    assert run(["rm", "welcome", "--yes"]) == 2
    said = capsys.readouterr().err.replace("\n", " ")
    assert f"injector rm welcome --chunks {store}" in said
    assert (store / "staged.json").exists()


def gone(web):
    web.get(f"{URL}/jobs/welcome", status=404, json={"detail": "there is no job 'welcome'"})


def test_chunks_that_an_rm_left_when_it_was_cut_off_are_removed_where_told(web, store, capsys):
    gone(web)
    named_by(web, store)
    assert run(["rm", "welcome", "--chunks", str(store), "--yes"]) == 0
    assert not store.exists()
    assert "welcome is removed: " in capsys.readouterr().out


@pytest.mark.parametrize("more", [["--yes"], ["--dry-run"]])
def test_chunks_of_a_job_that_is_gone_stay_while_another_job_names_them(web, store, capsys, more):
    gone(web)
    named_by(web, store, "again")
    assert run(["rm", "welcome", "--chunks", str(store), "--json", *more]) == 0
    assert json.loads(capsys.readouterr().out)["chunks_named_by"] == ["again"]
    assert (store / "staged.json").exists()


def test_a_job_that_is_gone_says_how_its_chunks_are_removed(web, store, capsys):
    gone(web)
    assert run(["rm", "welcome", "--yes"]) == 2
    assert "--chunks STORE/welcome/" in capsys.readouterr().err.replace("\n", " ")
    assert (store / "staged.json").exists()


def test_chunks_of_a_job_that_is_there_are_not_looked_for_elsewhere(web, store, capsys):
    job(web, store.with_name("001800000000-00000000"))
    assert run(["rm", "welcome", "--chunks", str(store), "--yes"]) == 2
    assert "omit --chunks" in capsys.readouterr().err
    assert (store / "staged.json").exists()


def test_a_place_without_chunks_is_not_taken_for_one(web, store, tmp_path, capsys):
    gone(web)
    assert run(["rm", "welcome", "--chunks", str(tmp_path), "--yes"]) == 2
    assert "holds no finished staging" in capsys.readouterr().err.replace("\n", " ")
    assert (tmp_path / "r.csv").exists()


@pytest.mark.parametrize("more", [["other"], ["--keep-chunks"]])
def test_chunks_are_of_one_job_and_to_be_removed(store, capsys, more):
    assert run(["rm", "welcome", "--chunks", str(store), "--yes", *more]) == 2
    assert "--chunks says where" in capsys.readouterr().err


def test_a_job_goes_alone_where_its_chunks_are_to_stay(web, store, capsys):
    job(web, store)
    deleted(web)
    assert run(["rm", "welcome", "--keep-chunks", "--yes"]) == 0
    assert f"welcome is removed: its chunks stay at {store}" in capsys.readouterr().out
    assert (store / "staged.json").exists()


def test_a_job_stays_while_nobody_can_say_what_its_chunks_are(web, store, capsys):
    (store / "staged.json").write_bytes(b"{")
    job(web, store)
    assert run(["rm", "welcome", "--yes"]) == 2
    said = capsys.readouterr().err.replace("\n", " ")
    assert "cannot be read" in said
    assert "--keep-chunks" in said
