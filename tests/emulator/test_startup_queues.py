"""The queues that an emulator starts with."""

import asyncio
from math import inf, nan

import pytest

from injector.emulator.api.service import Rules
from injector.emulator.assembly import assemble
from injector.emulator.options import Options
from injector.emulator.server import running
from injector.emulator.startup import open_queues
from injector.emulator.state.registry import Windows
from injector.errors import Misused

LOCATION = "projects/p/locations/us-central1"
YAML_FILE = f"""
queues:
  - {LOCATION}/queues/plain
  - name: {LOCATION}/queues/full
    rate_limits: {{max_dispatches_per_second: 0.5, max_concurrent_dispatches: 3}}
    retryConfig: {{maxAttempts: 7, minBackoff: 2s, maxBackoff: 60s}}
    http_target:
      uri_override: {{host: worker.test, scheme: HTTP}}
"""


def opened(**options: object):
    parts = assemble(Options(**options))
    open_queues(parts.service, Options(**options))
    return parts.service


def test_named_queues_are_opened_with_or_without_settings():
    settings = "{rateLimits: {maxDispatchesPerSecond: 2, maxConcurrentDispatches: 1}}"
    service = opened(queues=(f"{LOCATION}/queues/a", f"{LOCATION}/queues/b={settings}"))
    rates = [q.limits.rate.max_dispatches_per_second for q in service.registry.queues.values()]
    assert rates == [500, 2]


def test_file_gives_queues_their_whole_configuration(tmp_path):
    path = tmp_path / "queues.yaml"
    path.write_text(YAML_FILE)
    service = opened(queues_file=path)
    full = service.registry.queues[f"{LOCATION}/queues/full"]
    assert len(service.registry.queues) == 2
    assert full.limits.rate.max_dispatches_per_second == 0.5
    assert (full.limits.retry.max_attempts, full.limits.retry.min_backoff_s) == (7, 2)
    assert service.configs[full.name].http_target.uri_override.host == "worker.test"


def test_queue_may_start_paused():
    service = opened(queues=(f"{LOCATION}/queues/a={{state: PAUSED}}", f"{LOCATION}/queues/b"))
    states = {queue.id: queue.state.name for queue in service.registry.queues.values()}
    assert states == {"a": "PAUSED", "b": "RUNNING"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("queues: 3", "needs a list of queues"),
        ("- 3", "queue 1: needs settings"),
        (f"- {{name: {LOCATION}/queues/q, nope: 1}}", "queue 1: .*nope"),
        ("- projects/p/queues/q", "queue 1: Queue name must be formatted"),
        (
            f"- {{name: {LOCATION}/queues/q, rate_limits: {{max_dispatches_per_second: 501}}}}",
            "less than or equal to 500",
        ),
        ("\t- x", "queues.yaml: .*cannot start any token"),
    ],
)
def test_mistake_in_the_file_is_told_with_its_place(tmp_path, text, message):
    path = tmp_path / "queues.yaml"
    path.write_text(text)
    with pytest.raises(Misused, match=f"(?s){message}"):
        opened(queues_file=path)


def test_missing_file_is_told(tmp_path):
    with pytest.raises(Misused, match="cannot be read"):
        opened(queues_file=tmp_path / "none.yaml")


@pytest.mark.parametrize("text", ["- a: {", "a: 1\na: 2\n", "- !x\n\ty", "\x00", "[" * 2000])
def test_broken_yaml_is_told_in_one_line(tmp_path, text):
    path = tmp_path / "queues.yaml"
    path.write_text(text)
    with pytest.raises(Misused) as failure:
        opened(queues_file=path)
    (line,) = str(failure.value).splitlines()
    assert line.startswith(f"{path}: ")


@pytest.mark.parametrize(
    "options",
    [
        {"speed": 0},
        {"speed": nan},
        {"speed": inf},
        {"origin": nan},
        {"port": -1},
        {"port": 65_536},
        {"control_port": 70_000},
        {"windows": Windows(task_s=nan)},
        {"windows": Windows(queue_s=-1)},
        {"rules": Rules(operation_s=inf)},
        {"rules": Rules(ready_s=-1)},
        {"rules": Rules(max_queues=-1)},
        {"app_engine": "localhost:8080"},
    ],
)
def test_setting_that_cannot_work_is_refused(options):
    with pytest.raises(Misused, match="needs"):
        Options(**options)


def test_port_that_is_taken_is_told():
    async def twice() -> None:
        async with running(Options(port=0)) as first:
            taken = f"127.0.0.1:{first.port}: cannot listen: .*in use"
            with pytest.raises(Misused, match=taken):
                async with running(Options(port=first.port)):
                    pass

    asyncio.run(twice())
