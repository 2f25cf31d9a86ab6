"""The service against the emulator, whose tokens are all that anyone here shows it."""

import json
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from injector.delivery.connection import Address, Connection
from injector.delivery.creator import Delivery, make_creator
from injector.delivery.ports import Create, TaskTemplate, Token
from injector.ledger import open_ledger
from injector.ledger.ports import JobState
from tests.bench import GROUP, MANIFEST, PARENT
from tests.house import PERSON, QUEUE, SCHEDULER
from tests.served import Served, await_ready, spawn, stop, submission
from tests.waiting import answers, free_port, until


@dataclass
class World:
    """A service that verifies callers, and an emulator through whose tasks they call."""

    served: Served
    ledger: object
    creator: object
    calls: int = 0

    def call(self, path, email, body=b"", audience=""):
        """Have the emulator POST to the service as somebody."""
        self.calls += 1
        token = Token("oidc", email, audience or self.served.url)
        url = f"{self.served.url}{path}"
        create = Create(
            f"{PARENT}/callers", f"call-{self.calls}", url, body, template=TaskTemplate(token=token)
        )
        (result,) = self.creator.create_all([create], budget_s=10)
        assert result.code == "OK", result

    def answers(self, path):
        """Return the statuses that calls of a path have got so far."""
        lines = [json.loads(line) for line in self.served.log.read_text().splitlines()]
        return [line for line in lines if line.get("event") == path]


@pytest.fixture
def world(tmp_path):
    control, port = free_port(), free_port()
    names = [*GROUP.injector_queues, *GROUP.queues, f"{PARENT}/callers"]
    command = [sys.executable, "-m", "injector.emulator", "--port", str(port)]
    command += ["--control-port", str(control), "--dynamics", "off"]
    command += [part for name in names for part in ("--queue", name)]
    with ExitStack() as stack:
        log = stack.enter_context((tmp_path / "emulator.log").open("wb"))
        emulator = subprocess.Popen(command, stdout=log, stderr=log)
        stack.callback(stop, emulator)
        served = start_service(tmp_path, f"127.0.0.1:{port}", f"http://127.0.0.1:{control}")
        stack.callback(stop, served.process)
        await_ready(served)
        until(lambda: answers(f"http://127.0.0.1:{control}/healthz"))
        connection = Connection(Address(emulator_host=f"127.0.0.1:{port}"))
        stack.callback(connection.close)
        ledger = open_ledger(f"sqlite:///{tmp_path}/ledger.db")
        stack.callback(ledger.close)
        yield World(served, ledger, make_creator(connection, Delivery(mode="single")))


def start_service(folder, emulator, issuer):
    port = free_port()
    url, log = f"http://127.0.0.1:{port}", folder / "service.log"
    process = spawn(
        folder,
        log,
        emulator,
        PORT=str(port),
        INJECTOR_AUTH="oidc",
        INJECTOR_SERVICE_URL=url,
        INJECTOR_QUEUE_CALLERS=QUEUE,
        INJECTOR_SCHEDULER_CALLERS=SCHEDULER,
        INJECTOR_PEOPLE=PERSON,
        INJECTOR_OIDC_ISSUER=issuer,
        INJECTOR_OIDC_KEYS_URL=f"{issuer}/oauth2/v3/certs",
    )
    return Served(process, url, None, folder, log)


def test_a_job_runs_when_every_caller_shows_a_token_of_the_emulator(world):
    manifest = MANIFEST.replace(
        'url: "https://worker.example/users/{n}"', f'url: "{world.served.url}/healthz", method: GET'
    )
    body = submission(world.served.folder, 250, manifest)
    world.call("/jobs", PERSON, json.dumps(body).encode())
    until(world.ledger.jobs.list)
    world.call("/control/tick", SCHEDULER)
    until(lambda: world.ledger.jobs.totals("welcome-1").created == 250)
    world.call("/control/tick", SCHEDULER)
    until(lambda: world.ledger.jobs.get("welcome-1").state is JobState.FINISHED)
    assert world.ledger.jobs.audit("welcome-1")[-1].who == PERSON


@pytest.mark.parametrize(
    ("email", "audience", "why"),
    [
        ("someone@p.example", "", "someone@p.example is not one of the people callers"),
        (QUEUE, "", f"{QUEUE} is not one of the people callers"),
        (PERSON, "https://other.example", "the token's aud is not what it must be"),
    ],
)
def test_a_token_of_the_emulator_for_someone_else_lets_no_one_in(world, email, audience, why):
    body = submission(world.served.folder, 10)
    world.call("/jobs", email, json.dumps(body).encode(), audience)
    until(lambda: world.answers("caller.refused"))
    assert world.answers("caller.refused")[0]["why"] == why
    assert not world.ledger.jobs.list()
