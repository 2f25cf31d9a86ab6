"""Build the image, run it, and end it in the middle of a chunk: `make image-test`.

Prints what it finds; fails when the image is not what it must be. Takes a few minutes and root.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import requests

from tests.image.buildah import Buildah
from tests.scripted_service import Answer, Service, serve
from tests.served import GROUPS, submission
from tests.waiting import answers, free_port, until

ROOT = Path(__file__).parents[2]
IMAGE = "localhost/injector:test"
USER = 10001
ENDS_WITHIN_S = 10


def main() -> None:
    """Build, look, run, end."""
    with tempfile.TemporaryDirectory(prefix="image-") as folder:
        buildah = Buildah(Path(folder))
        buildah.make_base()
        began = time.monotonic()
        buildah.build(ROOT, IMAGE)
        say(f"built in {time.monotonic() - began:.0f} s")
        told = buildah.configuration(IMAGE)
        check_configuration(told)
        say(f"size {buildah.size(IMAGE) / 1e6:.0f} MB, unpacked, with Debian and Python")
        check_run(buildah, told["Cmd"], told["Healthcheck"]["Test"], Path(folder, "data"))


def check_configuration(told: Mapping[str, object]) -> None:
    """The image runs as nobody, and no shell stands between it and its signals."""
    assert told["User"] == f"{USER}:{USER}", told["User"]
    assert told["Cmd"][0] == "gunicorn", told["Cmd"]
    assert not told.get("Entrypoint"), told["Entrypoint"]
    assert told["Healthcheck"]["Test"][0] == "CMD", told["Healthcheck"]


def check_run(buildah: Buildah, command: list[str], probe: list[str], data: Path) -> None:
    """The container gets ready, is healthy, hands a chunk back at its end, and ends in time."""
    make_own(data)
    body = submission(data, 100)
    make_own(data)
    with serve(Service()) as tasks:
        tasks.plan = lambda seen: Answer(delay_s=60) if seen.number % 2 else Answer()
        environment = environment_of(data, tasks.address)
        url = f"http://127.0.0.1:{environment['PORT']}"
        container = buildah.container(IMAGE)
        began = time.monotonic()
        process = buildah.run(container, command, environment=environment, data=data)
        try:
            until(lambda: answers(f"{url}/readyz"))
            say(f"ready in {time.monotonic() - began:.1f} s")
            assert requests.get(f"{url}/healthz", timeout=5).json() == {"status": "ok"}
            check_probe(buildah, container, probe, environment, data)
            assert requests.post(f"{url}/jobs", json=body, timeout=20).status_code == 201
            check_end(process, url, tasks)
        finally:
            process.kill()
            process.wait()


def check_probe(
    buildah: Buildah, container: str, probe: list[str], environment: Mapping[str, str], data: Path
) -> None:
    """The health check succeeds on the running service, and fails where none listens."""
    for port, code in ((environment["PORT"], 0), (str(free_port()), 1)):
        told = {**environment, "PORT": port}
        quiet = subprocess.DEVNULL
        asked = buildah.run(container, probe[1:], environment=told, data=data, errors=quiet)
        assert asked.wait(20) == code, (port, asked.returncode)


def check_end(process: subprocess.Popen[bytes], url: str, tasks: Service) -> None:
    """SIGTERM to the container's first process hands the chunk back; all ends with code 0."""
    task = {"version": 1, "job": "welcome-1", "chunk": 0}
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(requests.post, f"{url}/inject", json=task, timeout=30)
        until(lambda: tasks.running >= 50)
        began = time.monotonic()
        os.kill(first_process(process.pid), signal.SIGTERM)
        answer = waiting.result(30)
        code = process.wait(30)
    took = time.monotonic() - began
    say(f"ended in {took:.1f} s with code {code}; the chunk was answered {answer.status_code}")
    assert (code, answer.status_code) == (0, 503)
    assert took < ENDS_WITHIN_S
    assert 0 < len(tasks.tasks) < 100, len(tasks.tasks)


def first_process(parent: int) -> int:
    """Return the process that is the container's first: gunicorn, as nobody."""
    below = [parent]
    while below:
        process = below.pop(0)
        if is_the_container_s(Path(f"/proc/{process}")):
            return process
        children = Path(f"/proc/{process}/task").glob("*/children")
        below += [int(child) for file in children for child in file.read_text().split()]
    raise AssertionError(f"no process of user {USER} runs")


def is_the_container_s(process: Path) -> bool:
    """Tell a process of the container from those of buildah that stand around it."""
    command = (process / "cmdline").read_bytes()
    return process.stat().st_uid == USER and not command.startswith(b"buildah")


def environment_of(data: Path, tasks: str) -> Mapping[str, str]:
    """Return the environment of a service on loopback, with its ledger and chunks in a folder."""
    return {
        "CLOUDTASKS_EMULATOR_HOST": tasks,
        "INJECTOR_AUTH": "off",
        "INJECTOR_GROUPS": json.dumps(json.loads(GROUPS)),
        "INJECTOR_HOST": "127.0.0.1",
        "INJECTOR_LEDGER_URL": f"sqlite:///{data}/ledger.db",
        "INJECTOR_STORE_URL": str(data / "chunks"),
        "PORT": str(free_port()),
    }


def make_own(folder: Path) -> None:
    """Give the folder and what is in it to the container's user."""
    folder.mkdir(exist_ok=True)
    for path in (folder, *folder.rglob("*")):
        os.chown(path, USER, USER)


def say(text: str) -> None:
    """Show a finding at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
