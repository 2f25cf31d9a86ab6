"""A job of a house, and what is done with it."""

from tests.bench import MANIFEST

LENIENT = MANIFEST + "stop_when_rejected: 100%\n"


def submitted(house, records=250, **options: object):
    assert house.submit(house.stage(records, **options)).status_code == 201
    return house


def post(house, act, body=None, job="welcome-1", **headers: str):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return house.ask("POST", f"/jobs/{job}/{act}", json=body, headers=named)


def patch(house, body, job="welcome-1", **headers: str):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return house.ask("PATCH", f"/jobs/{job}", json=body, headers=named)


def job_of(house, job="welcome-1"):
    return house.get(f"/jobs/{job}").json


def audit_of(house, job="welcome-1"):
    return house.get(f"/jobs/{job}/audit").json["changes"]


def user_tasks(house):
    return [name for name in house.creator.queues.created if "/injector-" not in name]


def run_on(house, ticks=8):
    """Tick and dispatch until all that can happen has happened."""
    for _ in range(ticks):
        house.tick()
        house.dispatch_all()
        house.clock.time += 60
    house.tick()
