"""`injector diagnose`, over real gRPC to an emulator whose queue is held back."""

import json
import os
import signal
import subprocess
import sys
from itertools import count, islice, pairwise

import pytest
import responses

from injector.cli.diagnose import EACH_S, looks
from injector.cli.main import run
from injector.emulator.faults.plan import Effect, Fault
from injector.emulator.rpc import Code
from injector.emulator.state.queue import QueueState
from tests.emulator.loop_thread import serving
from tests.moving_clock import fast_from
from tests.pace.staged_cases import cases
from tests.pace.staged_queues import PARENT, staged
from tests.waiting import PATIENCE_S

CASE = next(case for case in cases() if case.name == "3 at once of 1 s, 0% logged")
SPEED = 600
GROUPS = f"""\
groups:
  slow:
    injector_queues: {PARENT}injector
    queues: {PARENT}q
  topical:
    injector_queues: {PARENT}other-injector
    topic: projects/p/topics/t
"""


@pytest.fixture(scope="module")
def world():
    """Stage a queue whose concurrency holds it back, and serve it."""
    with staged(CASE) as queues:
        queues.run()
        with serving(queues.parts.handle) as port:
            yield queues, port


@pytest.fixture(autouse=True)
def plan(world, tmp_path, monkeypatch):
    queues, port = world
    (tmp_path / "g.yaml").write_text(GROUPS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLOUDTASKS_EMULATOR_HOST", f"127.0.0.1:{port}")
    monkeypatch.setenv("INJECTOR_GROUPS", "g.yaml")
    monkeypatch.setenv("INJECTOR_CLOCK_ORIGIN", str(queues.now))
    monkeypatch.setenv("INJECTOR_CLOCK_SPEED", "1e-9")  # it stands still, as the emulator's
    queues.parts.plan.set(())
    return queues.parts.plan


@pytest.fixture
def paused(world):
    registry = world[0].parts.service.registry
    queue = registry.queues[f"{PARENT}q"]
    registry.pause(queue)
    yield
    queue.state = QueueState.RUNNING


class SleptClock:
    """A clock that tells how long it was slept by."""

    slept_s = 0

    def sleep(self, seconds):
        self.slept_s += seconds


def denied(method):
    return [Fault("denied", Effect.ERROR, (method,), code=Code.PERMISSION_DENIED)]


def test_verdict_comes_with_numbers_advice_and_what_was_not_seen(capsys):
    assert run(["diagnose", "slow"]) == 1
    shown = capsys.readouterr().out
    assert "concurrency limit (q), medium confidence" in shown
    assert "it dispatches 3/s of 50/s" in shown
    assert "turn on attempt logs" in shown
    assert "not seen: the target's latency" in shown
    assert "3/s of 50/s allowed" in shown


def test_group_command_diagnoses_too(capsys):
    assert run(["group", "diagnose", f"{PARENT}q"]) == 1
    assert "concurrency limit" in capsys.readouterr().out


def test_verdicts_are_json_for_scripts(capsys):
    assert run(["diagnose", "--queue", f"{PARENT}q", "--json", "--since", "10m"]) == 1
    found = json.loads(capsys.readouterr().out)
    (verdict,) = found["verdicts"]
    assert verdict["cause"] == "concurrency limit"
    assert verdict["queues"] == [f"{PARENT}q"]
    assert verdict["figures"]["rate"] == pytest.approx(3.0, abs=0.1)
    assert [each["http_status"] for each in verdict["figures"]["attempts"]] == [200]
    assert found["history"]["dispatched_peak"]["rate"] == pytest.approx(3.0, abs=0.1)
    assert found["history"]["high_tps_group"] is False


def test_chart_shows_rate_and_limit(tmp_path):
    run(["diagnose", "slow", "--plot", "slow.svg"])
    chart = (tmp_path / "slow.svg").read_text()
    assert "dispatches/s" in chart
    assert "max_dispatches_per_second" in chart


def test_watching_shows_the_first_look_at_once_and_each_other_a_minute_later():
    clock = SleptClock()
    seen = looks(count(1).__next__, clock, watch=True)
    assert [(look, clock.slept_s) for look in islice(seen, 3)] == [
        (1, 0),
        (2, EACH_S),
        (3, 2 * EACH_S),
    ]


def test_watching_goes_on_until_it_is_interrupted(world):
    origin = fast_from(world[0].now, speed=SPEED)
    clock = {"INJECTOR_CLOCK_SPEED": str(SPEED), "INJECTOR_CLOCK_ORIGIN": str(origin)}
    environment = os.environ | clock | {"PYTHONUNBUFFERED": "1"}
    arguments = ["diagnose", "slow", "--watch", "--json"]
    watching = subprocess.Popen(
        [sys.executable, "-m", "injector", *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    looks_seen = [json.loads(watching.stdout.readline()) for _ in range(3)]
    watching.send_signal(signal.SIGINT)
    watching.communicate(timeout=PATIENCE_S)

    times = [seen["at"] for seen in looks_seen]
    assert all(later - earlier >= EACH_S for earlier, later in pairwise(times))
    assert watching.returncode == 130


def test_queues_come_from_the_service_where_no_groups_are_configured(capsys, monkeypatch):
    monkeypatch.delenv("INJECTOR_GROUPS")
    url = "http://127.0.0.1:8080/groups/slow"
    with responses.RequestsMock() as web:
        web.get(url, json={"name": "slow", "injector_queues": [f"{PARENT}injector"]})
        web.get(
            f"{url}/queues",
            json={"queues": [{"name": f"{PARENT}{name}"} for name in ("injector", "q")]},
        )
        assert run(["diagnose", "slow", "--json", "--service", "http://127.0.0.1:8080"]) == 1
    assert json.loads(capsys.readouterr().out)["queues"] == [f"{PARENT}q"]


SICK = {
    "queue": f"{PARENT}q",
    "since": 1_800_000_000.0,
    "seen": 1_800_000_060.0,
    "code": "UNAVAILABLE",
}


@pytest.mark.parametrize(
    ("status", "answer", "said"),
    [(200, {"sick": [SICK]}, True), (200, {"sick": []}, False), (503, {"detail": "away"}, False)],
)
def test_a_queue_that_the_service_knows_to_take_nothing_is_noted(
    capsys, monkeypatch, status, answer, said
):
    monkeypatch.setenv("INJECTOR_SERVICE_URL", "http://127.0.0.1:1")
    with responses.RequestsMock() as web:
        web.get("http://127.0.0.1:1/groups/slow", status=status, json=answer)
        assert run(["diagnose", "slow"]) == 1
    shown = capsys.readouterr().out
    assert (f"note: {PARENT}q takes no creates since " in shown) is said
    assert ("(UNAVAILABLE); what is for it waits" in shown) is said


def test_a_service_that_does_not_answer_is_asked_once_and_noted(capsys, monkeypatch):
    url = "http://127.0.0.1:1/groups/slow"
    monkeypatch.setenv("INJECTOR_SERVICE_URL", "http://127.0.0.1:1")
    with responses.RequestsMock() as web:
        web.get(url, status=503, json={"detail": "away"})
        assert run(["diagnose", "slow", "--json"]) == 1
        assert web.assert_call_count(url, 1)
    shown = capsys.readouterr()
    (note,) = json.loads(shown.out)["notes"]
    assert note.startswith("the service did not say which queues take no creates: ")
    assert note.endswith("answered 503: away")
    assert "Trying again" not in shown.err


def test_missing_right_to_metrics_names_the_role(plan, capsys):
    plan.set(denied("*ListTimeSeries"))
    assert run(["diagnose", "slow"]) == 2
    assert "grant roles/monitoring.viewer" in capsys.readouterr().err


def test_missing_right_to_logs_is_said_and_the_rest_goes_on(plan, capsys):
    plan.set(denied("*ListLogEntries"))
    assert run(["diagnose", "slow"]) == 1
    shown = capsys.readouterr().out
    assert "not seen: the target's latency: Cloud Logging cannot be asked" in shown
    assert "grant roles/logging.viewer" in shown


def test_paused_queue_is_told_even_where_no_metric_may_be_read(plan, capsys, paused):
    plan.set(denied("*ListTimeSeries"))
    assert run(["diagnose", "slow", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert [verdict["cause"] for verdict in found["verdicts"]] == ["paused"]
    assert any("roles/monitoring.viewer" in missing for missing in found["unseen"])


def test_queue_that_is_not_there_is_named(capsys):
    assert run(["diagnose", "--queue", f"{PARENT}other"]) == 2
    assert f"{PARENT}other" in capsys.readouterr().err


def test_queue_of_a_group_that_is_not_there_is_said_and_the_others_are_looked_at(capsys):
    assert run(["diagnose", "--queue", f"{PARENT}q,gone", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["queues"] == [f"{PARENT}q"]
    assert any("queues/gone" in missing for missing in found["unseen"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "name a group, or queues by --queue"),
        (["slow", "--queue", f"{PARENT}q"], "one of both"),
        (["slwo"], "did you mean 'slow'"),
        (["topical"], "is a topic"),
        (["--queue", "q"], "write projects/PROJECT/locations/LOCATION/queues/QUEUE"),
        (["slow", "--since", "soon"], "soon"),
    ],
)
def test_wrong_use_says_what_would_do(arguments, said, capsys):
    assert run(["diagnose", *arguments]) == 2
    assert said in capsys.readouterr().err
