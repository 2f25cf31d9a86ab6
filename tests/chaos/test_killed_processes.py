import pytest

from tests.chaos.local_world import local_world

MOMENTS = (0.1, 0.4, 0.75)


@pytest.fixture
def world(tmp_path):
    with local_world(tmp_path) as started:
        yield started


def run_with_kills(world, kind):
    """Submit a job, kill a process three times in its midst, and return the job's account."""
    assert world.submit().returncode == 0
    for moment in MOMENTS:
        world.await_settled(moment)
        world.kill(kind)
    world.await_end()
    return world.account()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", ["worker", "master", "lifeline"])
def test_every_record_comes_exactly_once_when_the_service_is_killed(world, kind):
    account = run_with_kills(world, kind)
    assert account.faults() == []
    assert account.redelivered == 0


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", ["emulator", "target", "up"])
def test_every_record_has_one_task_when_what_calls_or_is_called_is_killed(world, kind):
    assert run_with_kills(world, kind).faults() == []
