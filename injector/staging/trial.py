"""Try every record against all that its task is made of, before the first task is created."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from injector.errors import Misused, Rejected
from injector.manifest.record import Record, reason_of
from injector.manifest.rendering import Renderer
from injector.staging.chunk import Bad
from injector.staging.files import File
from injector.staging.formats import read_records
from injector.staging.item import Item
from injector.staging.meter import Meter
from injector.staging.source import Source
from injector.wording import counted


@dataclass(frozen=True, slots=True)
class Trial:
    """One pass over a source's files; the meter counts what it finds.

    `now` is the time, in Unix seconds, that schedule times are judged against.
    """

    source: Source
    files: list[File]
    renderer: Renderer
    meter: Meter
    now: float

    def records(self) -> Iterator[Item]:
        """Yield every record in order; the bad ones with their reason.

        Raises Misused for what is wrong with a whole file, with the number of records that
        were read up to there.
        """
        try:
            for number, file in enumerate(self.files):
                yield from self._tried(self._read(file, number), file)
                if self.has_several:
                    self.meter.end_file()
        except Misused as error:
            if not (count := self.meter.records):
                raise
            after = f"after {counted(count, 'record')}"
            raise type(error)(f"{error} ({after}; nothing is registered)") from error
        if not (self.meter.records or self.source.allow_empty):
            raise Misused(f"{self.source.location}: 0 records; --allow-empty accepts that")

    @property
    def has_several(self) -> bool:
        """Tell whether a line number alone does not say where a record is."""
        return len(self.files) > 1

    def _read(self, file: File, number: int) -> Iterator[Item]:
        return read_records(
            file,
            self.source,
            needed=self.renderer.fields,
            number=number,
            each=self.meter.read,
            blank=self.meter.pass_over,
        )

    def _tried(self, items: Iterator[Item], file: File) -> Iterator[Item]:
        meter, check, now = self.meter, self.renderer.check, self.now
        for ordinal, read in enumerate(items, meter.records):
            _, line, body, _ = item = read
            if isinstance(body, str):
                item = self._rejected(read, body, file)
            else:
                record = Record(ordinal, line, body)
                try:
                    check(record, now=now)
                except Rejected as error:
                    item = self._rejected(read, reason_of(error, record), file)
            meter.records = ordinal + 1
            yield item

    def _rejected(self, item: Item, reason: str, file: File) -> Item:
        """Note a bad record; one that only is due too late stays, for time may mend that."""
        number, line, body, end = item
        if self.source.on_error == "stop":
            raise Misused(f"{file.name} line {line}: {reason}")
        name = file.name if self.has_several else ""
        self.meter.reject(Bad(self.meter.records, line, reason, name))
        if isinstance(body, bytes) and self._passes_later(body, line):
            return item
        return number, line, reason, end

    def _passes_later(self, body: bytes, line: int) -> bool:
        try:
            self.renderer.check(Record(self.meter.records, line, body), now=inf)
        except Rejected:
            return False
        return True
