"""`injector group`: help, plans and what is wrong with what was asked."""

import json
import os

import pytest

from injector.cli.group import COMMANDS
from injector.cli.main import run

AT = "2026-12-01T09:00:00Z"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith(("INJECTOR_", "CLOUD"))]:
        monkeypatch.delenv(name)
    return tmp_path


@pytest.mark.parametrize("name", ["resume", "ramp", "keep-warm", "spread", "operations"])
def test_every_operation_has_help_with_an_example(name, capsys):
    assert name in COMMANDS
    assert run(["group", name, "--help"]) == 0
    assert f"Example: injector group {name}" in " ".join(capsys.readouterr().out.split())


def test_spread_plans_a_million_tasks_without_a_group(folder, capsys):
    arguments = ["group", "spread", "plan", "--tasks", "1M", "--at", AT]

    assert run([*arguments, "--json", "--plot", "s.svg"]) == 0

    plan = json.loads(capsys.readouterr().out)
    assert plan["seconds"] == pytest.approx(17.8 * 60, rel=0.01)
    assert [step["figures"]["dispatches/s"] for step in plan["steps"]] == [500, 750, 1125, 1687.5]
    assert (folder / "s.svg").read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["rsume"], "did you mean 'resume'?"),
        (["spread", "plan", "--at", AT], "say how many tasks there are"),
        (["spread", "plan", "--at", "tomorrow", "--tasks", "5"], "is not a time; write one such"),
        (["ramp", "plan", "nobody", "--to", "5"], "group 'nobody' is not configured"),
        (["ramp", "plan", "welcome", "--to", "0"], "Invalid value"),
        (["operations", "show", "ramp-1", "--here"], "there is no operation 'ramp-1'"),
    ],
)
def test_wrong_use_exits_with_2_and_says_what_would_do(arguments, words, capsys):
    assert run(["group", *arguments]) == 2
    assert words in " ".join(capsys.readouterr().err.split())
