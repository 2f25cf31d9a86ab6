"""Decide whether records can be read where they lie, and pin the file if so."""

from codecs import BOM_UTF8
from dataclasses import dataclass

from injector.errors import Misused
from injector.staging.compression import is_packed
from injector.staging.files import File, Version, is_local
from injector.staging.folder import Folder
from injector.staging.formats import format_of
from injector.staging.pin import Pin
from injector.staging.source import Source


@dataclass(frozen=True, slots=True)
class Place:
    """A file that is read where it lies, as it is before the staging.

    `start` is the offset of its text, behind a byte order mark.
    """

    file: File
    version: Version
    start: int

    def pin(self, digest: str) -> Pin:
        """Pin the file as it was read. Raises Misused if it has changed meanwhile."""
        if self.file.version() != self.version:
            raise Misused(f"{self.file.name}: changed while it was read; stage it again")
        return Pin(self.file.url, self.version, digest)


def place_of(source: Source, files: list[File], store: Folder) -> Place | None:
    """Return the place if the source is one plain UTF-8 JSONL within the store's reach."""
    file = files[0]
    if not (source.in_place and len(files) == 1 and source.encoding in {None, "utf-8"}):
        return None
    if file.size is None or not _within_reach(file, store):
        return None
    head = file.read(0, 64)
    if is_packed(head) or format_of(file, head, source.format) != "jsonl":
        return None
    start = len(BOM_UTF8) if head.startswith(BOM_UTF8) else 0
    return Place(file, file.version(), start)


def _within_reach(file: File, store: Folder) -> bool:
    """Tell whether whoever reads the store can read the file: the same disk, or bucket."""
    if type(file.fs) is not type(store.fs):
        return False
    return is_local(store.fs) or file.path.split("/")[0] == store.path.split("/")[0]
