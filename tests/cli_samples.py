"""What the command line's tests read, and what the service answers them."""

import json

URL = "http://127.0.0.1:8080"
QUEUES = "projects/p/locations/l/queues"
GROUPS = f"""\
groups:
  welcome:
    injector_queues: {QUEUES}/injector-[0-1]
    queues: {QUEUES}/welcome-[00-09]
"""
MANIFEST = """\
job: welcome
group: welcome
records: users.csv
identity: {field: user_id}
task:
  http:
    url: https://worker.example/users/{user_id}
    headers: {X-Campaign: welcome}
"""
JOB = {
    "id": "welcome",
    "group": "welcome",
    "state": "running",
    "reason": "",
    "records": 1000,
    "chunks": 10,
    "created": 600,
    "existed": 10,
    "rejected": 5,
    "rejects_allowed": 10,
    "digest": "d" * 64,
    "settled": 615,
    "fed": 8,
    "rate_now": 480.0123,
    "rate_allowed": 500.0,
    "eta_s": 75.0,
    "started_at": 1_800_000_000.0,
    "finished_at": None,
    "ramp": {"dangers": []},
}
FINISHED = {**JOB, "state": "finished", "created": 985, "finished_at": 1_800_000_060.0}


def read(capsys):
    return json.loads(capsys.readouterr().out)


def summary_of(job):
    return {"job": job, "took_s": 60.0, "operations": 2000, "cost_usd": 0.0, "ramp_history": []}
