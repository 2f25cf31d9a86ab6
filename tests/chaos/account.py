"""What became of a job's records, by four witnesses that know nothing of each other.

The target's log says what was delivered, under which task; the emulator's state file which tasks
there were; the ledger's totals what the service counted; the report what a person is told.
"""

import sqlite3
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote


@dataclass(frozen=True)
class Delivery:
    """A request as the target saw it; `due` is when its task was created, but for retries."""

    task: str
    retries: str
    due: str


@dataclass(frozen=True)
class Account:
    """A delivery that comes again is Cloud Tasks' own at-least-once, and no fault.

    A doubled create is one more task for a record: under another name, in another queue, or
    under the same name at another time, which first attempts show.
    """

    wanted: frozenset[str]
    came: dict[str, list[Delivery]]
    tasks_made: int
    totals: dict[str, object]
    report: int
    outcomes: list[dict[str, object]] = field(repr=False, default_factory=list)

    @property
    def lost(self) -> set[str]:
        return set(self.wanted) - set(self.came)

    @property
    def unknown(self) -> set[str]:
        return set(self.came) - set(self.wanted)

    @property
    def doubled(self) -> int:
        """How many tasks there were beyond one for each record."""
        return max(sum(map(_beyond_one, self.came.values())), self.tasks_made - len(self.wanted))

    @property
    def redelivered(self) -> int:
        return sum(len(deliveries) - 1 for deliveries in self.came.values()) - self.doubled

    def faults(self) -> list[str]:
        """Say all that does not add up; nothing, if all is well."""
        named = {
            "lost": sorted(self.lost),
            "unknown": sorted(self.unknown),
            "doubled": self.doubled,
            "tasks missing": max(0, len(self.wanted) - self.tasks_made),
            "unaccounted": self._unaccounted(),
            "twice in the report": len(self.outcomes) - len({o["ordinal"] for o in self.outcomes}),
            "report's exit code": self.report,
        }
        return [f"{name}: {value}" for name, value in named.items() if value]

    def _unaccounted(self) -> str:
        """Compare the ledger's sums with the records, and the report's lines with both."""
        sums = {name: self.totals[name] for name in ("created", "existed", "rejected")}
        listed = dict.fromkeys(sums, 0)
        for line in self.outcomes:
            listed[str(line["outcome"])] = listed.get(str(line["outcome"]), 0) + 1
        tasks = sums["created"] + sums["existed"]
        whole = tasks + sums["rejected"] == self.totals["records"] and tasks == len(self.wanted)
        return "" if whole and listed == sums else f"totals {self.totals}, report {listed}"


def deliveries(log: Path) -> dict[str, list[Delivery]]:
    """Read the target's log: what came for each record."""
    found = defaultdict(list)
    for line in log.read_text().splitlines() if log.exists() else ():
        record, *told = line.split("\t")
        found[unquote(record).rpartition("/")[2]].append(Delivery(*told))
    return dict(found)


def _beyond_one(came: list[Delivery]) -> int:
    names = {each.task for each in came}
    first = {(each.task, each.due) for each in came if each.retries == "0"}
    return max(len(names), len(first)) - 1


def tasks_made(state_file: Path, queues: str) -> int:
    """Count the tasks that ever were in queues like that: those there are, and names kept."""
    count = """
        SELECT (SELECT count(*) FROM tasks WHERE queue LIKE :like)
             + (SELECT count(*) FROM reserved WHERE queue LIKE :like)
    """
    return _count(state_file, count, {"like": queues})


def waiting(state_file: Path) -> int:
    """Count the tasks that wait in any queue."""
    return _count(state_file, "SELECT count(*) FROM tasks", {})


def _count(state_file: Path, query: str, values: dict[str, str]) -> int:
    connection = sqlite3.connect(f"file:{state_file}?mode=ro", uri=True)
    try:
        (found,) = connection.execute(query, values).fetchone()
    finally:
        connection.close()
    return int(found)
