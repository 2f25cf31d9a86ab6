"""Jobs under control, with the service and the emulator as processes of their own."""

import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
import requests

from tests.bench import GROUP, PARENT
from tests.served import Served, await_ready, spawn, stop, submission
from tests.waiting import PATIENCE_S, answers, free_port, until

SPEED = "10"
HORIZON_S = "60"
"""With the group's 2 injector tasks a second a tick feeds at most 120 chunks, so a job of 200
cannot end before the second tick."""

GROUPS = {
    "groups": {
        "welcome": {
            "injector_queues": ",".join(GROUP.injector_queues),
            "queues": ",".join(GROUP.queues),
            "ramp": {"initial_rate": 2},
        }
    }
}


@dataclass
class World:
    """A service without authentication, and an emulator whose queues for tasks stand still."""

    served: Served
    rest: str

    def post(self, path, body=None):
        answer = requests.post(f"{self.served.url}{path}", json=body, timeout=PATIENCE_S)
        assert answer.ok, answer.text
        return answer.json()

    def job(self):
        return requests.get(f"{self.served.url}/jobs/welcome-1", timeout=PATIENCE_S).json()

    def counted(self):
        """Return how many of the job's records have a task.

        One whose create landed although its answer was late is found by the next delivery.
        """
        job = self.job()
        return job["created"] + job["existed"]

    def submit(self, records):
        self.post("/jobs", submission(self.served.folder, records))

    def tick(self):
        return self.post("/control/tick")

    def tasks(self):
        """Return the names of the tasks that wait."""
        return [task["name"] for queue in GROUP.queues for task in self._pages(queue)]

    def pause_queues(self):
        for queue in GROUP.queues:
            assert requests.post(f"{self.rest}/v2/{queue}:pause", timeout=PATIENCE_S).ok

    def _pages(self, queue):
        token = ""
        while True:
            query = {"pageSize": 1000, "pageToken": token}
            page = requests.get(
                f"{self.rest}/v2/{queue}/tasks", params=query, timeout=PATIENCE_S
            ).json()
            yield from page.get("tasks", [])
            token = page.get("nextPageToken", "")
            if not token:
                return

    def command(self, *arguments: str):
        """Run a command against the service; return what it printed, as JSON."""
        env = {
            **os.environ,
            "INJECTOR_SERVICE_URL": self.served.url,
            "INJECTOR_STORE_URL": str(self.served.folder / "chunks"),
        }
        command = [sys.executable, "-m", "injector", *arguments, "--json"]
        ended = subprocess.run(
            command, env=env, cwd=self.served.folder, capture_output=True, text=True, check=False
        )
        assert ended.returncode in {0, 1}, ended.stderr
        return json.loads(ended.stdout)


@pytest.fixture
def world(tmp_path):
    control, port = free_port(), free_port()
    command = [sys.executable, "-m", "injector.emulator", "--port", str(port)]
    origin = repr(time.time())
    command += ["--control-port", str(control), "--dynamics", "off"]
    command += ["--speed", SPEED, "--origin", origin]
    names = (*GROUP.injector_queues, *GROUP.queues)
    command += [part for name in names for part in ("--queue", name)]
    with ExitStack() as stack:
        log = stack.enter_context((tmp_path / "emulator.log").open("wb"))
        stack.callback(stop, subprocess.Popen(command, stdout=log, stderr=log))
        served = serve(tmp_path, f"127.0.0.1:{port}", origin)
        stack.callback(stop, served.process)
        await_ready(served)
        made = World(served, f"http://127.0.0.1:{control}")
        until(lambda: answers(f"{made.rest}/healthz"))
        made.pause_queues()
        yield made


def serve(folder: Path, emulator, origin):
    port = free_port()
    log = folder / "service.log"
    process = spawn(
        folder,
        log,
        emulator,
        PORT=str(port),
        INJECTOR_GROUPS=json.dumps(GROUPS),
        INJECTOR_SERVICE_URL=f"http://127.0.0.1:{port}",
        INJECTOR_HANDLER_BUDGET_S="6",
        INJECTOR_CLOCK_SPEED=SPEED,
        INJECTOR_CLOCK_ORIGIN=origin,
        INJECTOR_MONITORING="on",
        INJECTOR_HORIZON_S=HORIZON_S,
    )
    return Served(process, f"http://127.0.0.1:{port}", None, folder, log)


