"""Feeds that crash anywhere lose no chunk."""

from contextlib import suppress
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from injector.delivery.memory import MemoryQueues
from injector.injector_task import parse_injector_task
from tests.service.fed import NOW


class Crash(BaseException):
    """The process ends here."""


@dataclass
class CrashingJobs:
    """Jobs of a process that ends before, or just after, it notes the n-th batch."""

    jobs: object
    left: int
    noted: bool

    def __getattr__(self, name) -> object:
        return getattr(self.jobs, name)

    def advance(self, *args: object, **options: object):
        return self._note(self.jobs.advance, *args, **options)

    def refeed(self, *args: object, **options: object):
        return self._note(self.jobs.refeed, *args, **options)

    def _note(self, note, *args: object, **options: object):
        self.left -= 1
        if self.left < 0:
            if self.noted:
                note(*args, **options)
            raise Crash
        return note(*args, **options)


@dataclass
class LossyQueues:
    """Queues in which the feed's creates meet the statuses of a pattern, in turn."""

    queues: MemoryQueues
    pattern: list[str]

    def create_injector_tasks(self, creates, *, budget_s):
        results = []
        for number, create in enumerate(creates):
            code = self.pattern[number % len(self.pattern)]
            faulty = MemoryQueues(faults=[code]) if code else self.queues
            if code.startswith("DEADLINE"):
                self.queues.create_all([create], budget_s=budget_s)
            results += faulty.create_all([create], budget_s=budget_s)
        return results


STEPS = st.tuples(
    st.floats(0, 1500),
    st.one_of(st.none(), st.tuples(st.integers(0, 4), st.booleans())),
    st.lists(
        st.sampled_from(["", "", "", "UNAVAILABLE", "DEADLINE_EXCEEDED"]), min_size=1, max_size=9
    ),
    st.sets(st.integers(0, 59)),
    st.sets(st.sampled_from(["a", "b"])),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(STEPS, max_size=8))
def test_every_chunk_is_fed_until_it_is_settled_wherever_a_feed_crashes(field_of, steps):
    ground = field_of(batch=7)
    ground.add("a", chunks=40, weight=2.0)
    ground.add("b", chunks=20)
    now, settled = NOW, {"a": set(), "b": set()}

    def step(later, crash, pattern, deaf, recalled):
        """Feed, then settle what was dispatched, except for chunks that are lost or recalled."""
        nonlocal now
        now += later
        jobs = CrashingJobs(ground.ledger.jobs, *crash) if crash else None
        before = set(ground.queues.created)
        with suppress(Crash):
            ground.feed(now=now, rate=0.5, jobs=jobs, queues=LossyQueues(ground.queues, pattern))
        for job in sorted(recalled):
            ground.ledger.jobs.recall(job, ground.ledger.jobs.get(job).generation)
        for name in set(ground.queues.created) - before:
            task = parse_injector_task(ground.queues.created[name].body)
            if task.chunk not in deaf and task.job not in recalled:
                settled[task.job].add(task.chunk)
                ground.settle([task.chunk], job=task.job)

    for each in steps:
        step(*each)
    for _ in range(5):
        step(2000.0, None, [""], set(), set())
    assert settled == {"a": set(range(40)), "b": set(range(20))}
    assert ground.ledger.jobs.finish("a", now=now)
    assert ground.ledger.jobs.finish("b", now=now)
