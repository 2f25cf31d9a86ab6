"""The emulator as a process of its own: started, called, stopped, killed."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import grpc
import pytest
from click.testing import CliRunner
from google.cloud import tasks_v2
from google.cloud.tasks_v2.services.cloud_tasks.transports import CloudTasksGrpcTransport

from injector.emulator.__main__ import main
from injector.emulator.announcement import announce
from injector.emulator.options import Options
from tests.waiting import PATIENCE_S, free_port, listens, until

LOCATION = "projects/p/locations/us-central1"
QUEUE = f"{LOCATION}/queues/q"


@contextmanager
def process(port: int, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "injector.emulator", "--port", str(port), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as started:
        try:
            until(lambda: listens(port))
            yield started
        finally:
            with suppress(ProcessLookupError):
                started.kill()


@contextmanager
def client(port: int) -> Iterator[tasks_v2.CloudTasksClient]:
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield tasks_v2.CloudTasksClient(transport=CloudTasksGrpcTransport(channel=channel))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_process_ends_cleanly_when_told_to(number):
    port = free_port()
    with process(port, "--queue", QUEUE, "--quiet") as started, client(port) as caller:
        assert caller.get_queue(name=QUEUE).name == QUEUE
        started.send_signal(number)
        output, _ = started.communicate(timeout=PATIENCE_S)
        assert (started.returncode, output) == (0, b"")


def test_process_says_where_it_is_and_how_to_use_it(tmp_path):
    port, control, state = free_port(), free_port(), tmp_path / "state.db"
    with process(port, "--control-port", str(control), "--state-file", str(state)) as started:
        said = [started.stdout.readline().decode() for _ in range(2)]
    rest = f"REST and control at http://127.0.0.1:{control}"
    assert said == [
        f"Cloud Tasks emulator: gRPC at 127.0.0.1:{port}, {rest}, state in {state}\n",
        f"export CLOUDTASKS_EMULATOR_HOST=127.0.0.1:{port}\n",
    ]


def test_script_reads_the_port_that_was_free():
    command = [sys.executable, "-m", "injector.emulator", "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as started:
        said = json.loads(started.stdout.readline())
        port = int(said["grpc"].rpartition(":")[2])
        assert listens(port)
        started.kill()
    assert said == {
        "event": "emulator.started",
        "grpc": f"127.0.0.1:{port}",
        "tls": False,
        "control": None,
        "state_file": None,
    }


@pytest.mark.parametrize(
    ("host", "shown"), [("0.0.0.0", "127.0.0.1:1"), ("::1", "[::1]:1"), ("lan.test", "lan.test:1")]
)
def test_address_that_is_told_can_be_used(host, shown):
    assert announce(Options(host=host), 1, None).grpc == shown


def test_killed_process_has_lost_nothing_that_it_confirmed(tmp_path):
    port = free_port()
    arguments = ("--queue", QUEUE, "--state-file", str(tmp_path / "state.db"))
    with process(port, *arguments) as started, client(port) as caller:
        caller.pause_queue(name=QUEUE)
        task = {"http_request": {"url": "http://x"}}
        names = {caller.create_task(parent=QUEUE, task=task).name for _ in range(20)}
        os.kill(started.pid, signal.SIGKILL)
        started.wait(PATIENCE_S)
    with process(port, *arguments), client(port) as caller:
        assert {task.name for task in caller.list_tasks(parent=QUEUE)} == names


def test_help_names_every_option():
    output = CliRunner().invoke(main, ["--help"]).output
    for option in (
        "--tls-key",
        "--port",
        "--control-port",
        "--queues-file",
        "--state-file",
        "--dynamics",
    ):
        assert option in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--queue", "nonsense"], "Queue name must be formatted"),
        (["--tls-key", "key.pem"], "TLS needs both --tls-certificate and --tls-key"),
        (["--speed", "0"], "needs a number above 0"),
        (["--quiet", "--json"], "--quiet says nothing"),
    ],
)
def test_mistake_ends_the_command_with_its_message(arguments, message):
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert message in result.output
