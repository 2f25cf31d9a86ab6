"""One local run at a time to a folder: two emulators on one state file would spoil it."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import tenacity

from injector.errors import Misused

LOCK = "up.lock"
FREE_WITHIN_S = 5.0


@contextmanager
def owned(folder: Path, *, within_s: float = FREE_WITHIN_S) -> Iterator[int]:
    """Make the folder and hold its lock; give its descriptor, for who is to hold it as well.

    The programs of a run that was killed take a moment to die, so the lock is waited for.
    Raises Misused when it is not free then, or the folder cannot be written to.
    """
    lock = _opened(folder)
    try:
        if not _await(lock, within_s):
            raise Misused(
                f"another `injector up` runs on {folder}; stop it, or give another --folder"
            )
        yield lock
    finally:
        os.close(lock)


def _opened(folder: Path) -> int:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise Misused(
            f"the folder {folder} cannot be used: {error.strerror}; give --folder one that can "
            "be written to"
        ) from error


def _await(lock: int, within_s: float) -> bool:
    polls = tenacity.Retrying(
        stop=tenacity.stop_after_delay(within_s),
        wait=tenacity.wait_fixed(0.05),
        retry=tenacity.retry_if_result(lambda taken: not taken),
        retry_error_callback=lambda _: False,
    )
    return bool(polls(_take, lock))


def _take(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
