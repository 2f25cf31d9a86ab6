"""traffic-split, with Google's clients for Cloud Run and App Engine over real gRPC."""

import subprocess
import sys
from dataclasses import replace

import grpc
import pytest

from injector.control.standing import Standing
from injector.delivery.memory import MemoryQueues
from injector.errors import Misused, NotFound, Retryable
from injector.ledger import open_ledger
from injector.operations.kind import Ports
from injector.operations.runner import Runner, drive, save
from injector.operations.steering import begin, cancel, new_operation
from injector.operations.traffic_split import TRAFFIC_SPLIT
from injector.operations.values import State
from injector.queues.ports import LateTraffic
from tests.moving_clock import T0, MovingClock
from tests.platforms import APP, RUN, platforms, served

QUEUES = ["projects/p/locations/l/queues/q-0"]
WELL = Standing({"OK": 1000})
ILL = Standing({"OK": 850, "UNAVAILABLE": 150})
DOUBTFUL = Standing({"OK": 930, "RESOURCE_EXHAUSTED": 70})
WHOLE_PERCENTS = [1, 2, 3, 5, 7, 11, 17, 25, 38, 57, 86, 100]


class Told:
    """A watcher that says what it is told to, by the minute of the run."""

    def __init__(self, say) -> None:
        self._say = say

    def look(self, queues, *, since, now):
        assert (list(queues), since < now) == (QUEUES, True)
        return self._say((now - T0) / 60)


class Run:
    """An operation that goes on by a clock of its own."""

    def __init__(self, traffic, service, say=lambda _: WELL, **spec: object) -> None:
        self.clock = MovingClock()
        self.ledger = open_ledger("sqlite://")
        ports = Ports(MemoryQueues(), self.clock, Told(say), traffic=traffic)
        kinds = {TRAFFIC_SPLIT.name: TRAFFIC_SPLIT}
        self.runner = Runner(self.ledger, ports, kinds, self.clock, "me")
        fields = {"queues": QUEUES, "service": service, "to": "new", "tps": 100_000.0, **spec}
        operation = new_operation(TRAFFIC_SPLIT, "g", fields, now=T0, who="ann", draw=1)
        self.id = begin(self.ledger, operation)[0].id

    def end(self):
        return drive(self.runner, self.id, lambda _: None)

    def go_on(self, minutes=0.0):
        self.clock.sleep(60 * minutes)
        return self.runner.go_on(self.id, time_left=lambda: 60.0)


@pytest.fixture
def world():
    with platforms() as found:
        yield found


@pytest.fixture
def fake(world):
    return world[0]


@pytest.fixture
def traffic(world):
    return world[1]


def test_cloud_run_is_moved_in_whole_percents_and_keeps_its_tags(fake, traffic):
    run = Run(traffic, RUN)
    assert run.end().state is State.DONE
    assert [split["new"] for split in fake.splits] == WHOLE_PERCENTS
    assert fake.splits[0] == {"old": 99, "new": 1}
    assert [each.tag for each in fake.run.traffic if each.tag] == ["canary"]
    assert run.clock.now() - T0 == pytest.approx(65 * 60, abs=30)


def test_app_engine_is_moved_in_thousandths(fake, traffic):
    assert Run(traffic, APP).end().state is State.DONE
    moved = [round(split["new"] * 1000) for split in fake.splits]
    assert moved == [10, 15, 22, 33, 50, 75, 113, 170, 256, 384, 576, 864, 1000]
    assert fake.app.split.shard_by.name == "RANDOM"


def test_bad_health_restores_the_former_split(fake, traffic):
    run = Run(traffic, RUN, lambda minute: ILL if minute > 21 else WELL)
    ended = run.end()
    assert ended.state is State.ROLLED_BACK
    assert "15% of the attempts failed" in ended.reason
    assert fake.splits[-1] == {"old": 100}


def test_doubtful_health_holds_the_step_until_it_is_over(fake, traffic):
    run = Run(traffic, RUN, lambda minute: DOUBTFUL if 8 < minute < 40 else WELL)
    assert run.end().state is State.DONE
    assert [split["new"] for split in fake.splits] == WHOLE_PERCENTS
    assert run.clock.now() - T0 >= 90 * 60


def test_doubt_that_lasts_rolls_back(fake, traffic):
    ended = Run(traffic, RUN, lambda _: DOUBTFUL, give_up_s=1800.0).end()
    assert ended.state is State.ROLLED_BACK
    assert fake.splits[-1] == {"old": 100}


