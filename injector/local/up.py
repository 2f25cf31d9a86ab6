"""Run the whole product on this machine until it is told to stop."""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from shlex import quote

from injector.errors import Misused
from injector.groups import Group
from injector.ledger import open_ledger
from injector.local.layout import GROUPS, LocalRun
from injector.local.origin import keep_origin
from injector.local.owner import FREE_WITHIN_S, owned
from injector.local.programs import Programs
from injector.local.start_queues import start_queues
from injector.local.ticks import LOOK_EVERY_S, Ticks
from injector.manifest import load_groups

GROUPS_FILE = "groups.yaml"
ENVIRONMENT = "env"
"""The file that a shell reads so that the commands find the run."""


def up(run: LocalRun, *, announce: Callable[[str], None]) -> None:
    """Start everything, tick, start again what dies; stop all when interrupted.

    Stopped and started again on the same folder, a run goes on where it was.
    """
    with started(run, announce=announce) as programs:
        ticks = Ticks(run.service_url, run.clock, announce)
        while True:
            programs.revive()
            if ticks.due():
                ticks.tick()
            time.sleep(LOOK_EVERY_S / max(1.0, run.speed / 10))


@contextmanager
def started(
    run: LocalRun, *, announce: Callable[[str], None], within_s: float = FREE_WITHIN_S
) -> Iterator[Programs]:
    """Yield the run's programs, all ready; stop them at the end. Wait `within_s` for the folder."""
    with owned(run.folder, within_s=within_s) as lock, Programs(announce, held=(lock,)) as programs:
        prepared = prepare(run)
        announce(_told(run))
        for program in prepared.programs():
            programs.start(program)
            announce(f"{program.name} is up, its log is {program.log}")
        announce(ready(run))
        yield programs


def prepare(run: LocalRun) -> LocalRun:
    """Make the run's folder, clock and default groups; return the run with what to make.

    Misused when a port is taken, or the groups or the ledger cannot be used.
    """
    run.folder.mkdir(parents=True, exist_ok=True)
    if run.groups == run.folder / GROUPS_FILE and not run.groups.exists():
        run.groups.write_text(GROUPS, encoding="utf-8")
    _check_ports(run)
    _check_ledger(run.environment["INJECTOR_LEDGER_URL"])
    keep_origin(run.folder, speed=run.speed, origin=run.origin)
    (run.folder / ENVIRONMENT).write_text("\n".join(_exports(run)) + "\n", encoding="utf-8")
    groups = _groups(run.groups)
    queues = (queue for group in groups for queue in start_queues(group))
    topics = dict.fromkeys(group.topic for group in groups if group.topic)
    return replace(run, queues=tuple(queues), topics=tuple(topics))


def _told(run: LocalRun) -> str:
    """Say how the commands find the run."""
    exports = "".join(f"  {line}\n" for line in _exports(run))
    return (
        "In another terminal, so that the commands find this run:\n\n"
        f"  . {quote(str(run.folder / ENVIRONMENT))}\n\nwhich says\n\n{exports}\nCtrl-C stops it."
    )


def ready(run: LocalRun) -> str:
    """Say that it can be used, where to look, and how its time goes by."""
    target = f", the target's count at {run.target_url}/tally" if run.target_url else ""
    clock = "" if run.speed == 1.0 else f"; its clock runs {run.speed:g} times as fast as yours"
    return (
        f"ready: the dashboard is at {run.service_url}{target}, "
        f"the emulator's control at {run.control_url}{clock}"
    )


def _exports(run: LocalRun) -> Iterator[str]:
    return (f"export {key}={quote(value)}" for key, value in run.environment.items())


def _groups(groups: Path) -> tuple[Group, ...]:
    try:
        text = groups.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise Misused(f"groups file {groups}: {error.strerror}; name a file that exists") from error
    except UnicodeDecodeError as error:
        raise Misused(f"groups file {groups}: {error}; save it as UTF-8") from error
    return tuple(load_groups(text, source=str(groups)).values())


def _check_ports(run: LocalRun) -> None:
    ports = {
        "service": run.service_port,
        "emulator": run.emulator_port,
        "emulator's control": run.control_port,
        "target": run.target_port,
    }
    for (one, port), (other, same) in combinations(ports.items(), 2):
        if port and port == same:
            raise Misused(f"port {port} is given to the {one} and the {other}; give each its own")
    for name, port in ports.items():
        if port is not None and _taken(port):
            raise Misused(
                f"port {port} for the {name} is taken; stop what uses it, or give another"
            )


def _check_ledger(url: str) -> None:
    ledger = open_ledger(url)
    try:
        ledger.ping()
    finally:
        ledger.close()


def _taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False
