"""Telling a topic what happens to jobs and groups, in order, each event at least once.

An event's `injector-id` stays the same over all tries, so that a subscriber can tell a repeat.
A topic that cannot be published to is tried again at the next tick, and keeps no job waiting.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from injector.clock import Clock
from injector.delivery.ports import Create, Creator, Outcome
from injector.groups import Group
from injector.ledger.ports import AuditLine, JobState, LedgerPort, RampDecision

AT_ONCE = 100
SETTLED_AFTER_S = 60.0
RESERVE_S = 12.0
"""How much of its time a tick leaves; a publish may take it."""

STATES: Mapping[str, str] = {
    JobState.RUNNING: "resumed",
    JobState.PAUSED: "paused",
    JobState.CANCELLED: "cancelled",
    JobState.FINISHED: "finished",
    JobState.FAILED: "failed",
}
STEPS = frozenset({"start", "raise", "cut", "ease"})
"""The decisions that change a group's rate."""


@dataclass(frozen=True, slots=True)
class Event:
    """What happened: `number` is its place in its source, `id` the same over all tries."""

    source: str
    number: int
    id: str
    type: str
    at: float
    about: Mapping[str, object]

    def message(self, topic: str) -> Create:
        """Return it as a message; type and id are attributes, by which to filter and to drop."""
        data = {"type": self.type, "timestamp": self.at, "data": dict(self.about)}
        return Create(
            topic, self.id, "", json.dumps(data).encode(), headers=(("injector-event", self.type),)
        )


@dataclass(frozen=True, slots=True)
class Tells:
    """Tells one topic of all jobs and groups."""

    ledger: LedgerPort
    publisher: Creator
    clock: Clock
    topic: str

    def run(self, group: Group, *, rate: float, time_left: Callable[[], float]) -> Iterator[str]:
        """Tell what happened since the last time; all groups' events go with the first group's."""
        del group, rate
        settled = self.clock.now() - SETTLED_AFTER_S
        for read in (started, changed, stepped):
            if time_left() <= RESERVE_S:
                return
            if events := list(read(self.ledger, self.topic, settled)):
                yield from self._tell(events, budget_s=min(RESERVE_S, time_left()))

    def _tell(self, events: Sequence[Event], *, budget_s: float) -> Iterator[str]:
        """Publish them, and note how far that went without a gap."""
        wanted = [event for event in events if event.type]
        messages = [event.message(self.topic) for event in wanted]
        results = self.publisher.create_all(messages, budget_s=budget_s)
        ends = dict(zip((event.number for event in wanted), results, strict=True))
        told = 0
        for event in events:
            end = ends.get(event.number)
            if end and end.outcome is Outcome.NOT_TAKEN:
                yield f"{self.topic} could not be told of {event.type}: {end.reason or end.code}"
                break
            if end and end.outcome is Outcome.REJECTED:
                yield f"{self.topic} does not take {event.type}: {end.reason}"
            told = event.number
        if told:
            self.ledger.event_marks.told(self.topic, events[0].source, told)


def started(ledger: LedgerPort, topic: str, _settled: float) -> Iterator[Event]:
    """Yield the jobs that were begun."""
    for number, job, group, at in ledger.event_marks.started_after(topic, limit=AT_ONCE):
        about = {"job": job, "group": group}
        yield Event("started", number, f"{job}-started", "job.started", at, about)


def changed(ledger: LedgerPort, topic: str, settled: float) -> Iterator[Event]:
    """Yield the changes of jobs; those that are no event have no type."""
    for number, line in ledger.event_marks.audit_after(topic, settled=settled, limit=AT_ONCE):
        yield Event("audit", number, f"audit-{number}", _type(line), line.at, _about(line))


def stepped(ledger: LedgerPort, topic: str, settled: float) -> Iterator[Event]:
    """Yield the groups' steps; decisions that change no rate have no type."""
    found = ledger.event_marks.decisions_after(topic, settled=settled, limit=AT_ONCE)
    for number, group, decision in found:
        kind = "group.stepped" if decision.action in STEPS else ""
        about = {"group": group, **_shown(decision)}
        yield Event("decisions", number, f"decision-{number}", kind, decision.at, about)


def _type(line: AuditLine) -> str:
    known = line.what == "state" and line.new in STATES
    return f"job.{STATES[line.new]}" if known else ""


def _about(line: AuditLine) -> dict[str, object]:
    about = asdict(line)
    return {key: about[key] for key in ("job", "old", "new", "reason")}


def _shown(decision: RampDecision) -> dict[str, object]:
    return {"action": decision.action, "rate": decision.rate, "reason": decision.reason}
