"""The queues that a local run starts with are as its groups file wants them."""

import pytest

from injector.cli.main import run
from injector.local.start_queues import start_queues
from injector.manifest import load_groups
from tests.emulator.live import live_emulator

PLAIN = """
groups:
  mail:
    injector_queues: projects/p/locations/us-central1/queues/mail-injector
    queues: projects/p/locations/us-central1/queues/mail-[00-01]
"""
SHAPED = """
groups:
  mail:
    injector_queues: projects/p/locations/us-central1/queues/mail-injector
    queues: projects/p/locations/us-central1/queues/mail-[00-01]
    dispatch: {rate: 120, concurrency: 30}
    retry: {max_attempts: 7, min_backoff: 0.5s}
"""


@pytest.mark.parametrize("groups", [PLAIN, SHAPED])
def test_a_local_run_passes_its_own_check(groups, tmp_path, monkeypatch, capsys):
    (tmp_path / "groups.yaml").write_text(groups)
    group = load_groups(groups, source="groups.yaml")["mail"]
    monkeypatch.setenv("INJECTOR_GROUPS", str(tmp_path / "groups.yaml"))
    with live_emulator(queues=tuple(start_queues(group))) as live:
        monkeypatch.setenv("CLOUDTASKS_EMULATOR_HOST", f"127.0.0.1:{live.running.port}")
        assert run(["group", "check", "mail"]) == 0, capsys.readouterr()
    assert "nothing is wrong with 3 queues" in capsys.readouterr().out
