"""Tell whether a file that is read in place is still the one that was staged."""

from dataclasses import dataclass
from hashlib import sha256

from injector.errors import Conflict
from injector.staging.files import File, Version, read_blocks

_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Pin:
    """The identity of a file: where it is, its version, and the digest of its bytes."""

    url: str
    version: Version
    digest: str


class Pinned:
    """A pinned file. Many threads may check it at once."""

    def __init__(self, pin: Pin, file: File) -> None:
        self._pin = pin
        self._file = file
        self._version = pin.version

    def check(self) -> None:
        """Raise Conflict if the file is not what was staged.

        A file that was only touched, or copied back, has another version but the same bytes:
        they are read once to find out.
        """
        version = self._file.version()
        if version == self._version:
            return
        if version.size != self._pin.version.size:
            raise self._changed(f"has {version.size:,} bytes, not {self._pin.version.size:,}")
        if self._digest() != self._pin.digest:
            raise self._changed("has other content")
        self._version = version

    def _digest(self) -> str:
        digest = sha256()
        for _ in read_blocks(self._file, _BLOCK, each=digest.update):
            pass
        return digest.hexdigest()

    def _changed(self, how: str) -> Conflict:
        return Conflict(
            f"{self._file.name}: was staged where it lies and {how} now;"
            " put it back, or stage it again under another job id"
        )
