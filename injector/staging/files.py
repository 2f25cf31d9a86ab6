"""Find the files that a location names, and read them block by block."""

import errno
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import BinaryIO

from fsspec import AbstractFileSystem
from fsspec.core import url_to_fs
from fsspec.implementations.local import LocalFileSystem

from injector.errors import InjectorError, Misused, NoSource, NotFound, Retryable

STDIN = "-"
CONNECT_S = 10.0
_BUCKETS = ("gs://", "gcs://")
_EXTRA = "gcsfs, which is not installed: pip install 'cloud-tasks-injector[gcs]'"
_REASON = 300
_MENDABLE = {
    errno.EISDIR, errno.ENOTDIR, errno.EEXIST,
    errno.ENAMETOOLONG, errno.ELOOP, errno.ENXIO, errno.EROFS,
}  # fmt: skip
_VERSIONS = ("generation", "etag", "ETag", "md5Hash", "mtime", "LastModified", "created")


@dataclass(frozen=True, slots=True)
class Version:
    """The size of a file, and the storage's own mark of its version.

    The mark is a generation, an ETag, or the time of the last change.
    """

    size: int
    tag: str


@dataclass(frozen=True, slots=True)
class File:
    """A file of the source, and what to call it.

    `size`, in bytes, is None where it cannot be known beforehand. `fs` is None for standard
    input, which can be read only once and from its beginning.
    """

    name: str
    size: int | None = None
    fs: AbstractFileSystem | None = None
    path: str = ""

    def open(self) -> AbstractContextManager[BinaryIO]:
        """Open the file for reading; standard input stays open afterwards.

        Over HTTP it is one stream: not every server knows ranges. So it is from a pipe.
        """
        if self.fs is None:
            return nullcontext(sys.stdin.buffer)
        with speaking_of(self.name):
            if is_local(self.fs) and self.size is None:
                return Path(self.path).open("rb")
            as_stream = {"block_size": 0} if "http" in self.fs.protocol else {}
            stream: BinaryIO = self.fs.open(self.path, "rb", **as_stream)
        return stream

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes from `start` to before `end`, or fewer where the file ends."""
        with speaking_of(self.name):
            if self.fs is not None and is_local(self.fs):
                return read_local(self.path, start, end)
            content: bytes = self._storage.cat_file(self.path, start=start, end=end)
        return content

    def version(self) -> Version:
        """Return the file's version as it is now."""
        with speaking_of(self.name):
            info = self._storage.info(self.path)
        marks = (f"{key} {info[key]}" for key in _VERSIONS if info.get(key) is not None)
        return Version(info["size"], next(marks, ""))

    @property
    def url(self) -> str:
        """Where the file is, as another process finds it too."""
        return url_of(self._storage, self.path)

    @property
    def _storage(self) -> AbstractFileSystem:
        if self.fs is None:
            raise Misused(f"{self.name}: can be read only once")
        return self.fs


def find_files(location: str) -> list[File]:
    """Return the files of a path, a glob (sorted) or a URL. Raises NoSource if there are none."""
    if location == STDIN:
        return [File("standard input")]
    with speaking_of(location, missing=NoSource):
        fs, path = filesystem_of(location)
        if not any(mark in path for mark in "*?[") or fs.exists(path):
            return [_file(location, fs, fs.info(path))]
        found = fs.glob(path, detail=True)
        infos = [found[key] for key in sorted(found) if found[key]["type"] != "directory"]
        files = [_file(_name(info["name"], location, fs), fs, info) for info in infos]
    if not files:
        raise NoSource(f"{location}: matches no file")
    return files


