"""What a whole staging says of itself; it is written last, so a staging without it is none."""

from dataclasses import dataclass, field, replace
from typing import Literal

import msgspec

from injector.errors import Misused, NotFound
from injector.staging.chunk import Bad
from injector.staging.folder import Folder
from injector.staging.pin import Pin

SEAL = "staged.json"
INDEX = "index"


@dataclass(frozen=True, slots=True)
class Staged:
    """A source as chunks, ready to be registered.

    `store` is what a ChunkReader takes. `digest` is the SHA-256 of the source's bytes as they
    were read, with a mark after each of several files. `rejected` counts the records found
    bad, and `rejects` lists the first of them; those that are only due too late are judged
    again when their tasks are created. `is_new` tells who staged it that this very run has made
    it; it is no fact of the staging, and is not written down.
    """

    store: str
    records: int
    chunks: int
    rejected: int
    digest: str
    rejects: tuple[Bad, ...] = ()
    is_new: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Seal:
    """All that a reader needs beside the index and the parts.

    `recipe` is a digest of whatever else shaped the chunks: two stagings of one digest and
    one recipe are the same. `files` names the source's files if there are several, and `file`
    the one if there is one. `pin` is there when the records are read in place. `max_line_bytes`
    as it was when staging. `origins` says that a file of that name has each record's place in
    the first source.
    """

    staged: Staged
    recipe: str
    files: tuple[str, ...]
    max_line_bytes: int
    pin: Pin | None = None
    origins: bool = False
    file: str = ""
    format_version: Literal[1] = 1


def write_seal(folder: Folder, seal: Seal) -> Staged:
    """Make the staging whole, and return it as one that is new."""
    facts = msgspec.to_builtins(seal)
    del facts["staged"]["is_new"]
    folder.put(SEAL, msgspec.json.format(msgspec.json.encode(facts), indent=1))
    return replace(seal.staged, is_new=True)


def read_seal(folder: Folder) -> Seal:
    """Return what the staging says of itself. Raises NotFound while it is not whole.

    Its `store` is where it was found, which another machine may call by another name.
    """
    try:
        seal = msgspec.json.decode(folder.read(SEAL), type=Seal)
    except NotFound as error:
        raise NotFound(
            f"{folder.url}: holds no finished staging; stage the records again"
        ) from error
    except msgspec.DecodeError as error:
        raise Misused(f"{folder.url}/{SEAL}: cannot be read: {error}") from error
    return replace(seal, staged=replace(seal.staged, store=folder.url))


def find_same(job: Folder, seal: Seal) -> Seal | None:
    """Return an earlier staging of the same bytes by the same recipe, if there is one."""
    for name in job.names():
        earlier = _read_if_any(job / name)
        if (
            earlier
            and earlier.staged.digest == seal.staged.digest
            and earlier.recipe == seal.recipe
        ):
            return earlier
    return None


def _read_if_any(folder: Folder) -> Seal | None:
    """Read the seal; one of another version, or none, is no obstacle to a new staging."""
    try:
        return read_seal(folder) if folder.has(SEAL) else None
    except Misused:
        return None
