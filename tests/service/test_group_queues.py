"""Making, mending and growing a group's queues, by the real client over an emulator."""

import json
from dataclasses import dataclass
from math import inf

import pytest

from injector.cli.main import run
from injector.delivery.ports import Queue
from injector.errors import Misused
from injector.groups import Retry
from injector.ledger import open_ledger
from injector.operations.expand import EXPAND
from injector.operations.kind import Ports
from injector.operations.kinds import KINDS
from injector.operations.provision import PROVISION
from injector.operations.runner import Runner, drive
from injector.operations.steering import begin, new_operation
from injector.operations.values import State
from injector.queues.access import admin_at
from tests.emulator.live import live_emulator
from tests.moving_clock import MovingClock

PARENT = "projects/p/locations/us-central1/queues"
OLD = tuple(f"{PARENT}/q-{number:04d}" for number in range(8))
GROUPS = f"""\
groups:
  mail:
    injector_queues: {PARENT}/mail-injector-[0-1]
    queues: {PARENT}/mail-[0000-0005]
    dispatch: {{rate: 120, concurrency: 30}}
    retry: {{max_attempts: 7, min_backoff: 2s}}
"""


class Killed(BaseException):
    """The process ends here."""


class Dying:
    """Queues whose process ends after so many creates; each is counted."""

    def __init__(self, queues: object, lives: float) -> None:
        self.queues, self.lives, self.made = queues, lives, []

    def __getattr__(self, name: str) -> object:
        return getattr(self.queues, name)

    def create_queue(self, queue):
        if not self.lives:
            raise Killed
        self.lives -= 1
        self.made.append(queue.name)
        return self.queues.create_queue(queue)


@dataclass
class World:
    admin: object
    ledger: object
    clock: MovingClock

    def begin(self, kind, **fields: object):
        made = new_operation(kind, "q", fields, now=self.clock.now(), who="ann", draw=0)
        return begin(self.ledger, made)[0]

    def runner(self, through=None):
        ports = Ports(through or self.admin, self.clock)
        return Runner(self.ledger, ports, KINDS, self.clock, owner="here")

    def apply(self, kind, *, through=None, **fields: object):
        found = self.begin(kind, **fields)
        return drive(self.runner(through), found.id, lambda _: None, time_left=lambda: inf)

    def plan(self, kind, **fields: object):
        made = new_operation(kind, "q", fields, now=self.clock.now(), who="ann", draw=0)
        return kind.foresee(made, self.runner().ports, self.clock.now())

    def names(self):
        return {queue.name for queue in self.admin.list_queues(PARENT.rpartition("/")[0])}


@pytest.fixture
def live():
    with live_emulator() as emulator:
        yield emulator


@pytest.fixture
def world(live):
    ledger = open_ledger("sqlite://")
    with admin_at(f"127.0.0.1:{live.running.port}") as admin:
        yield World(admin, ledger, MovingClock())
    ledger.close()


def test_what_is_missing_is_made_and_what_differs_is_set_and_nothing_else(world, live):
    retry = Retry(max_attempts=3, max_backoff_s=50.0)
    world.admin.create_queue(Queue(OLD[0], rate=7.5, concurrency=4, retry=retry))
    ended = world.apply(PROVISION, queues=OLD, rate=20.0)
    assert (ended.state, ended.reason) == (State.DONE, "all queues are as they should be")
    assert world.names() == set(OLD)
    kept = world.admin.get_queue(OLD[0])
    assert (kept.rate, kept.concurrency, kept.retry) == (20.0, 4, retry)
    made = world.admin.get_queue(OLD[1])
    assert (made.rate, made.concurrency, made.retry) == (20.0, 1000, Retry())


def test_an_injector_queue_keeps_the_rate_that_the_controller_gave_it(world):
    name = f"{PARENT}/q-injector-0"
    world.admin.create_queue(Queue(name, rate=42.0, concurrency=99, retry=Retry()))
    world.apply(PROVISION, queues=OLD[:1], injector_queues=(name,), injector_rate=5.0)
    found = world.admin.get_queue(name)
    assert (found.rate, found.concurrency, found.retry.max_backoff_s) == (42.0, 99, 60.0)


@pytest.mark.parametrize("lives", [0, 1, 60, 119])
def test_a_killed_apply_goes_on_and_makes_each_queue_once(world, lives):
    queues = tuple(f"{PARENT}/k-{number:04d}" for number in range(120))
    dying = Dying(world.admin, lives)
    with pytest.raises(Killed):
        world.apply(PROVISION, through=dying, queues=queues)
    world.clock.sleep(200)
    again = Dying(world.admin, inf)
    assert world.apply(PROVISION, through=again, queues=queues).state is State.DONE
    assert sorted(dying.made + again.made) == sorted(queues)
    assert len(world.ledger.operations.list(group="q")) == 1


def test_creates_are_spaced(world):
    began = world.clock.now()
    world.apply(PROVISION, queues=tuple(f"{PARENT}/s-{number:04d}" for number in range(100)))
    assert world.clock.now() - began >= 100 / 10 - 2


def test_a_name_that_is_still_reserved_pauses_and_says_for_how_long(world, live):
    world.admin.create_queue(Queue(OLD[0]))
    live.client.delete_queue(name=OLD[0])
    ended = world.apply(PROVISION, queues=OLD[:2])
    assert ended.state is State.PAUSED
    assert "reserved for 3 to 7 days" in ended.reason
    assert OLD[0] in ended.reason


