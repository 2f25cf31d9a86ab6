"""Remove what a staging wrote, once no job names it; a file that it only points at stays."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from injector.errors import NotFound
from injector.staging.attempt import LOCK, NAME
from injector.staging.files import is_local
from injector.staging.folder import Folder, remove_empty
from injector.staging.reader import ORIGINS
from injector.staging.seal import INDEX, SEAL, read_seal

_PARTS = re.compile(r"part-\d{5}")
_WRITTEN = {INDEX, ORIGINS, LOCK, f"{SEAL}.part"}


@dataclass(frozen=True, slots=True)
class Held:
    """What a staging takes in the store, in bytes.

    `source` is the file that it reads where it lies; empty where it has the records itself.
    """

    url: str
    name: str
    files: int
    size: int
    source: str


def look_at(store: str) -> Held:
    """Return what the staging takes.

    Raises NotFound where there is none, Misused for one that cannot be looked at.
    """
    folder = Folder.at(store)
    name = folder.path.rpartition("/")[2]
    if not NAME.fullmatch(name):
        raise NotFound(f"{store[:200]}: is no folder that a staging makes")
    pin = read_seal(folder).pin
    sizes = folder.sizes()
    written = [size for file, size in sizes.items() if file == SEAL or _is_written(file)]
    return Held(store, name, len(written), sum(written), pin.url if pin else "")


def unstage(store: str, *, is_named: Callable[[], bool]) -> Held | None:
    """Remove the staging, and return what it took; None when it stays because a job names it.

    A staging that a job names is not touched, for its chunks may be read at this moment. Then the
    seal goes: from there on nobody registers the staging anew. Whoever was quicker is seen by
    `is_named`, which is asked once more, and then the seal is put back.
    """
    folder, held = Folder.at(store), look_at(store)
    if is_named():
        return None
    seal = folder.read(SEAL)
    folder.remove_file(SEAL)
    is_free = False
    try:
        is_free = not is_named()
    finally:
        if not is_free:
            folder.put(SEAL, seal)
    if not is_free:
        return None
    for name in folder.names():
        if _is_written(name):
            folder.remove_file(name)
    _remove_if_empty(folder)
    return held


def _is_written(name: str) -> bool:
    return name in _WRITTEN or bool(_PARTS.fullmatch(name))


def _remove_if_empty(folder: Folder) -> None:
    """Remove the staging's folder, and its job's, where nothing else is in them."""
    if not is_local(folder.fs):
        return  # a bucket has no folders
    place = Path(folder.path)
    remove_empty((place, place.parent))
