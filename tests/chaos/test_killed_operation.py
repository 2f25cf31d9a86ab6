"""An apply that is killed in the middle of an operation: the same command goes on where it was."""

import json
import os
import signal
import subprocess
import sys
import time
from itertools import pairwise

import pytest

from injector.ledger import open_ledger
from tests.emulator.live import live_emulator

SPEED = 240.0
QUEUES = [f"projects/p/locations/us-central1/queues/q-{n}" for n in range(8)]
GROUP = "projects/p/locations/us-central1/queues/q-[0-7]"


def apply(folder, emulator, origin):
    """Start the command in a process of its own."""
    environment = {
        "PATH": os.environ["PATH"],
        "CLOUDTASKS_EMULATOR_HOST": f"127.0.0.1:{emulator.running.port}",
        "INJECTOR_CLOCK_SPEED": str(SPEED),
        "INJECTOR_CLOCK_ORIGIN": str(origin),
        "INJECTOR_LEDGER_URL": f"sqlite:///{folder}/ledger.db",
    }
    arguments = ["group", "ramp", "apply", GROUP, "--to", "700", "--blind", "--json"]
    return subprocess.Popen(
        [sys.executable, "-m", "injector", *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        cwd=folder,
    )


@pytest.mark.timeout(300)
def test_killed_apply_goes_on_where_it_stopped_and_takes_no_step_twice(tmp_path):
    origin = time.time()
    with live_emulator(queues=tuple(QUEUES), speed=SPEED, origin=origin) as emulator:
        first = apply(tmp_path, emulator, origin)
        seen = json.loads(first.stdout.readline())
        first.send_signal(signal.SIGKILL)
        first.wait()
        first.stdout.close()

        second = apply(tmp_path, emulator, origin)
        shown = [json.loads(line) for line in second.communicate(timeout=100)[0].splitlines()]

        assert second.returncode == 0
        assert {line["id"] for line in shown} == {seen["id"]}
        assert shown[-1]["state"] == "done"
        rates = [
            emulator.client.get_queue(name=queue).rate_limits.max_dispatches_per_second
            for queue in QUEUES
        ]
        assert rates == [87.5] * 8
    ledger = open_ledger(f"sqlite:///{tmp_path}/ledger.db")
    steps = [line for line in ledger.jobs.audit(seen["id"])[::-1] if line.what == "step"]
    assert [line.new for line in steps] == ["1", "2"]
    assert all(b.at - a.at >= 300 for a, b in pairwise(steps))
    ledger.close()
