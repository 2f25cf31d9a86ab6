"""A service with something to see: jobs in every state, an hour of signals, a ramp with a cut."""

import math
import time
from collections import Counter
from dataclasses import replace

from injector.control.memory import Memory, Said
from injector.control.ramp_state import RampState
from injector.ledger import open_ledger
from injector.ledger.ports import (
    AuditLine,
    Chunks,
    GroupState,
    JobState,
    NewJob,
    RampDecision,
    Receipt,
    Reject,
)
from injector.operations.values import Act, Operation, State
from injector.pacing.histogram import Histogram
from injector.pacing.signals import Signals

EVIL = (
    "<script>document.title='broken in'</script><img src=x onerror=\"document.title='broken in'\">"
)
LONG_NUMBER = "653247040368672768"
STEPS = ((60, 5.0), (50, 7.5), (40, 11.25), (30, 16.9), (22, 8.4), (12, 12.6))


def furnish(url):
    """Fill the ledger at the URL, beside the job that the service was given."""
    ledger = open_ledger(url)
    now = time.time()
    for job in (_job(LONG_NUMBER), _job("spring-2026", records=50_000_000)):
        ledger.jobs.register(job, now=now - 4000)
    ledger.jobs.set_state("spring-2026", JobState.PAUSED, "2.1 % rejected, 1 % allowed", now=now)
    ledger.jobs.advance(LONG_NUMBER, Chunks(0, 2, 0), scheduled_until=now, now=now - 3900)
    _reject(ledger, LONG_NUMBER, now)
    _ramp(ledger, now)
    _operate(ledger, now)
    for minute in range(60, 0, -1):
        ledger.signals.add("welcome", _signals(minute), now=now - 60 * minute)
    ledger.close()


def _job(name, records=250):
    manifest = (
        '{"job":"%s","group":"welcome","records":"u.jsonl","task":{"http":{"url":"http://t"}}}'
    )
    return NewJob(
        id=name,
        group="welcome",
        manifest_json=manifest % name,
        store="/chunks",
        records=records,
        chunks=math.ceil(records / 100),
        digest="d" * 64,
    )


def _reject(ledger, job, now):
    """Reject the first four records, with reasons that a person wrote."""
    reasons = (EVIL, "field 'id' is 9007199254740993", "not JSON", "body of 2,000,000 bytes")
    rejects = tuple(Reject(i, i, i + 1, reason, "users.jsonl") for i, reason in enumerate(reasons))
    every = (1 << 100) - 1
    receipt = Receipt(job, 0, 100, every & ~0b1111, 0, 0b1111, rejects)
    ledger.receipts.merge(receipt, now=now)


RAMPING = Operation(
    id="ramp-20261201-090000-3fa9",
    kind="ramp",
    group="welcome",
    spec={"to": 20_000.0, "queues": [f"projects/p/locations/l/queues/w-{n}" for n in range(40)]},
    slot="set",
    who="ann@p.example",
    step=6,
    steps=10,
    acts=tuple(Act("set", f"w-{n}") for n in range(40)),
    acts_done=31,
)
REASONS = (
    "40 queues begin at 500 dispatches/s in all",
    "used and healthy for 5 min; up to 750/s",
    "used and healthy for 5 min; up to 1,125/s",
    "used and healthy for 5 min; up to 1,688/s",
    "held: 6 % of attempts failed with UNAVAILABLE, which is the target's own congestion",
    "healthy again for 5 min; up to 2,531/s",
)


def _operate(ledger, now):
    """Leave a ramp under way, and operations that wait, are paused, and were rolled back."""
    ramp = replace(RAMPING, started_at=now - 1900, next_at=now + 60, ends_at=now + 1500)
    lines = [
        AuditLine(now - 1900 + 300 * n, ramp.id, "", "step", str(n), str(n + 1), reason)
        for n, reason in enumerate(REASONS)
    ]
    ledger.operations.begin(replace(ramp, reason=REASONS[-1]), lines=lines)
    others = (
        ("keep-warm", State.PAUSED, "paused by ann@p.example"),
        ("spread", State.RUNNING, "waits for 9:00"),
        ("expand", State.ROLLED_BACK, f"p95 of creates doubled; the new queues rest {EVIL}"),
    )
    for kind, state, reason in others:
        found = Operation(f"{kind}-1", kind, "welcome", {"every_s": 60.0}, kind, "bob@p.example")
        ended_at = now - 60 if state is State.ROLLED_BACK else None
        at = replace(found, started_at=now - 9000, ended_at=ended_at)
        ledger.operations.begin(replace(at, state=state, reason=reason))


def _ramp(ledger, now):
    for version, (minutes, rate) in enumerate(STEPS):
        cut = minutes == 22
        reason = (
            f"7 % of creates failed with RESOURCE_EXHAUSTED; back to half, {rate}/s"
            if cut
            else f"used and healthy for 300 s; up to {rate}/s"
        )
        kind = "cut" if cut else "raise"
        at = now - 60 * minutes
        memory = Memory(
            RampState(
                rate=rate, reached=rate * 0.95, good_rate=11.25, ticked_at=now, active_at=now
            ),
            said=Said(now - 20, "hold", "213 s of 300 s since the last step; all is well"),
        )
        state = GroupState("welcome", memory.to_json(), version, at)
        decision = RampDecision(at, kind, rate, 80, reason)
        assert ledger.groups.save(state, expected_version=version, decision=decision)


def _signals(minutes_ago):
    rate = next(rate for minutes, rate in reversed(STEPS) if minutes >= minutes_ago)
    overloaded = 22 <= minutes_ago <= 26
    wave = 1 + 0.03 * math.sin(minutes_ago)
    created = round(rate * 100 * 60 * wave * (0.8 if overloaded else 0.96))
    slow = 0.09 if overloaded else 0.03
    return Counter(
        Signals(
            accepted=created,
            local_rejects=created // 20 if overloaded else 0,
            hedges_sent=created // 90,
            hedges_won=created // 200,
            fan_outs=created // 100,
            deferred=created // 900 if overloaded else 0,
            faults={"RESOURCE_EXHAUSTED": created // 14, "UNAVAILABLE": created // 90}
            if overloaded
            else {},
            latency=Histogram.of([slow * wave] * 80 + [slow * 4 * wave] * 20),
        ).to_counts()
    )
