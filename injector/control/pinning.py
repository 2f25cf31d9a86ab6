"""Layouts that stay: a chunk's is written down before the chunk is fed for the first time.

The share of the new queues changes while a job is fed. Were it looked up when a chunk is fanned
out, a retry after a step would send a record to another queue than its first attempt, whose task
may well exist. Were it kept in the injector task alone, a crash between create and note, a later
generation or a take-back would not know it. So it is in the ledger, by ranges of chunks.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from injector.layout import Layout
from injector.ledger.ports import Chunks, Job, Jobs, Pin

EVERY_CHUNK = 2**31 - 1

RECENT = 256
"""How many chunks' layouts are kept at hand: many more than are fanned out at a time."""


@dataclass(frozen=True, slots=True)
class Pinning:
    """Pins chunks; `layout_at` gives the layout of those that are due at a Unix second."""

    jobs: Jobs
    layout_at: Callable[[float], Layout]

    def pin(self, job: Job, ranges: Sequence[Chunks], *, due: float) -> None:
        """Pin a job's chunks before they are fed; what was fed before is pinned already.

        A job that sends another's records again goes by the pins of that one: whatever of it was
        never fed is pinned with the first of them, beside the new queues.
        """
        layout = self.layout_at(due)
        if job.named_after:
            aside = Layout(layout.queues or layout.fresh)
            self.jobs.pin(job.names, EVERY_CHUNK, aside.to_text())
        elif fresh := [chunks.past for chunks in ranges if not chunks.feed]:
            self.jobs.pin(job.names, max(fresh), layout.to_text())


@dataclass(slots=True)
class Pinned:
    """The layouts of a job's chunks, asked for as they are needed, by several threads at once.

    What is pinned never changes, so it is asked for once. `usual` is for chunks that were fed by
    a version which had no pins.
    """

    load: Callable[[], Iterable[Pin]]
    usual: Layout
    _known: tuple[Pin, ...] = ()
    _recent: dict[int, Layout] = field(default_factory=dict)

    def of(self, chunk: int) -> Layout:
        """Return the chunk's layout; asked for each record of a chunk in turn."""
        layout = self._recent.get(chunk)
        if layout is None:
            layout = self._find(chunk)
            if len(self._recent) >= RECENT:
                self._recent.clear()
            self._recent[chunk] = layout
        return layout

    def fresh_of(self, chunk: int) -> frozenset[str]:
        """Return the queues that are new to the chunk; none for a group that has no queues."""
        if not self.usual.queues:
            return frozenset()
        return frozenset(self.of(chunk).fresh)

    def _find(self, chunk: int) -> Layout:
        found = _covering(chunk, self._known)
        if found is None:
            self._known = tuple(self.load())
            found = _covering(chunk, self._known)
        return Layout.from_text(found.layout) if found else self.usual


def _covering(chunk: int, pins: Iterable[Pin]) -> Pin | None:
    return next((pin for pin in pins if pin.first <= chunk < pin.past), None)