def test_cancel_rolls_back(fake, traffic):
    run = Run(traffic, RUN)
    for _ in range(20):
        run.go_on(minutes=1)
    assert fake.splits[-1]["new"] > 1
    cancel(run.ledger, run.id, TRAFFIC_SPLIT, now=run.clock.now(), who="ann")
    assert run.go_on().state is State.ROLLED_BACK
    assert fake.splits[-1] == {"old": 100}


def test_killed_between_decision_and_change_it_goes_on_where_it_was(fake, traffic):
    run = Run(traffic, RUN)
    run.go_on()
    run.go_on(minutes=5)
    fake.update_failures = [grpc.StatusCode.ABORTED]
    with pytest.raises(Retryable):
        run.go_on(minutes=5)
    assert fake.splits == [{"old": 99, "new": 1}]
    assert run.end().state is State.DONE
    assert [split["new"] for split in fake.splits] == WHOLE_PERCENTS


def test_split_that_an_earlier_version_began_goes_on(fake, traffic):
    run = Run(traffic, RUN)
    fake.update_failures = [grpc.StatusCode.ABORTED]
    with pytest.raises(Retryable):
        run.go_on()
    begun = run.ledger.operations.get(run.id)
    memory = {name: value for name, value in begun.memory.items() if name != "was"}
    save(run.ledger, begun, replace(begun, memory=memory), now=T0)

    run.go_on()

    assert fake.splits == [{"old": 99, "new": 1}]
    assert run.end().state is State.DONE


def test_missed_rounds_are_not_caught_up(fake, traffic):
    run = Run(traffic, RUN)
    run.go_on()
    run.go_on(minutes=600)
    run.go_on()
    assert len(fake.splits) <= 2


def test_traffic_that_someone_else_set_is_not_fought(fake, traffic):
    run = Run(traffic, RUN)
    run.go_on()
    traffic.set_split(RUN, {"old": 50, "new": 50}, shard_by="random")
    ended = run.go_on(minutes=1)
    assert ended.state is State.PAUSED
    assert "someone set the traffic to old 50 %, new 50 %" in ended.reason
    assert fake.splits[-1] == {"old": 50, "new": 50}


def test_version_that_has_traffic_already_is_refused(traffic):
    run = Run(traffic, RUN, to="old")
    assert "gets 100 % of the traffic already" in run.go_on().reason


def test_plan_is_the_guides_table_with_what_each_half_gets(traffic):
    run = Run(traffic, RUN)
    found = TRAFFIC_SPLIT.foresee(run.ledger.operations.get(run.id), run.runner.ports, T0)
    assert [step.figures["curve %"] for step in found.steps] == [
        1.0, 1.5, 2.3, 3.4, 5.1, 7.6, 11.4, 17.1, 25.6, 38.4, 57.7, 86.5, 100.0,
    ]  # fmt: skip
    assert found.steps[0].figures["new queues/s"] == 500.0
    assert (found.seconds, found.warnings) == (3600.0, ())


def test_connections_to_the_platforms_are_closed():
    with served() as (_, address):
        traffic = LateTraffic(address, None)
        assert traffic.split(RUN) == {"old": 100}
        traffic.close()
        with pytest.raises(ValueError, match="closed channel"):
            traffic.split(RUN)


def test_googles_clients_are_not_loaded_before_traffic_is_moved():
    loaded = "import sys, injector.queues.ports; print('google.cloud.run_v2' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, check=True)
    assert done.stdout.strip() == b"False"


@pytest.mark.parametrize(
    ("code", "error", "said"),
    [
        ("PERMISSION_DENIED", Misused, "roles/run.developer"),
        ("NOT_FOUND", NotFound, "is not there"),
        ("ABORTED", Retryable, RUN),
        ("INVALID_ARGUMENT", Misused, RUN),
    ],
)
def test_refusals_of_a_platform_are_told_by_verdict(fake, traffic, code, error, said):
    fake.failures = [grpc.StatusCode[code]]
    with pytest.raises(error, match=said):
        traffic.set_split(RUN, {"old": 100}, shard_by="random")


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"service": "web"}, "projects/PROJECT/locations/LOCATION/services/SERVICE"),
        ({"tps": 0.0}, "tps 0"),
        ({"growth": 1.0}, "growth 1"),
        ({"new_share": 1.5}, "new_share 1.5"),
        ({"shard_by": "run"}, "random, cookie or ip"),
    ],
)
def test_wrong_specs_are_refused_with_what_would_do(spec, said):
    fields = {"queues": QUEUES, "service": RUN, "to": "new", "tps": 1e5, **spec}
    with pytest.raises(Misused, match=said):
        TRAFFIC_SPLIT.check(fields)
