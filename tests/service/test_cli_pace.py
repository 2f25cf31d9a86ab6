"""`injector simulate`, `injector ramp` and their charts."""

import json
from xml.etree import ElementTree as ET

import pytest
import responses

from injector.cli.charts import Curve, in_svg, in_text, stairs
from injector.cli.main import run
from injector.cli.trouble import burst_of, count_of, seconds_of, slowness_of, span_of
from injector.pacing.ramp import Ramp
from injector.simulation import Burst, Slowness, Span

URL = "http://127.0.0.1:8080"
T0 = 1_800_000_000.0
QUEUES = "projects/p/locations/l/queues"
GROUPS = f"""\
groups:
  welcome:
    injector_queues: {QUEUES}/injector-[0-1]
    queues: {QUEUES}/welcome-[000-299]
    ramp: {{max_rate: 1000}}
"""
GROUP = {
    "name": "welcome",
    "ramp": {**{name: getattr(Ramp(), name) for name in Ramp.__dataclass_fields__}, "dangers": []},
    "rate_now": 745.5,
    "rate_allowed": 750.0,
    "last_tick": {
        "at": T0 + 480,
        "kind": "hold",
        "reason": "healthy; the next step is due in 120 s",
        "notices": ["someone set the injector queues to 400/s"],
        "fault": "",
    },
    "jobs": ["welcome-1"],
    "decisions": [
        {"at": T0 + 300, "action": "raise", "rate": 7.5, "concurrency": 30, "reason": "healthy"},
        {"at": T0, "action": "start", "rate": 5.0, "concurrency": 20, "reason": "begins"},
    ],
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("INJECTOR_GROUPS", raising=False)
    monkeypatch.delenv("INJECTOR_SERVICE_URL", raising=False)
    (tmp_path / "g.yaml").write_text(GROUPS)
    return tmp_path


@pytest.fixture
def service():
    with responses.RequestsMock() as web:
        web.get(f"{URL}/groups/welcome", json=GROUP)
        yield web


def simulated(capsys, *arguments: str):
    run(["simulate", *arguments, "--json"])
    return json.loads(capsys.readouterr().out)


def test_simulation_shows_each_turn_with_its_reason(capsys):
    assert run(["simulate", "10M", "--faults", "20m-30m:20%:ABORTED"]) == 0
    shown = capsys.readouterr().out
    assert "20.0% of the creates end in ABORTED" in shown
    assert "planned 43 min 24 s" in shown


def test_simulation_is_json_for_scripts(capsys):
    assert simulated(capsys, "1M")["created_s"] == pytest.approx(1070.37, abs=0.01)


def test_simulation_of_a_configured_group_has_its_ramp_and_queues(capsys):
    found = simulated(capsys, "1G", "--group", "welcome", "--groups", "g.yaml")
    assert round(found["created_s"] / 60, 1) == 222.1


def test_options_change_what_happens(capsys):
    usual = simulated(capsys, "3M")["finished_s"]
    for told in (
        ["--cold"],
        ["--no-ticks", "10m-40m"],
        ["--target-capacity", "700"],
        ["--slow-creates", "5m-15m:10%:3s"],
        ["--target-faults", "10m-20m:50%"],
        ["--max-rate", "6"],
    ):
        assert simulated(capsys, "3M", *told)["finished_s"] > usual


def test_job_that_is_not_done_in_the_time_given_fails(capsys):
    assert run(["simulate", "1G", "--days", "0.1"]) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["many"], "write a count such as 28000, 10M or 1e9"),
        (["1M", "--faults", "20m:20%"], "write a span of the job's time such as 20m-30m"),
        (["1M", "--faults", "20m-30m:20"], "write a share such as 20%"),
        (["1M", "--faults", "30m-20m:20%"], "is not a span of time"),
        (["1M", "--slow-creates", "20m-30m:1%"], "a span, a share and a duration"),
        (["1M", "--tick", "soon"], "not a duration"),
        (["1M", "--group", "nobody", "--groups", "g.yaml"], "configured: welcome"),
        (["0"], "records is 0"),
    ],
)
def test_wrong_use_is_told_what_would_do(arguments, said, capsys):
    assert run(["simulate", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_chart_is_written_to_the_file_and_its_name_told_beside_the_output(folder, capsys):
    assert run(["simulate", "1M", "--plot", "chart.svg"]) == 0
    assert capsys.readouterr().err == "chart written to chart.svg\n"
    assert ET.parse(folder / "chart.svg").getroot().tag.endswith("svg")


def test_chart_that_cannot_be_written_is_a_wrong_use(capsys):
    assert run(["simulate", "1M", "--plot", "nowhere/chart.svg"]) == 2
    assert "nowhere/chart.svg: No such file or directory" in capsys.readouterr().err


def test_ramp_shows_the_rate_and_the_decisions(service, capsys):
    assert run(["ramp", "welcome"]) == 0
    shown = capsys.readouterr().out
    assert "745.5 of 750 creates/s allowed" in shown
    assert "from 500 creates/s, x1.5 each 300 s, up to 50000" in shown
    assert "someone set the injector queues to 400/s" in shown
    assert shown.index("raise") < shown.index("start")


def test_ramp_is_what_the_service_said_for_scripts(service, capsys):
    assert run(["ramp", "welcome", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == GROUP


def test_ramp_is_drawn_to_a_file(service, folder):
    assert run(["ramp", "welcome", "--plot", "ramp.svg"]) == 0
    assert "<path" in (folder / "ramp.svg").read_text()


def test_answer_that_is_no_group_is_refused(capsys):
    with responses.RequestsMock() as web:
        web.get(f"{URL}/groups/welcome", json={"name": "welcome"})
        assert run(["ramp", "welcome"]) == 2
    assert "does not show the group as expected" in capsys.readouterr().err


def test_stairs_hold_each_value_until_the_next():
    steps = [(0.0, 5.0), (300.0, 7.5)]
    assert list(stairs(steps, until=400.0)) == [(0, 5), (300, 5), (300, 7.5), (400, 7.5)]


def test_drawing_names_its_curves_and_reaches_the_top():
    curve = Curve("allowed", [(0.0, 500.0), (600.0, 750.0)])
    drawn = in_text("creates/s", [curve], coloured=False)
    assert "allowed" in drawn
    assert "(creates/s)" in drawn
    assert "\x1b" not in drawn


def test_svg_runs_no_script_and_names_its_curves():
    curves = [Curve(name, [(0.0, 500.0), (600.0, 750.0)]) for name in ("allowed", "created")]
    svg = in_svg("creates/s", curves)
    assert "script" not in svg
    assert ">allowed<" in svg
    assert ">created<" in svg


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (count_of, "28_000", 28_000),
        (count_of, "1e9", 10**9),
        (count_of, "2.5M", 2_500_000),
        (seconds_of, "90", 90.0),
        (seconds_of, "1h30m", 5400.0),
        (span_of, "20m-30m", Span(1200, 1800)),
        (burst_of, "0s-1m:100%", Burst(Span(0, 60), 1.0)),
        (slowness_of, "0s-1m:1%:2s", Slowness(Span(0, 60), 0.01, 2.0)),
    ],
)
def test_what_a_person_writes_is_read(read, text, value):
    assert read(text) == value


def test_plan_is_drawn_to_a_file(folder):
    (folder / "users.jsonl").write_text('{"n": 1}\n' * 250)
    (folder / "m.yaml").write_text(
        "job: j\ngroup: welcome\nrecords: users.jsonl\ntask: {http: {url: 'https://w.example/t'}}\n"
    )
    assert run(["plan", "m.yaml", "--groups", "g.yaml", "--plot", "plan.svg"]) == 0
    assert "<path" in (folder / "plan.svg").read_text()
