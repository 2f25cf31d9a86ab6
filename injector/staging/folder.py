"""A folder of the chunk store: local, or a prefix in a bucket."""

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from fsspec import AbstractFileSystem

from injector.staging.files import filesystem_of, is_local, read_local, speaking_of, url_of


@dataclass(frozen=True, slots=True)
class Folder:
    """A place for files, named by its URL."""

    fs: AbstractFileSystem
    path: str

    @classmethod
    def at(cls, url: str) -> "Folder":
        """Return the folder at a path or a URL; it need not be there yet."""
        with speaking_of(url):
            fs, path = filesystem_of(url)
        return cls(fs, path.rstrip("/"))

    @property
    def url(self) -> str:
        """Where the folder is; a plain path if it is local."""
        return url_of(self.fs, self.path)

    def __truediv__(self, name: str) -> "Folder":
        return Folder(self.fs, f"{self.path}/{name}")

    def create(self, name: str) -> BinaryIO:
        """Open a new file to write."""
        with speaking_of(f"{self.url}/{name}"):
            if is_local(self.fs):
                self.fs.makedirs(self.path, exist_ok=True)
            stream: BinaryIO = self.fs.open(f"{self.path}/{name}", "wb")
        return stream

    def write(self, stream: BinaryIO, content: bytes) -> None:
        """Write to a file that was created."""
        with speaking_of(self.url):
            stream.write(content)

    def close(self, stream: BinaryIO) -> None:
        """Finish a file that was created; it is durable afterwards."""
        with speaking_of(self.url), stream:
            if is_local(self.fs):
                stream.flush()
                os.fsync(stream.fileno())

    def put(self, name: str, content: bytes) -> None:
        """Write a file in one step: whoever looks sees all of it, or nothing."""
        if not is_local(self.fs):
            with speaking_of(f"{self.url}/{name}"):
                self.fs.pipe_file(f"{self.path}/{name}", content)
            return
        unfinished = self.create(f"{name}.part")
        self.write(unfinished, content)
        self.close(unfinished)
        Path(self.path, f"{name}.part").replace(Path(self.path, name))

    def read(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        """Return the bytes from `start` to before `end`. Raises NotFound."""
        with speaking_of(f"{self.url}/{name}"):
            if is_local(self.fs):
                return read_local(f"{self.path}/{name}", start, end)
            content: bytes = self.fs.cat_file(f"{self.path}/{name}", start=start, end=end)
        return content

    def names(self) -> list[str]:
        """Return what is in the folder, sorted; a folder that is not there is empty."""
        with speaking_of(self.url):
            if not self.fs.isdir(self.path):
                return []
            found = self.fs.ls(self.path, detail=False)
        return sorted(name.rstrip("/").rpartition("/")[2] for name in found)

    def has(self, name: str) -> bool:
        """Tell whether the file is there."""
        with speaking_of(f"{self.url}/{name}"):
            return bool(self.fs.exists(f"{self.path}/{name}"))

    def sizes(self) -> dict[str, int]:
        """Return the size in bytes of each file in the folder."""
        with speaking_of(self.url):
            found = self.fs.ls(self.path, detail=True)
        files = (info for info in found if info["type"] == "file")
        return {info["name"].rpartition("/")[2]: info["size"] for info in files}

    def absent(self) -> list[Path]:
        """Name the folders that lead here, without this one, that are not there yet, deepest first.

        A bucket has none.
        """
        above = Path(self.path).parents if is_local(self.fs) else ()
        return [folder for folder in above if not folder.exists()]

    def remove_file(self, name: str) -> None:
        """Remove a file, if it is there."""
        with speaking_of(f"{self.url}/{name}"), suppress(FileNotFoundError):
            self.fs.rm_file(f"{self.path}/{name}")

    def remove(self) -> None:
        """Remove the folder with all that is in it, if it is there."""
        with speaking_of(self.url):
            if self.fs.exists(self.path):
                self.fs.rm(self.path, recursive=True)


def remove_empty(folders: Iterable[Path]) -> None:
    """Remove those of the folders, in that order, that nothing is in."""
    for folder in folders:
        with suppress(OSError):  # the system refuses to remove one that is not empty
            folder.rmdir()
