"""What a command's exit code tells a script."""

import re
from pathlib import Path

import pytest

from injector.cli.main import COMMANDS, EXIT_CODES, run
from injector.clock import SystemClock
from tests.cli_samples import URL

ROOT = Path(__file__).parents[2]
ASKING = [
    "submit m.yaml --yes",
    "status welcome",
    "watch welcome",
    "jobs",
    "pause welcome",
    "resume welcome",
    "set welcome --weight 2",
    "cancel welcome --yes",
    "retry welcome",
    "redrive welcome --yes",
    "rm welcome --yes",
    "audit welcome",
    "ramp welcome",
    "report welcome",
    "diagnose welcome",
    "dashboard --no-browser",
    "group show welcome",
    "group operations list",
    "group ramp plan welcome --to 4000",
]
APART = {
    "doctor": "says that nobody answers, as one finding of several",
    "plan": "goes on without the service, and says so",
    "init simulate schema completion": "ask nobody",
    "serve emulator up db": "are no callers of the service",
}


@pytest.fixture
def waits(monkeypatch):
    """Waits that a command is spared, as it would spend them."""
    spent = []
    monkeypatch.setattr(SystemClock, "sleep", lambda _, seconds: spent.append(seconds))
    return spent


@pytest.mark.parametrize("line", ASKING)
def test_a_service_that_does_not_answer_is_told_from_a_job_that_failed(
    line, web, waits, monkeypatch, capsys
):
    monkeypatch.setenv("INJECTOR_SERVICE_URL", URL)
    assert run(line.split()) == 3
    shown = capsys.readouterr().err.splitlines()
    assert f"the service at {URL} cannot be reached" in shown[-1]
    assert len(shown) == len(waits) + 1


def test_each_command_asks_the_service_or_is_named_apart():
    apart = {name for names in APART for name in names.split()}
    assert {line.split()[0] for line in ASKING} | apart == set(COMMANDS)


def test_each_wait_for_a_service_is_told_before_it_begins(web, monkeypatch, capsys):
    told = []
    monkeypatch.setattr(SystemClock, "sleep", lambda *_: told.append(capsys.readouterr().err))
    run(["status", "welcome"])
    assert len(told) == 4
    assert all(re.search(r"cannot be reached.* Trying again in \d", each) for each in told)


def test_a_caller_that_is_not_let_in_exits_with_3_and_learns_the_remedy(web, capsys):
    web.get(f"{URL}/jobs/welcome", status=403, json={"detail": "not among people"})
    assert run(["status", "welcome"]) == 3
    assert "set INJECTOR_TOKEN" in capsys.readouterr().err


def test_exit_codes_are_told_by_help_and_by_the_readme(capsys):
    assert run(["--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    read = " ".join((ROOT / "README.md").read_text().split())
    for code, words in EXIT_CODES.items():
        assert f"{code} {words}" in shown
        assert code > 3 or f"{code} {words.split()[0]}" in read.partition("Exit codes: ")[2]
