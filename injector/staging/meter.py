"""Count what is read and found, for the person who waits and for the staging's seal."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from injector.staging.chunk import Bad
from injector.staging.files import File


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a staging is. `bytes_total` is None where it cannot be known beforehand.

    Bytes are those of the files as they are, packed or not.
    """

    bytes_read: int
    bytes_total: int | None
    records: int
    rejected: int


class Meter:
    """What a staging has read and found so far."""

    def __init__(self, files: Sequence[File], *, kept_rejects: int) -> None:
        self.records = 0
        self.rejected = 0
        self.blank = 0
        self.rejects: list[Bad] = []
        self._bytes_read = 0
        sizes = [file.size for file in files if file.size is not None]
        self._bytes_total = sum(sizes) if len(sizes) == len(files) else None
        self._kept_rejects = kept_rejects
        self._digest = sha256()

    def read(self, block: bytes) -> None:
        """Count a block of the source's bytes."""
        self._bytes_read += len(block)
        self._digest.update(block)

    def end_file(self) -> None:
        """Tell one of several files from the next, whose bytes could have been this one's."""
        self._digest.update(b"\0%d\0" % self._bytes_read)

    def reject(self, bad: Bad) -> None:
        """Count a bad record, and keep it if it is among the first."""
        self.rejected += 1
        if len(self.rejects) < self._kept_rejects:
            self.rejects.append(bad)

    def pass_over(self) -> None:
        """Count a line on which nothing is."""
        self.blank += 1

    @property
    def digest(self) -> str:
        """Return the digest of all bytes so far."""
        return self._digest.hexdigest()

    def progress(self) -> Progress:
        """Return how far it is."""
        return Progress(self._bytes_read, self._bytes_total, self.records, self.rejected)