def test_a_region_without_room_is_told_before_anything_is_made(world):
    queues = tuple(f"{PARENT}/r-{number:04d}" for number in range(1001))
    assert any(
        "over the 1,000" in warning for warning in world.plan(PROVISION, queues=queues).warnings
    )
    assert world.apply(PROVISION, queues=queues).state is State.PAUSED
    assert world.names() == set()


def test_a_group_that_is_spread_over_regions_is_refused(world):
    other = OLD[0].replace("us-central1", "europe-west1")
    with pytest.raises(Misused, match="europe-west1, us-central1"):
        world.plan(PROVISION, queues=(*OLD, other))


def test_a_group_expands_by_queues_like_those_that_are_there(world):
    world.apply(PROVISION, queues=OLD, rate=30.0, concurrency=9)
    ended = world.apply(EXPAND, queues=OLD, to=16, creates_per_s=100_000.0)
    assert ended.state is State.DONE
    assert f"{PARENT}/q-[0000-0015]" in ended.reason
    made = world.admin.get_queue(f"{PARENT}/q-0015")
    assert (made.rate, made.concurrency) == (30.0, 9)


def test_an_emergency_puts_queues_between_those_there_are(world):
    world.apply(PROVISION, queues=OLD)
    ended = world.apply(EXPAND, queues=OLD, emergency=True, creates_per_s=4000.0)
    assert "q-[0000-0007],q-[0000-0006:2]a" in ended.reason
    assert {f"{PARENT}/q-0000a", f"{PARENT}/q-0006a"} < world.names()
    planned = world.plan(EXPAND, queues=OLD, emergency=True, creates_per_s=4000.0)
    assert planned.figures["in terraform"] == 'queues = 8, between = ["[0000-0006:2]a"]'


def test_the_plan_of_the_guides_example_comes_out_as_its_table(world):
    queues = tuple(f"{PARENT}/q-{number:04d}" for number in range(200))
    plan = world.plan(EXPAND, queues=queues, to=400, creates_per_s=100_000.0)
    shares = [step.figures["new %"] for step in plan.steps]
    guide = [0.5, 0.75, 1.15, 1.7, 2.55, 3.8, 5.7, 8.55, 12.8, 19.2, 28.85, 43.25, 50.0]
    assert [step.at_s / 60 for step in plan.steps] == list(range(0, 65, 5))
    assert shares == pytest.approx(guide, abs=0.06)
    assert plan.figures["then configure"] == f"{PARENT}/q-[0000-0399]"
    assert plan.figures["in terraform"] == "queues = 400"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"emergency": True, "creates_per_s": 6000.0}, "500/s for each of 12 queues"),
        ({"emergency": True, "since_last_s": 100.0}, "again in 200 s"),
        ({"to": 8}, "not above the 8"),
        ({"to": 16, "emergency": True}, "one of to, add and emergency"),
        ({}, "one of to, add and emergency"),
        ({"to": 20_000}, "4 digits"),
        ({"add": OLD[:1]}, "one of the group's queues already"),
        ({"to": 16, "creates_per_s": 0.0}, "above 0"),
    ],
)
def test_an_expansion_that_cannot_be_is_refused(world, fields, words):
    with pytest.raises(Misused, match=words):
        world.plan(EXPAND, queues=OLD, **fields)


@pytest.fixture
def configured(live, tmp_path, monkeypatch):
    (tmp_path / "g.yaml").write_text(GROUPS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INJECTOR_GROUPS", str(tmp_path / "g.yaml"))
    monkeypatch.setenv("CLOUDTASKS_EMULATOR_HOST", f"127.0.0.1:{live.running.port}")
    monkeypatch.setenv("INJECTOR_LEDGER_URL", f"sqlite:///{tmp_path / 'l.db'}")
    monkeypatch.delenv("INJECTOR_SERVICE_URL", raising=False)


def test_the_commands_make_show_check_and_import_what_the_groups_file_says(configured, capsys):
    assert run(["group", "check", "mail"]) == 1
    assert "8 missing" in capsys.readouterr().out
    assert run(["group", "provision", "plan", "mail", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["figures"]["to create"] == "8"
    assert run(["group", "provision", "apply", "mail"]) == 0
    capsys.readouterr()
    run(["group", "show", "mail", "--json"])
    shown = json.loads(capsys.readouterr().out)
    mail = [queue for queue in shown["queues"] if "injector" not in queue["name"]]
    assert shown["missing"] == []
    assert {(q["rate"], q["concurrency"], q["retry"]["max_attempts"]) for q in mail} == {
        (120, 30, 7)
    }
    run(["group", "show", "mail", "--terraform"])
    blocks = capsys.readouterr().out
    assert f'google_cloud_tasks_queue.target["mail-0003"]\n  id = "{PARENT}/mail-0003"' in blocks
    assert 'google_cloud_tasks_queue.injector["mail-injector-1"]' in blocks
    assert run(["group", "check", "mail"]) == 0
    assert "advice: a job that lasts until the ramp is at its most" in capsys.readouterr().out
    run(["group", "show", "mail"])
    assert "mail-[0000-0005]" in capsys.readouterr().out
