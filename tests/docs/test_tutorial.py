import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.reading import examples
from tests.waiting import free_port

BEGUN = "mkdir -p first && cd first\n"
AT_LAST = "trap 'kill $(jobs -p) 2> /dev/null || true' EXIT\n"


def script() -> str:
    """Return the tutorial from its installation on, on ports that are free."""
    blocks = [one.text for one in examples("sh") if one.place.startswith("docs/tutorial.md")]
    text = "\n".join(blocks).partition(BEGUN)[2]
    target = free_port()
    ports = f"--port {free_port()} --emulator-port {free_port()} --control-port {free_port()}"
    moved = text.replace("--speed 10", f"--speed 10 {ports} --target-port {target}")
    assert moved != text
    return moved.replace("127.0.0.1:8090", f"127.0.0.1:{target}")


@pytest.mark.timeout(600)
def test_the_tutorial_does_what_it_says(tmp_path):
    environ = {key: value for key, value in os.environ.items() if "INJECTOR" not in key}
    environ["PATH"] = f"{Path(sys.executable).parent}:{environ['PATH']}"
    run = ["bash", "-e", "-c", AT_LAST + script()]
    ended = subprocess.run(
        run, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
    )

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "nothing new" in ended.stdout
    assert "clock           10 times as fast as yours" in ended.stdout
    ready = (tmp_path / "up.log").read_text().splitlines()[-1]
    assert ready.startswith("ready: the dashboard is at http://127.0.0.1:")
    assert ready.endswith("; its clock runs 10 times as fast as yours")
    with (tmp_path / "outcomes.csv").open(newline="") as rows:
        outcomes = [row["outcome"] for row in csv.DictReader(rows)]
    assert len(outcomes) == 5001
    assert outcomes.count("rejected") == 1
