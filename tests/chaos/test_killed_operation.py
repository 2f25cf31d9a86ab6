"""An apply that is killed in the middle of an operation: the same command goes on where it was."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from injector.ledger import open_ledger
from tests.emulator.live import Live, live_emulator
from tests.platforms import APP, RUN, Platforms, served

SPEED = 240.0
QUEUES = [f"projects/p/locations/us-central1/queues/q-{n}" for n in range(8)]
GROUP = "projects/p/locations/us-central1/queues/q-[0-7]"
THOUSANDTHS = [1, 1.5, 2.2, 3.3, 5, 7.5, 11.3, 17, 25.6, 38.4, 57.6, 86.4, 100]
WHOLE_PERCENTS = [1, 2, 3, 5, 7, 11, 17, 25, 38, 57, 86, 100]


@dataclass
class Laptop:
    """A folder from which commands are run, each in a process of its own."""

    folder: Path
    emulator: Live
    platforms: Platforms
    environment: dict[str, str]

    def start(self, *arguments: str) -> subprocess.Popen:
        return subprocess.Popen(
            [sys.executable, "-m", "injector", "group", *arguments],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
        )

    def run(self, *arguments: str) -> tuple[int, str, str]:
        process = self.start(*arguments)
        out, err = process.communicate(timeout=150)
        return process.returncode, out, err

    def kill(self, *arguments: str) -> str:
        """Start an operation, kill it once it has shown its first step, and return its id."""
        process = self.start(*arguments, "--json")
        seen = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        process.communicate()
        return seen["id"]

    def go_on(self, *arguments: str) -> list[dict]:
        """Give the same command again, and return what it shows until it ends."""
        code, out, err = self.run(*arguments, "--json")
        assert code == 0, err
        return [json.loads(line) for line in out.splitlines()]

    def rates(self) -> list[float]:
        found = [self.emulator.client.get_queue(name=queue) for queue in QUEUES]
        return [queue.rate_limits.max_dispatches_per_second for queue in found]

    def audit(self, operation: str):
        ledger = open_ledger(self.environment["INJECTOR_LEDGER_URL"])
        try:
            return ledger.jobs.audit(operation)[::-1]
        finally:
            ledger.close()


@contextmanager
def laptop(folder: Path, *, queues: list[str] = QUEUES) -> Iterator[Laptop]:
    origin = time.time()
    options = {"queues": tuple(queues), "speed": SPEED, "origin": origin}
    with live_emulator(**options) as emulator, served() as (platforms, address):
        environment = {
            "PATH": os.environ["PATH"],
            "CLOUDTASKS_EMULATOR_HOST": f"127.0.0.1:{emulator.running.port}",
            "INJECTOR_CLOCK_SPEED": str(SPEED),
            "INJECTOR_CLOCK_ORIGIN": str(origin),
            "INJECTOR_LEDGER_URL": f"sqlite:///{folder}/ledger.db",
            "INJECTOR_PLATFORMS_HOST": address,
        }
        yield Laptop(folder, emulator, platforms, environment)


@pytest.mark.timeout(300)
def test_killed_ramp_goes_on_where_it_stopped_and_takes_no_step_twice(tmp_path):
    ramp = ("ramp", "apply", GROUP, "--to", "700", "--blind")
    with laptop(tmp_path) as here:
        operation = here.kill(*ramp)
        shown = here.go_on(*ramp)

        assert {line["id"] for line in shown} == {operation}
        assert shown[-1]["state"] == "done"
        assert here.rates() == [87.5] * 8
        steps = [line for line in here.audit(operation) if line.what == "step"]
    assert [line.new for line in steps] == ["1", "2"]
    assert all(b.at - a.at >= 300 for a, b in pairwise(steps))


@pytest.mark.timeout(300)
def test_killed_resume_goes_on_until_each_queue_has_exactly_its_own_rate(tmp_path):
    own = [50.0 + 10 * number for number in range(8)]
    with laptop(tmp_path) as here:
        for queue, rate in zip(QUEUES, own, strict=True):
            here.emulator.client.update_queue(
                queue={"name": queue, "rate_limits": {"max_dispatches_per_second": rate}},
                update_mask={"paths": ["rate_limits.max_dispatches_per_second"]},
            )
            here.emulator.client.pause_queue(name=queue)
        resume = ("resume", "apply", GROUP, "--by", "rate", "--blind")
        operation = here.kill(*resume)

        assert here.go_on(*resume)[-1]["id"] == operation
        assert here.rates() == own


@pytest.mark.timeout(300)
def test_killed_provision_goes_on_with_what_is_missing(tmp_path):
    with laptop(tmp_path, queues=QUEUES[:2]) as here:
        provision = ("provision", "apply", GROUP, "--rate", "40")
        operation = here.kill(*provision)

        assert here.go_on(*provision)[-1]["id"] == operation
        assert here.rates() == [40.0] * 8


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("service", "percents"), [(RUN, WHOLE_PERCENTS), (APP, THOUSANDTHS)], ids=["run", "app"]
)
def test_killed_traffic_split_goes_on_to_the_whole_step_by_step(tmp_path, service, percents):
    split = ("--app-service", service, "--to", "new", "--tps", "100000")
    with laptop(tmp_path) as here:
        code, planned, err = here.run("traffic-split", "plan", GROUP, *split, "--json")
        assert (code, here.platforms.splits) == (0, []), err
        figures = [step["figures"] for step in json.loads(planned)["steps"]]
        operation = here.kill("traffic-split", "apply", GROUP, *split)

        shown = here.go_on("traffic-split", "apply", GROUP, *split)

        assert {line["id"] for line in shown} == {operation}
        assert shown[-1]["state"] == "done"
        steps = [line for line in here.audit(operation) if line.what == "step"]
    moved = [
        round(found.get("new", 0) * (100 if service == APP else 1), 1)
        for found in here.platforms.splits
    ]
    assert moved == sorted({figure["set %"] for figure in figures})
    assert moved == percents
    assert all(b.at - a.at >= 299 for a, b in pairwise(steps))


@pytest.mark.timeout(300)
def test_cancelled_traffic_split_is_rolled_back_and_one_of_others_is_refused(tmp_path):
    split = ("--app-service", RUN, "--to", "new", "--tps", "100000")
    with laptop(tmp_path) as here:
        operation = here.kill("traffic-split", "apply", GROUP, *split)
        code, _, err = here.run("traffic-split", "apply", GROUP, *split, "--start", "400")
        assert (code, operation in err) == (2, True)

        code, out, err = here.run("operations", "cancel", operation, "--json")

        assert code == 0, err
        assert json.loads(out)["state"] == "rolled_back"
        assert here.platforms.splits[-1] == {"old": 100}
        here.environment["INJECTOR_TRAFFIC_SERVICES"] = APP
        code, _, err = here.run("traffic-split", "plan", GROUP, *split)
        assert (code, f"only that of {APP}" in " ".join(err.split())) == (2, True)
