"""Which records of a job are meant: by how they ended, or by their places."""

import re
from collections.abc import Iterator, Mapping
from itertools import groupby

import msgspec

from injector.cli.client import Service
from injector.cli.job_view import number
from injector.cli.report import rows
from injector.control.row import Row
from injector.errors import Misused
from injector.pacing.ramp import CHUNK
from injector.staging import Pick

_RANGE = re.compile(r"\s*([0-9]{1,15})(?:\s*-\s*([0-9]{1,15}))?\s*")
_DECODE = msgspec.json.Decoder(Row).decode_lines


def picks_by_outcome(service: Service, job: Mapping[str, object], outcome: str) -> Iterator[Pick]:
    """Yield the records that ended so, chunk by chunk, as the service reports them."""
    for block in rows(service, dict(job), every=False):
        wanted = (row.ordinal for row in _DECODE(block) if row.outcome == outcome)
        yield from _picks(wanted)


def picks_of_ranges(text: str, job: Mapping[str, object]) -> Iterator[Pick]:
    """Yield the records of ranges such as 5,100-199; raise Misused for one that is none."""
    records = number(job, "records")
    for part in text.split(","):
        if not _RANGE.fullmatch(part):
            raise Misused(f"{part!r} is not a range of records; write one such as 5 or 100-199")
    wanted = sorted({n for part in text.split(",") for n in _range(part, records)})
    return _picks(iter(wanted))


def _range(part: str, records: int) -> range:
    found = _RANGE.fullmatch(part)
    assert found
    first = int(found[1])
    last = int(found[2] or first)
    if last < first:
        raise Misused(f"{part.strip()}: goes backwards; write {last}-{first}")
    if last >= records:
        raise Misused(
            f"{part.strip()}: the job has the records 0-{records - 1}. They are counted from 0 "
            "in the source's order, as `record` in a report, which is not the line in the file"
        )
    return range(first, last + 1)


def _picks(ordinals: Iterator[int]) -> Iterator[Pick]:
    for chunk, group in groupby(ordinals, key=lambda ordinal: ordinal // CHUNK):
        yield Pick(chunk, sum(1 << ordinal % CHUNK for ordinal in group))
