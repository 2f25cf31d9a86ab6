"""`injector group`: help, plans and what is wrong with what was asked."""

import json
import os

import pytest
import responses

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


SERVICE = "http://127.0.0.1:8080"
OPERATION = {
    "id": "ramp-1",
    "kind": "ramp",
    "group": "welcome",
    "spec": {"to": 700.0},
    "who": "ann",
    "state": "running",
    "step": 1,
    "steps": 2,
    "reason": "healthy",
    "acts": 2,
    "acts_done": 2,
    "started_at": 1.8e9,
    "next_at": 1.8e9 + 60,
    "ends_at": 1.8e9 + 300,
    "ended_at": None,
    "version": 3,
    "rates_before": {},
}


@pytest.mark.parametrize(
    ("seen", "lines", "code"),
    [
        ([{}, {"step": 2}, {"state": "done"}], 3, 0),
        ([{}, {"state": "failed"}], 2, 1),
        ([{"state": "paused", "acts_done": 1}], 1, 1),
        ([{"state": "rolled_back", "acts_done": 1}, {"state": "rolled_back"}], 2, 1),
    ],
)
def test_watching_an_operation_ends_with_it_and_tells_how_it_went(
    seen, lines, code, monkeypatch, capsys
):
    monkeypatch.setenv("INJECTOR_CLOCK_SPEED", "10000")
    with responses.RequestsMock() as web:
        for change in seen[:1] + seen:  # asked once to begin with
            web.get(f"{SERVICE}/operations/ramp-1", json=OPERATION | change)

        assert (
            run(["group", "operations", "watch", "ramp-1", "--service", SERVICE, "--json"]) == code
        )

    shown = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(shown) == lines
    assert shown[-1]["state"] == (OPERATION | seen[-1])["state"]


def test_plan_is_the_services_where_there_is_one(capsys):
    plan = {
        "figures": {"to": "700/s"},
        "steps": [{"at_s": 0.0, "what": "2 queues at 250/s", "figures": {"dispatches/s": 500.0}}],
        "title": "dispatches/s allowed",
        "lines": [{"name": "allowed", "points": [[0.0, 500.0]]}],
        "warnings": ["start is high"],
        "seconds": 300.0,
    }
    asked = {"kind": "ramp", "spec": {"to": 700.0}}
    with responses.RequestsMock() as web:
        matches = [responses.matchers.json_params_matcher(asked)]
        web.post(f"{SERVICE}/groups/welcome/plans", json=plan, match=matches)
        arguments = ["ramp", "plan", "welcome", "--to", "700", "--service", SERVICE, "--json"]
        assert run(["group", *arguments]) == 0

    said = capsys.readouterr()
    assert json.loads(said.out) == plan
    assert "start is high" in said.err


def test_service_that_does_not_tell_the_rates_before_is_to_be_upgraded(capsys):
    told = {name: value for name, value in OPERATION.items() if name != "rates_before"}
    with responses.RequestsMock() as web:
        web.get(f"{SERVICE}/operations/resume-1", json=told)
        arguments = ["ramp", "apply", "welcome", "--back-to", "resume-1", "--service", SERVICE]
        assert run(["group", *arguments]) == 2
    assert "upgrade the service" in " ".join(capsys.readouterr().err.split())


def test_rates_to_go_back_to_are_asked_of_the_service(capsys):
    before = {"projects/p/locations/l/queues/q-0": 7.5}
    with responses.RequestsMock() as web:
        web.get(f"{SERVICE}/operations/resume-1", json=OPERATION | {"rates_before": before})
        matches = [
            responses.matchers.json_params_matcher({"kind": "ramp", "spec": {"own": before}})
        ]
        web.post(
            f"{SERVICE}/groups/welcome/operations",
            json=OPERATION | {"state": "done"},
            match=matches,
        )
        web.get(f"{SERVICE}/operations/ramp-1", json=OPERATION | {"state": "done"})
        arguments = ["ramp", "apply", "welcome", "--back-to", "resume-1", "--service", SERVICE]
        assert run(["group", *arguments]) == 0
