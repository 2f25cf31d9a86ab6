"""`injector group …` over real gRPC to an emulator: each example of the documentation, and more.

The groups file is the documentation's own.
"""

import json
from contextlib import contextmanager

import pytest
from click import Group as Commands

from injector.cli.main import cli, run
from injector.emulator.assembly import assemble
from injector.emulator.options import Options
from injector.emulator.startup import open_queues
from injector.emulator.state.dynamics import OFF
from injector.groups import expand
from tests.docs.reading import commands, examples
from tests.emulator.loop_thread import serving
from tests.moving_clock import fast_from
from tests.platforms import served

PLACE = "projects/p/locations/europe-west1/queues/"
QUEUES = expand(f"{PLACE}welcome-[0000-0199]")
INJECTOR = f"{PLACE}welcome-injector-0"
ORIGIN = 1_767_225_600.0  # 2026-01-01, before the instants of the documentation
SPEED = 1000
GROUPS = next(
    one.text
    for one in examples("yaml")
    if one.place.startswith("docs/groups.md") and one.text.startswith("groups:")
)
SHOWN = ("plan", "show", "check", "diagnose")


def documented():
    """Return the commands of docs/groups.md that change nothing, and are of this group."""
    for place, words in commands():
        shows = words[0] == "diagnose" or (words[0] == "group" and set(words) & set(SHOWN))
        if place.startswith("docs/groups.md") and shows and "welcome" in words:
            yield [word for word in words if word != "--watch"]


def platform_of(words):
    """Let an example reach the service that stands in for the ones that it names."""
    names = {"projects/P/locations/L/services/web": "projects/p/locations/l/services/web"}
    return [names.get(word, word).replace("web-00042", "new") for word in words]


@contextmanager
def world(monkeypatch, folder, *queues: str):
    options = Options(frozen=True, origin=ORIGIN, dynamics=OFF, queues=queues)
    parts = assemble(options)
    open_queues(parts.service, options)
    monkeypatch.chdir(folder)
    (folder / "g.yaml").write_text(GROUPS)
    with serving(parts.handle) as port, served() as (_, platforms):
        monkeypatch.setenv("CLOUDTASKS_EMULATOR_HOST", f"127.0.0.1:{port}")
        monkeypatch.setenv("INJECTOR_PLATFORMS_HOST", platforms)
        monkeypatch.setenv("INJECTOR_GROUPS", "g.yaml")
        monkeypatch.setenv("INJECTOR_AUTH", "off")
        monkeypatch.setenv("INJECTOR_CLOCK_ORIGIN", str(fast_from(ORIGIN, speed=SPEED)))
        monkeypatch.setenv("INJECTOR_CLOCK_SPEED", str(SPEED))
        yield parts


@pytest.fixture
def group(monkeypatch, tmp_path):
    with world(monkeypatch, tmp_path, *QUEUES, INJECTOR) as parts:
        for queue in (*QUEUES, INJECTOR):  # as the documentation's groups file wants them
            assert parts.service.registry.queues[queue]
        assert run(["group", "provision", "apply", "welcome", "--here"]) == 0
        yield parts


@pytest.fixture
def nothing(monkeypatch, tmp_path):
    with world(monkeypatch, tmp_path) as parts:
        yield parts


def test_each_documented_command_that_only_shows_does_so_and_finds_nothing_wrong(group, capsys):
    found = list(documented())
    assert len(found) >= 10
    for words in found:
        capsys.readouterr()
        code = run(platform_of(words))
        said = capsys.readouterr()
        assert (code, bool(said.out)) == (0, True), (words, said)


PLANS = {
    "provision": ["--rate", "40"],
    "expand": ["--to", "240", "--creates", "100000"],
    "resume": [],
    "ramp": ["--to", "4000"],
    "keep-warm": ["--for", "8h"],
    "spread": ["--at", "2027-01-15T09:00:00Z"],
    "traffic-split": [
        "--app-service", "projects/p/locations/l/services/web", "--to", "new", "--tps", "100000",
    ],
}  # fmt: skip


def test_there_is_a_plan_of_each_operation():
    kinds = cli.get_command(None, "group")
    names = kinds.list_commands(None)
    planned = {
        name
        for name in names
        if isinstance(found := kinds.get_command(None, name), Commands)
        and "plan" in found.list_commands(None)
    }
    assert planned == set(PLANS)


