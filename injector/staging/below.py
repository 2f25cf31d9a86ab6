"""Whether one place is within another, told from their names alone."""

import os

from injector.staging.files import is_local
from injector.staging.folder import Folder

_CHAIN = "::"
_ALIASES = {"gcs": "gs", "s3a": "s3"}

_Place = tuple[str, tuple[str, ...]]


def is_below(url: str, folder: str) -> bool:
    """Tell whether a path or URL is within a folder, asking no one but this machine's disk.

    Links of this machine are followed. Elsewhere names are compared as they are written, since
    a bucket knows no `..`; what has a step like that is within nothing.
    """
    if _CHAIN in url:  # fsspec would open what follows, wherever that is
        return False
    (scheme, steps), (base_scheme, base) = _place(url), _place(folder)
    within, below = steps[: len(base)], steps[len(base) :]
    return scheme == base_scheme and within == base and _is_plain(below)


def _place(url: str) -> _Place:
    scheme, is_url, path = url.partition("://")
    scheme = scheme.lower()
    if not is_url or scheme in {"file", "local"}:
        return _local(url)
    return _ALIASES.get(scheme, scheme), tuple(path.strip("/").split("/"))


def _local(url: str) -> _Place:
    found = Folder.at(url)
    scheme = "file" if is_local(found.fs) else "elsewhere"
    return scheme, tuple(step for step in os.path.realpath(found.path or "/").split("/") if step)


def _is_plain(steps: tuple[str, ...]) -> bool:
    return bool(steps) and not {"", ".", ".."} & set(steps)