def filesystem_of(url: str) -> tuple[AbstractFileSystem, str]:
    """Return the file system and the path in it, without a cache that could be out of date.

    A bucket that cannot be connected to is given up each time after some seconds, not minutes.
    Raises Misused where a URL names no bucket.
    """
    is_bucket = url.startswith(_BUCKETS)
    if is_bucket and not url.partition("://")[2].partition("/")[0]:
        raise Misused(f"{url}: names no bucket; write one such as gs://BUCKET/users.csv")
    try:
        options = {"requests_timeout": _within_s(CONNECT_S)} if is_bucket else {}
        fs, path = url_to_fs(url, use_listings_cache=False, **options)
    except ImportError as error:
        if is_bucket:
            raise Misused(f"{url}: needs {_EXTRA}") from error
        raise
    return fs, path


def _within_s(seconds: float) -> object:
    """Bound how long a connection may take to be made; how long it then lasts is free."""
    return import_module("aiohttp").ClientTimeout(sock_connect=seconds)


def url_of(fs: AbstractFileSystem, path: str) -> str:
    """Return what leads to the path again; a plain path if it is this machine's."""
    return path if is_local(fs) else str(fs.unstrip_protocol(path))


def is_local(fs: AbstractFileSystem) -> bool:
    """Tell whether the files are this machine's."""
    return isinstance(fs, LocalFileSystem)


def read_local(path: str, start: int = 0, end: int | None = None) -> bytes:
    """Read a file of this machine, at a third of what fsspec spends on it."""
    with Path(path).open("rb", buffering=0) as stream:
        stream.seek(start)
        return stream.read(-1 if end is None else max(0, end - start))


def read_blocks(file: File, size: int, *, each: Callable[[bytes], object]) -> Iterator[bytes]:
    """Read the file's bytes as they are; `each` is called with every block before it is used."""
    with file.open() as stream:
        while block := _next_block(stream, size, name=file.name):
            each(block)
            yield block


@contextmanager
def speaking_of(name: str, *, missing: type[NotFound] = NotFound) -> Iterator[None]:
    """Turn what any file system may raise into the product's errors.

    What the person can mend is Misused, `missing` where there is no such file; all else may be
    gone the next time, so Retryable.
    """
    try:
        yield
    except InjectorError:
        raise
    except OSError as error:
        raise _of_system(name, error, missing) from error
    except ImportError as error:
        raise Misused(f"{name}: needs a package that is not installed: {error}") from error
    except LookupError as error:
        raise Misused(f"{name}: is no path and no URL that can be read: {error}") from error
    except ValueError as error:
        raise Misused(f"{name}: {error}") from error
    except Exception as error:
        raise _retryable(name, error) from error


def _of_system(name: str, error: OSError, missing: type[NotFound]) -> InjectorError:
    if isinstance(error, FileNotFoundError):
        away = error.__cause__  # fsspec calls a file missing whose server does not answer
        return (
            _retryable(name, away)
            if isinstance(away, OSError)
            else missing(f"{name}: there is no such file")
        )
    if isinstance(error, PermissionError):
        return Misused(f"{name}: may not be opened: {error.strerror or error}")
    if error.errno in _MENDABLE:
        return Misused(f"{name}: {error.strerror or error}")
    return _retryable(name, error)


def _retryable(name: str, error: Exception) -> Retryable:
    reason = " ".join(str(error).split())[:_REASON]
    return Retryable(f"{name}: {type(error).__name__}: {reason}")


def _next_block(stream: BinaryIO, size: int, *, name: str) -> bytes:
    with speaking_of(name):
        return stream.read(size)


def _file(name: str, fs: AbstractFileSystem, info: dict[str, object]) -> File:
    if info["type"] == "directory":
        raise Misused(f"{name}: is a folder; name its files, such as {name.rstrip('/')}/*.jsonl")
    size = info.get("size") if info["type"] == "file" else None
    return File(name, size if isinstance(size, int) else None, fs, str(info["name"]))


def _name(path: str, location: str, fs: AbstractFileSystem) -> str:
    """Call a file as the person would: like the pattern, from the same folder."""
    here, named = Path.cwd(), Path(path)
    if is_local(fs) and not Path(location).is_absolute() and named.is_relative_to(here):
        return str(named.relative_to(here))
    return url_of(fs, path)
