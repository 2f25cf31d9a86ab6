"""One try at staging a job: a folder of its own, which counts for nothing until it is sealed.

So a staging that is killed, or that meets a fault, can never be taken for a whole one, and a
job that runs keeps its chunks while the same id is staged again with other content.
"""

import fcntl
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from injector.staging.files import is_local, speaking_of
from injector.staging.folder import Folder, remove_empty
from injector.staging.seal import SEAL

ABANDONED_AFTER_S = 24 * 3600.0
LOCK = ".lock"
NAME = re.compile(r"([0-9]{12})-[0-9a-f]{8}")


@contextmanager
def attempt(job: Folder, *, now: float) -> Iterator[Folder]:
    """Give a new folder; remove it, and those made for it, again if the staging in it fails."""
    sweep(job, now=now)
    folder = job / f"{int(now):012d}-{secrets.token_hex(4)}"
    made = folder.absent()
    with _locked(folder):
        try:
            yield folder
        except BaseException:
            folder.remove()
            remove_empty(made)
            raise


def sweep(job: Folder, *, now: float) -> None:
    """Remove what attempts that were cut off have left."""
    for named in filter(None, map(NAME.fullmatch, job.names())):
        folder = job / named[0]
        if not folder.has(SEAL) and _is_abandoned(folder, age_s=now - int(named[1])):
            folder.remove()


@contextmanager
def _locked(folder: Folder) -> Iterator[None]:
    """Hold a lock while this process lives; a bucket has none."""
    if not is_local(folder.fs):
        yield
        return
    with folder.create(LOCK) as lock:
        with speaking_of(f"{folder.url}/{LOCK}"):
            fcntl.flock(lock.fileno(), fcntl.LOCK_EX)
        yield
    Path(folder.path, LOCK).unlink(missing_ok=True)


def _is_abandoned(folder: Folder, *, age_s: float) -> bool:
    """Tell by the lock whether an attempt is over; without one, by a day having passed."""
    if is_local(folder.fs) and folder.has(LOCK):
        with Path(folder.path, LOCK).open("rb") as lock:
            return _is_free(lock.fileno())
    return age_s > ABANDONED_AFTER_S


def _is_free(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
