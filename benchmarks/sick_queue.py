"""What one sick queue of ten costs the other nine, in virtual time.

    python benchmarks/sick_queue.py

Controller, feed, fan-out, delivery and ledger are the product's, queues and dispatch the
emulator's; a chunk has 20 records in place of 100. For fifteen minutes, from the seventh of a job
on, one queue answers every create with the code that is named. Counted are the tasks that the
other nine got meanwhile, beside the same run with no fault, and the calls that the sick queue got
for each record meant for it. After that it recovers, and the run goes on until the job is done:
every record has exactly one task.
"""

from collections.abc import Iterator, Sequence

from rows import Row, printed

from injector.emulator.faults.plan import Effect, Fault
from injector.emulator.rpc import Code
from injector.pacing.ramp import Ramp
from tests.pace.virtual_world import VirtualWorld, virtual_world

RAMP = Ramp(initial_rate=1.0, max_rate=4.0)
CHUNKS, PER_CHUNK, QUEUES = 3600, 20, 10
BEFORE_MIN, SICK_MIN = 6, 15
CODES = (Code.UNAVAILABLE, Code.RESOURCE_EXHAUSTED, Code.NOT_FOUND, Code.PERMISSION_DENIED)


def rows(*, full: bool) -> Iterator[Row]:
    """Make one queue sick, by one code or by all of them."""
    healthy, *_ = run(None)
    for code in CODES if full else CODES[:1]:
        sick, calls, recovered_min = run(code)
        what = f"one queue of ten answers {code.name}"
        share = 100 * sick / healthy
        yield Row(
            f"{what}, creates of the others", share, "%", "all well", 100.0, "more", ">= 90 %"
        )
        yield Row(f"{what}, calls to it for a record of its own", calls, "calls")
        yield Row(f"{what}, all created after it recovers", recovered_min, "min")


def run(code: Code | None) -> tuple[int, float, float]:
    """Return the tasks that the others got, the calls a record, and the minutes to the end."""
    with virtual_world(ramp=RAMP, queues=QUEUES, per_chunk=PER_CHUNK) as world:
        sick, *others = world.group.queues
        world.submit(chunks=CHUNKS)
        world.run(BEFORE_MIN)
        before, fed = made(world, others), world.totals.fed
        if code:
            world.fault(Fault("sick", Effect.ERROR, ("CreateTask",), sick, code=code))
        world.run(SICK_MIN)
        made_meanwhile = made(world, others) - before
        meant = (world.totals.fed - fed) * PER_CHUNK / QUEUES
        calls = world.parts.plan.counts()[0][1] / meant if code else 0.0
        world.fault()
        ended = world.minutes
        world.finish(within_min=600)
        assert world.tasks_made() == len(world.delivered) == CHUNKS * PER_CHUNK, "each has one task"
        return made_meanwhile, calls, world.minutes - ended


def made(world: VirtualWorld, queues: Sequence[str]) -> int:
    """Return how many tasks these queues got."""
    return sum(world.begun[queue] for queue in queues)


if __name__ == "__main__":
    printed(rows(full=True))