@pytest.mark.parametrize("kind", PLANS)
def test_each_plan_is_figures_steps_and_curves_for_people_and_programs(
    group, kind, capsys, tmp_path
):
    for queue in QUEUES[:50]:
        group.service.registry.pause(group.service.registry.queues[queue])
    if kind in ("ramp", "spread"):
        for queue in QUEUES[:50]:
            group.service.registry.resume(group.service.registry.queues[queue], now=ORIGIN)
    capsys.readouterr()

    assert run(["group", kind, "plan", "welcome", *PLANS[kind], "--plot", "p.svg"]) == 0
    shown = capsys.readouterr().out
    assert run(["group", kind, "plan", "welcome", *PLANS[kind], "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)

    assert plan["figures"]
    assert plan["steps"]
    assert plan["lines"]
    assert "minute" in shown
    assert (tmp_path / "p.svg").read_text().startswith("<svg")


def test_price_of_keeping_queues_warm_is_told(group, capsys):
    assert run(["group", "keep-warm", "plan", "welcome", "--every", "60s"]) == 0
    assert "17,280,000 operations in a month, about USD 6.91" in capsys.readouterr().out


def test_group_that_is_as_configured_checks_clean_with_advice_apart(group, capsys):
    capsys.readouterr()
    assert run(["group", "check", "welcome"]) == 0
    assert "nothing is wrong with 201 queues" in capsys.readouterr().out

    queue = group.service.registry.queues[QUEUES[7]]
    group.service.registry.pause(queue)
    assert run(["group", "check", "welcome", "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert "paused" in said["problems"][0]
    assert said["advice"] == []


def test_ramp_above_what_the_queues_dispatch_is_advice_and_no_fault(group, capsys, tmp_path):
    (tmp_path / "g.yaml").write_text(GROUPS.replace("0199]", "0003]"))
    capsys.readouterr()
    assert run(["group", "check", "welcome"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "advice: a job that lasts until the ramp is at its most (50,000/s)" in said
    assert "set max_rate to 20" in said


def test_imports_for_terraform_are_one_block_for_each_queue(group, capsys):
    capsys.readouterr()
    assert run(["group", "show", "welcome", "--terraform"]) == 0
    said = capsys.readouterr().out
    assert said.count("import {") == 201
    injector = 'module.injector.google_cloud_tasks_queue.injector["welcome-injector-0"]'
    assert f'to = {injector}\n  id = "{INJECTOR}"' in said
    assert 'google_cloud_tasks_queue.target["welcome-0199"]' in said


def test_new_queues_come_with_a_warning_of_names_that_are_reserved(nothing, capsys):
    assert run(["group", "provision", "plan", "welcome"]) == 0
    assert "3 to 7 days ago cannot be used again" in capsys.readouterr().err


def test_queue_name_that_is_reserved_pauses_the_operation_and_is_told(nothing, capsys):
    registry = nothing.service.registry
    assert run(["group", "provision", "apply", "welcome", "--here"]) == 0
    registry.close(registry.queues[QUEUES[5]], now=nothing.clock.now())
    capsys.readouterr()

    assert run(["group", "provision", "apply", "welcome", "--here", "--json"]) == 1

    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert last["state"] == "paused"
    assert "welcome-0005" in last["reason"]


def test_more_queues_than_a_region_has_are_refused_before_the_first_is_made(group, capsys):
    arguments = ["welcome", "--to", "1200", "--creates", "100000"]
    assert run(["group", "expand", "plan", *arguments]) == 0
    assert "over the 1,000 that a region has by default" in " ".join(
        capsys.readouterr().err.split()
    )

    assert run(["group", "expand", "apply", *arguments, "--here"]) == 1
    assert len(group.service.registry.queues) == 201


def test_group_of_several_regions_is_refused(group, capsys):
    elsewhere = "projects/p/locations/us-central1/queues/welcome-[0200-0210]"
    assert run(["group", "expand", "plan", "welcome", "--add", elsewhere]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "spread over europe-west1, us-central1" in said


def test_rates_before_an_operation_are_gone_back_to_by_its_id(group, capsys):
    arguments = ["ramp", "apply", "welcome", "--here", "--blind", "--json"]
    assert run(["group", *arguments, "--to", "400"]) == 0
    operation = json.loads(capsys.readouterr().out.splitlines()[-1])["id"]

    assert run(["group", "ramp", "plan", "welcome", "--back-to", operation, "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    nowhere = ["--service", "http://127.0.0.1:9"]  # which knows nothing of queues named so
    queues = f"{PLACE}welcome-[0000-0199]"
    back = ["group", "ramp", "plan", queues, "--back-to", operation, "--json", *nowhere]
    assert run(back) == 0
    assert json.loads(capsys.readouterr().out)["figures"]["to"] == plan["figures"]["to"]

    assert plan["figures"]["to"] == "100000/s, 500/s a queue"
    assert run(["group", "ramp", "plan", "welcome", "--back-to", "ramp-1"]) == 2


def rates(parts):
    return {
        name: queue.limits.rate.max_dispatches_per_second
        for name, queue in parts.service.registry.queues.items()
    }


def test_apply_leads_each_queue_back_to_the_rate_that_it_had_before_an_operation(group, capsys):
    before, few = rates(group), f"{PLACE}welcome-[0000-0003]"
    arguments = ["group", "ramp", "apply", few, "--here", "--blind", "--json"]
    assert run([*arguments, "--to", "800"]) == 0
    first = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert [rates(group)[name] for name in QUEUES[:5]] == [200.0] * 4 + [500.0]

    assert run([*arguments, "--back-to", first["id"]]) == 0

    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (last["state"], rates(group)) == ("done", before)
    assert last["steps"] > first["steps"]
