import subprocess

import pytest

from tests.chaos.local_world import INJECTOR, local_world
from tests.chaos.relay import relay
from tests.waiting import until


@pytest.fixture
def world(tmp_path):
    with local_world(tmp_path) as started:
        yield started


def submitting(world, *options: str, source=subprocess.DEVNULL):
    return subprocess.Popen(
        [*INJECTOR, "submit", "job.yaml", "--yes", *options],
        cwd=world.folder,
        env=world.environ,
        stdin=source,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def end_while_staging(world):
    """Kill a submit whose records have no end, once it has written some."""
    with subprocess.Popen(["yes", '{"n": 1}'], stdout=subprocess.PIPE) as endless:
        submit = submitting(world, "--records", "-", source=endless.stdout)
        endless.stdout.close()
        parts = (world.run.folder / "chunks").glob
        until(
            lambda: any(part.stat().st_size for part in parts("chaos-1/*/part-*")),
            what="a part of the staging is written",
        )
        submit.kill()
        submit.wait()


def end_while_registering(world, moment):
    """Kill a submit just before, or just after, its job is registered."""

    def end():
        submit.kill()
        return True

    with relay(world.run.service_url, **{moment: end}) as between:
        submit = submitting(world, "--service", between.url)
        submit.wait()


def known(world):
    return "chaos-1" in world.command("jobs").stdout


@pytest.mark.timeout(300)
def test_a_submit_that_is_killed_at_any_moment_can_be_repeated(world):
    end_while_staging(world)
    assert not known(world)
    end_while_registering(world, "before")
    assert not known(world)
    end_while_registering(world, "after")
    assert known(world)
    assert "registered already" in world.submit().stdout
    world.await_end()
    account = world.account()
    assert account.faults() == []
    assert account.redelivered == 0


@pytest.mark.timeout(300)
def test_a_registration_whose_answer_is_lost_counts_once(world):
    lost = iter([True])
    with relay(world.run.service_url, after=lambda: next(lost, False)) as between:
        done = world.submit("--service", between.url)
    assert done.returncode == 0, done.stderr
    world.await_end()
    assert world.account().faults() == []
