"""Whose injector tasks, fed minutes ahead, are recalled because a job was given another pace.

Those of jobs that are to go slower from now on. One that may go faster has all that was fed of it,
and more with what is fed next. Recalled tasks stay in the queue, which dispatches them to be
acknowledged: until the time for which they were fed is over, minutes at most, a group whose rate
is used up does about half of its work. To delete them would take a right on the injector queues.
"""

import math
from collections.abc import Iterable

from injector.ledger.ports import Job, JobState, Tuning


def slower(job: Job, tuning: Tuning, active: Iterable[Job]) -> frozenset[str]:
    """Return the jobs that go slower once `job` is tuned so; `active` are those of its group."""
    limit, before = tuning.max_rate or math.inf, job.max_rate or math.inf
    found = {job.id} if limit < before else set()
    if job.state is not JobState.RUNNING:
        return frozenset(found)
    new, old = (tuning.priority, tuning.weight), (job.priority, job.weight)
    between = range(min(new[0], old[0]), max(new[0], old[0]) + 1)
    rivals = {
        each.id
        for each in active
        if each.state is JobState.RUNNING and each.id != job.id and each.priority in between
    }
    if new > old:
        found |= rivals
    elif new < old and rivals:
        found.add(job.id)
    return frozenset(found)
