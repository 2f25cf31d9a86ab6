"""Stage a source: read it once, try every record, and write it down in chunks."""

from collections.abc import Callable, Iterator
from contextlib import closing
from hashlib import sha256
from itertools import islice

from injector.clock import Clock
from injector.manifest.rendering import compile_job
from injector.manifest.schema import Manifest
from injector.pacing.ramp import CHUNK
from injector.staging.attempt import attempt
from injector.staging.files import find_files
from injector.staging.folder import Folder
from injector.staging.item import Item
from injector.staging.meter import Meter, Progress
from injector.staging.place import Place, place_of
from injector.staging.seal import Seal, Staged, find_same, write_seal
from injector.staging.source import Source
from injector.staging.trial import Trial
from injector.staging.writer import ChunkWriter, CopyingWriter, IndexingWriter

_REPORT_EVERY_S = 0.1


def stage(
    source: Source,
    manifest: Manifest,
    store_url: str,
    *,
    clock: Clock,
    progress: Callable[[Progress], object] = lambda _: None,
) -> Staged:
    """Write the source's records to the job's folder of the store, in chunks of 100.

    Every record is tried once against all that its task is made of. One that cannot become a
    task keeps its place, with the reason. The same bytes staged again give the same staging,
    other bytes a new one beside it. Raises Misused for what is wrong with a whole file, and
    then nothing is kept.
    """
    files = find_files(source.location)
    job = Folder.at(store_url) / manifest.job
    place = place_of(source, files, job)
    meter = Meter(files, kept_rejects=source.limits.kept_rejects)
    trial = Trial(source, files, compile_job(manifest), meter, clock.now())
    with attempt(job, now=clock.now()) as folder:
        report = _reporter(meter, clock, progress)
        with closing(_writer(folder, trial, place)) as writer:
            for chunk in _chunks(trial.records()):
                writer.write(chunk)
                report()
        progress(meter.progress())
        seal = _seal(folder, trial, place, manifest)
        if same := find_same(job, seal):
            folder.remove()
            return same.staged
        return write_seal(folder, seal)


def _writer(folder: Folder, trial: Trial, place: Place | None) -> ChunkWriter:
    if place:
        return IndexingWriter(folder, start=place.start)
    return CopyingWriter(
        folder, part_bytes=trial.source.limits.part_bytes, several=trial.has_several
    )


def _chunks(items: Iterator[Item]) -> Iterator[list[Item]]:
    while chunk := list(islice(items, CHUNK)):
        yield chunk


def _reporter(
    meter: Meter, clock: Clock, progress: Callable[[Progress], object]
) -> Callable[[], None]:
    """Make the function that reports, if it has not done so for a while."""
    due = clock.monotonic()

    def report() -> None:
        nonlocal due
        if clock.monotonic() >= due:
            due = clock.monotonic() + _REPORT_EVERY_S
            progress(meter.progress())

    return report


def _seal(folder: Folder, trial: Trial, place: Place | None, manifest: Manifest) -> Seal:
    source, meter = trial.source, trial.meter
    digest = meter.digest
    return Seal(
        staged=Staged(
            store=folder.url,
            records=meter.records,
            chunks=-(-meter.records // CHUNK),
            rejected=meter.rejected,
            digest=digest,
            rejects=tuple(meter.rejects),
        ),
        recipe=_recipe(trial, manifest, place),
        files=_names(trial),
        max_line_bytes=source.limits.max_line_bytes,
        pin=place.pin(digest) if place else None,
        file="" if trial.has_several else trial.files[0].name,
    )


def _names(trial: Trial) -> tuple[str, ...]:
    return tuple(file.name for file in trial.files) if trial.has_several else ()


def _recipe(trial: Trial, manifest: Manifest, place: Place | None) -> str:
    """Digest what shapes the chunks apart from the source's bytes."""
    source = trial.source
    how = (source.format, source.encoding, dict(source.types), source.limits.max_line_bytes)
    where = place.file.url if place else tuple(file.name for file in trial.files)
    return sha256(f"{manifest.model_dump_json()}\n{how}\n{where}".encode()).hexdigest()
