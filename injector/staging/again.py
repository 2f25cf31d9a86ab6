"""Stage chosen records of a job once more, as the records of another job.

They are packed a hundred to a chunk, and each keeps its line, its file and its place in the
first source, by which it may be named as before.
"""

import struct
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice
from math import inf

from injector.clock import Clock
from injector.errors import Misused, Rejected
from injector.manifest.record import Record, reason_of
from injector.manifest.rendering import Renderer, compile_job
from injector.manifest.schema import Manifest
from injector.pacing.ramp import CHUNK
from injector.staging.attempt import attempt
from injector.staging.chunk import Bad
from injector.staging.folder import Folder
from injector.staging.item import Item
from injector.staging.reader import ORIGINS, ChunkReader
from injector.staging.seal import Seal, Staged, find_same, write_seal
from injector.staging.source import Limits
from injector.staging.writer import CopyingWriter


@dataclass(frozen=True, slots=True)
class Pick:
    """Records of one chunk: those whose bit is set in `mask`."""

    chunk: int
    mask: int


@dataclass(slots=True)
class _Count:
    """What has been staged, and what could not be: `never` counts lines that were no record."""

    records: int = 0
    never: int = 0
    rejects: list[Bad] = field(default_factory=list)


def stage_again(
    reader: ChunkReader,
    picks: Iterable[Pick],
    manifest: Manifest,
    store_url: str,
    *,
    clock: Clock,
) -> tuple[Staged, int]:
    """Write the picked records as the manifest's job; return it, and how many were passed over.

    Passed over are lines that were no record in the first place: there is nothing to send.
    Raises Misused when nothing is left.
    """
    job, count, digest = Folder.at(store_url) / manifest.job, _Count(), sha256()
    renderer = compile_job(manifest)
    files = reader.files
    with attempt(job, now=clock.now()) as folder:
        writer = CopyingWriter(folder, part_bytes=Limits().part_bytes, several=bool(files))
        origins = folder.create(ORIGINS)
        with closing(writer):
            for records in _packed(_picked(reader, picks, count)):
                writer.write([_item(record, files, renderer, count) for record in records])
                places = [record.place for record in records]
                packed = struct.pack(f"<{len(places)}Q", *places)
                folder.write(origins, packed)
                digest.update(packed)
        folder.close(origins)
        if not count.records:
            raise Misused("none of these records can be sent again; there is nothing to do")
        seal = _seal(folder, reader, manifest, count, digest.hexdigest())
        if same := find_same(job, seal):
            folder.remove()
            return same.staged, count.never
        return write_seal(folder, seal), count.never


def _picked(reader: ChunkReader, picks: Iterable[Pick], count: _Count) -> Iterator[Record]:
    for pick in picks:
        for position, record in enumerate(reader.read(pick.chunk).records):
            if not pick.mask >> position & 1:
                continue
            if isinstance(record, Record):
                yield record
            else:
                count.never += 1


def _packed(records: Iterator[Record]) -> Iterator[list[Record]]:
    while chunk := list(islice(records, CHUNK)):
        yield chunk


def _item(record: Record, files: tuple[str, ...], renderer: Renderer, count: _Count) -> Item:
    """Try the record against its new manifest, and write it down as good or bad."""
    ordinal, count.records = count.records, count.records + 1
    file = files.index(record.file) if files else 0
    try:
        renderer.check(record, now=inf)
    except Rejected as error:
        reason = reason_of(error, record)
        count.rejects.append(Bad(ordinal, record.line, reason, record.file))
        return file, record.line, reason, 0
    return file, record.line, record.raw, 0


def _seal(
    folder: Folder, reader: ChunkReader, manifest: Manifest, count: _Count, places: str
) -> Seal:
    first, limits = reader.staged, Limits()
    staged = Staged(
        store=folder.url,
        records=count.records,
        chunks=-(-count.records // CHUNK),
        rejected=len(count.rejects),
        digest=sha256(f"{first.digest}\n{places}".encode()).hexdigest(),
        rejects=tuple(count.rejects[: limits.kept_rejects]),
    )
    recipe = sha256(f"{manifest.model_dump_json()}\n{first.store}".encode()).hexdigest()
    return Seal(staged, recipe, reader.files, limits.max_line_bytes, origins=True, file=reader.file)