def all_parked(world):
    """Tell whether every injector task that was fed has been delivered."""
    events = [json.loads(line) for line in world.served.log.read_text().splitlines()]
    ended = {"chunk.settled", "chunk.parked", "chunk.dropped"}
    delivered = {line["chunk"] for line in events if line.get("event") in ended}
    return len(delivered) >= world.job()["fed"]


def test_a_pause_stops_creates_at_once_and_a_resume_loses_and_doubles_nothing(world):
    world.submit(20_000)
    world.tick()
    until(lambda: world.job()["chunks_settled"] > 5)
    assert world.command("pause", "welcome-1")["state"] == "paused"
    until(lambda: all_parked(world))
    assert len(world.tasks()) == world.counted() < 20_000
    world.command("resume", "welcome-1")
    until(lambda: world.tick() and world.job()["state"] == "finished")
    tasks = world.tasks()
    assert len(tasks) == len(set(tasks)) == world.counted() == 20_000


def test_a_cancelled_job_has_its_waiting_tasks_deleted_and_counted(world):
    world.submit(5000)
    world.tick()
    until(lambda: world.counted() == 5000)
    world.command("cancel", "welcome-1", "--delete", "--yes")
    until(lambda: world.tick() and world.job()["taken_back"]["done"])
    assert world.tasks() == []
    assert world.job()["taken_back"] == {
        "deleted": 5000,
        "gone": 0,
        "chunks_done": 50,
        "chunks": 50,
        "done": True,
    }


def test_a_group_shows_how_many_tasks_wait_in_each_queue(world):
    world.submit(250)
    world.tick()
    until(lambda: world.counted() == 250)

    def waiting():
        url = f"{world.served.url}/groups/welcome/queues"
        queues = requests.get(url, timeout=PATIENCE_S).json()["queues"]
        return {queue["name"]: queue["waiting"] for queue in queues}

    until(lambda: sum(waiting()[queue] or 0 for queue in GROUP.queues) == 250)
    page = requests.get(f"{world.served.url}/dashboard/groups/welcome/queues", timeout=PATIENCE_S)
    assert all(f'data-after="waiting">{number}</td>' in page.text for number in waiting().values())


def test_chosen_records_are_sent_again_as_a_job_of_their_own(world):
    world.submit(250)
    world.tick()
    until(lambda: world.counted() == 250)
    child = world.command(
        "redrive", "welcome-1", "--records", "3,100-101", "--as", "again", "--yes"
    )
    assert (child["id"], child["parent"], child["records"]) == ("again", "welcome-1", 3)
    until(lambda: world.tick() and len(world.tasks()) == 253)
    rows = world.command("report", "again", "--out", "rows.csv")
    assert rows["rows"] == 0


def test_the_missing_of_a_cancelled_job_are_sent_by_a_child_under_the_same_names(world):
    world.submit(20_000)
    world.tick()
    until(lambda: world.job()["chunks_settled"] > 5)
    world.command("cancel", "welcome-1", "--yes")
    until(lambda: all_parked(world))
    missing = 20_000 - world.counted()
    child = world.command("redrive", "welcome-1", "--missing", "--as", "rest", "--yes")
    assert child["records"] == missing
    until(lambda: world.tick() and len(world.tasks()) == 20_000)


def test_doctor_sees_that_the_queues_stand_still(world):
    found = world.command("doctor")
    assert not found["healthy"]
    said = [each["said"] for each in found["findings"] if each["verdict"] == "fault"]
    assert [f"{PARENT}/welcome-{n} is paused" in one for n, one in enumerate(said)] == [True, True]


def test_a_removed_job_takes_its_chunks_along_and_leaves_its_records(world):
    world.submit(250)
    world.command("cancel", "welcome-1", "--yes")
    looked = world.command("rm", "welcome-1", "--dry-run")
    removed = world.command("rm", "welcome-1", "--yes")
    assert (looked["removed"], removed["removed"]) == (False, True)
    assert looked["bytes_freed"] == removed["bytes_freed"] > 0
    assert removed["source"] == str(world.served.folder / "users.jsonl")
    assert list((world.served.folder / "chunks").iterdir()) == []
    assert (world.served.folder / "users.jsonl").stat().st_size > 0
    world.submit(250)
    assert world.job()["state"] == "running"
