"""What is said of tasks that could not be deleted."""

import asyncio
from dataclasses import dataclass

import pytest

from injector.delivery.channel import CallFailed
from injector.delivery.deletes import delete_all

QUEUE = "projects/p/locations/l/queues/q"
NAME = f"{QUEUE}/tasks/t"


@dataclass
class Failing:
    """A line on which every call fails with the same status."""

    code: str

    async def call(self, *_: object, **__: object) -> bytes:
        raise CallFailed(self.code, "asked for by a test")


def deleted(code):
    return asyncio.run(delete_all(Failing(code), names={QUEUE: [NAME]}, mark="", budget_s=5.0))


def test_who_may_not_delete_learns_which_role_would_do():
    found = deleted("PERMISSION_DENIED")
    assert found.left == (NAME,)
    assert "grant roles/cloudtasks.taskDeleter" in found.reason


@pytest.mark.parametrize("code", ["UNAVAILABLE", "DEADLINE_EXCEEDED"])
def test_a_fault_that_no_role_would_mend_names_none(code):
    assert "roles/" not in deleted(code).reason
