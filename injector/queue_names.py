"""Many queue names as one expression: the inverse of `groups.expand`."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from injector.wording import counted


@dataclass(frozen=True, slots=True)
class _Run:
    """Names that differ in one number, which grows by `step`; 0 while there is only one name."""

    head: str
    first: str
    tail: str
    last: int
    step: int = 0

    def joined(self, head: str, number: str, tail: str) -> "_Run | None":
        """Return the run with one name more; None when the name does not go on with it."""
        step = int(number) - self.last
        fits = (head, tail) == (self.head, self.tail) and step > 0 and self.step in (0, step)
        if not fits or number != self._written(int(number)):
            return None
        return replace(self, last=int(number), step=step)

    def __str__(self) -> str:
        if not self.step:
            return f"{self.head}{self.first}{self.tail}"
        step = "" if self.step == 1 else f":{self.step}"
        return f"{self.head}[{self.first}-{self._written(self.last)}{step}]{self.tail}"

    def _written(self, number: int) -> str:
        padded = len(self.first) > 1 and self.first.startswith("0")
        return f"{number:0{len(self.first)}}" if padded else str(number)


def compact(names: Sequence[str]) -> str:
    """Write the names, full resource names, as an expression that expands to them in order."""
    parts, before = [], ""
    for run in _runs(names):
        parent, _, queue = str(run).rpartition("/")
        parts.append(queue if parent == before else f"{parent}/{queue}")
        before = parent
    return ",".join(parts)


def _runs(names: Sequence[str]) -> Iterator[_Run]:
    run: _Run | None = None
    for name in names:
        piece = _pieces(name)
        joined = run.joined(*piece) if run and piece[1] else None
        if run and joined is None:
            yield run
        head, number, tail = piece
        run = joined or _Run(head, number, tail, int(number or 0))
    if run:
        yield run


def _pieces(name: str) -> tuple[str, str, str]:
    """Split a name around the last number of its queue id; the number is empty if there is none."""
    parent, slash, queue = name.rpartition("/")
    found = re.fullmatch(r"(.*?)(\d+)(\D*)", queue)
    if not found:
        return name, "", ""
    return f"{parent}{slash}{found[1]}", found[2], found[3]


def so_many(queues: int, kind: str = "") -> str:
    """Write how many queues there are: 1 queue, 1,000 queues, 2 new queues."""
    return counted(queues, f"{kind} queue" if kind else "queue")
