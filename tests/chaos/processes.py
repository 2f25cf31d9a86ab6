"""The processes of a local run, found as an operator would: by parentage and command line."""

import os
import signal
from pathlib import Path

MARKS = {
    "target": "injector.local.target",
    "emulator": "injector\0emulator",
    "master": "gunicorn",
    "lifeline": "injector.local.lifeline",
}


def children_of(pid: int) -> list[int]:
    try:
        listed = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [int(each) for each in listed.split()]


def descendants_of(pid: int) -> list[int]:
    found = [pid]
    for each in found:
        found += children_of(each)
    return found[1:]


def find(up: int, kind: str) -> int | None:
    """Return a process of `injector up` by what it is; None while there is none."""
    if kind == "up":
        return up
    if kind == "worker":
        master = find(up, "master")
        return next(iter(children_of(master)), None) if master else None
    named = (pid for pid in children_of(up) if MARKS[kind] in _command(pid))
    return next(named, None)


def lives(pid: int) -> bool:
    """Tell whether the process runs; one that nobody has waited for does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
