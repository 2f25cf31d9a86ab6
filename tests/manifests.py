"""Manifests to begin with, and what a reader complains of."""

import re

import pytest

from injector.errors import Misused
from injector.manifest import load_manifest

WHOLE = """\
job: welcome-2026-11
group: welcome
records: users.csv.gz
identity: {field: user_id}
task:
  http:
    url: https://worker.example/users/{user_id}/welcome
    method: POST
    headers: {X-Campaign: welcome}
    body: record
    oidc: {service_account: s@p.iam.gserviceaccount.com, audience: https://worker.example}
  dispatch_deadline: 10m
  schedule: now
stop_when_rejected: 1%
"""
SHORT = """\
job: j
group: g
records: r.jsonl
task: {http: {url: "https://t.example/"}}
"""
PLACED = re.compile(r"m\.yaml:\d+:\d+: .+")


def read(text):
    return load_manifest(text, source="m.yaml")


def complaints(text):
    with pytest.raises(Misused) as failure:
        read(text)
    lines = str(failure.value).splitlines()
    assert all(PLACED.fullmatch(line) for line in lines), lines
    return lines


def only(text):
    (line,) = complaints(text)
    return line
