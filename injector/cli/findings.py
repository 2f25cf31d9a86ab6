"""What the records turn out to be: how many, which are bad, and the first tasks made of them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from injector.delivery.ports import Create
from injector.errors import Rejected
from injector.manifest.record import Record
from injector.manifest.rendering import Renderer
from injector.staging.chunk import Bad
from injector.staging.files import find_files
from injector.staging.meter import Meter, Progress
from injector.staging.reader import ChunkReader
from injector.staging.seal import Staged
from injector.staging.source import Source
from injector.staging.trial import Trial

SAMPLES = 3
MEASURED = 1000
COMPARED = 250_000
"""How many records' identities a plan keeps, to tell of those that come again: about 20 MB."""
_REPORT_EVERY = 5000


@dataclass(frozen=True, slots=True)
class Findings:
    """The outcome of looking at every record once.

    `samples` are the first tasks; `task_bytes` is the mean size of the first thousand. Of the
    first `compared` good records, `repeated` have the identity of an earlier one. `blank` lines
    hold nothing and are no records.
    """

    records: int
    rejected: int
    rejects: tuple[Bad, ...]
    samples: tuple[Create, ...]
    task_bytes: float
    repeated: int = 0
    compared: int = 0
    blank: int = 0


@dataclass(slots=True)
class _Names:
    """The names of the first records' tasks, as far as they are kept."""

    renderer: Renderer
    repeated: int = 0
    compared: int = 0
    _known: set[int] = field(default_factory=set)

    def compared_with(self, records: Iterator[Record]) -> Iterator[Record]:
        """Pass the records on, and count the first ones whose name came before."""
        for record in islice(records, COMPARED):
            name = hash(self.renderer.name(record))
            self.compared += 1
            self.repeated += name in self._known
            self._known.add(name)
            yield record
        yield from records


def look_through(
    source: Source, renderer: Renderer, *, now: float, progress: Callable[[Progress], object]
) -> Findings:
    """Try every record of the source, and write nothing."""
    names = _Names(renderer)
    files = find_files(source.location)
    meter = Meter(files, kept_rejects=source.limits.kept_rejects)
    trial = Trial(source, files, renderer, meter, now)
    records = names.compared_with(_good_records(trial, progress))
    samples, task_bytes = _measure(records, renderer, now)
    for _ in records:
        pass
    return Findings(
        meter.records,
        meter.rejected,
        tuple(meter.rejects),
        samples,
        task_bytes,
        names.repeated,
        names.compared,
        meter.blank,
    )


def findings_of(staged: Staged, renderer: Renderer, *, now: float) -> Findings:
    """Return what a staging found, with samples read back from its first chunks."""
    reader = ChunkReader(staged.store)
    chunks = (reader.read(number) for number in range(staged.chunks))
    records = (one for chunk in chunks for one in chunk.records if isinstance(one, Record))
    samples, task_bytes = _measure(records, renderer, now)
    return Findings(staged.records, staged.rejected, staged.rejects, samples, task_bytes)


def _good_records(trial: Trial, progress: Callable[[Progress], object]) -> Iterator[Record]:
    for ordinal, (_, line, body, _) in enumerate(trial.records()):
        if isinstance(body, bytes):
            yield Record(ordinal, line, body)
        if ordinal % _REPORT_EVERY == 0:
            progress(trial.meter.progress())
    progress(trial.meter.progress())


def _measure(
    records: Iterator[Record], renderer: Renderer, now: float
) -> tuple[tuple[Create, ...], float]:
    """Take the first tasks, and the mean size of more of them."""
    samples: list[Create] = []
    sizes = [0]
    for record in islice(records, MEASURED):
        try:
            create = renderer.create(record, now=now)
        except Rejected:  # it is due too late as of now; it may be in time later
            continue
        sizes.append(renderer.size_of(create))
        if len(samples) < SAMPLES:
            samples.append(create)
    return tuple(samples), sum(sizes) / max(1, len(sizes) - 1)
