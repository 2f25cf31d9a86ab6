"""Programs of a local run: started in order, started again when they die, stopped together.

They die with their starter, even if that is killed: see `lifeline`.
"""

import os
import subprocess
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import requests
import tenacity

from injector.errors import Misused
from injector.local.lifeline import Lifeline, end_group, parent_death

STOP_WITHIN_S = 15.0
FAILED_STARTS = 5
"""How many starts in a row may fail of what ran before."""


@dataclass(frozen=True, slots=True)
class Program:
    """One program: what to run, where its output goes, and how to see that it is ready.

    `ready_url` is polled until it answers 200; the program is given `ready_within_s` for it.
    """

    name: str
    command: tuple[str, ...]
    log: Path
    ready_url: str
    env: Mapping[str, str] = field(default_factory=dict)
    ready_within_s: float = 120.0


class Programs:
    """The running programs; a context manager that stops them in reverse order.

    The descriptors in `held` stay open until the programs are gone, even if this process is
    killed.
    """

    def __init__(self, announce: Callable[[str], None], *, held: Sequence[int] = ()) -> None:
        self._announce = announce
        self._held = tuple(held)
        self._lifeline: Lifeline | None = None
        self._running: dict[str, tuple[Program, subprocess.Popen[bytes]]] = {}
        self._failed: Counter[str] = Counter()

    def start(self, program: Program) -> None:
        """Start the program and wait until it is ready; Misused says why it is not."""
        lifeline = self._lifeline = self._lifeline or Lifeline(self._held)
        process = _spawn(program)
        lifeline.tie(process.pid)
        self._running[program.name] = (program, process)
        _await_ready(program, process)

    def revive(self) -> None:
        """Start again what has died, and say so; Misused when it dies again and again."""
        self._mend_lifeline()
        for program, process in list(self._running.values()):
            if process.poll() is not None:
                self._announce(f"{program.name} ended with {process.returncode}; starting it again")
                self._clear(process)
                self._start_again(program)

    def pids(self) -> dict[str, int]:
        """Return each program's process id."""
        return {name: process.pid for name, (_, process) in self._running.items()}

    def stop(self) -> None:
        """Stop all, last started first; who does not stop within 15 s is killed."""
        for _, process in reversed(self._running.values()):
            _stop(process)
            self._clear(process)
        self._running.clear()
        if self._lifeline:
            self._lifeline.close()
            self._lifeline = None

    def _start_again(self, program: Program) -> None:
        """Start what has died; what dies again while it starts is tried again, within reason."""
        try:
            self.start(program)
        except Misused as error:
            self._failed[program.name] += 1
            if self._failed[program.name] >= FAILED_STARTS:
                raise
            self._announce(str(error))
        else:
            del self._failed[program.name]

    def _clear(self, process: subprocess.Popen[bytes]) -> None:
        """Kill what a program that ended has left: gunicorn's workers hold its port for a while."""
        end_group(process.pid)
        if self._lifeline:
            self._lifeline.untie(process.pid)

    def _mend_lifeline(self) -> None:
        if self._lifeline and self._lifeline.is_cut:
            self._lifeline.close()
            self._lifeline = Lifeline(self._held)
            for _, process in self._running.values():
                self._lifeline.tie(process.pid)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def _spawn(program: Program) -> subprocess.Popen[bytes]:
    """Start it in a session of its own, so that Ctrl-C reaches only the one who stops it."""
    with program.log.open("ab") as log:
        return subprocess.Popen(  # noqa: S603  (the commands are ours)
            program.command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, **program.env},
            start_new_session=True,
            preexec_fn=parent_death(),  # noqa: PLW1509  (no threads here, and it only calls the kernel)
        )


def _await_ready(program: Program, process: subprocess.Popen[bytes]) -> None:
    polls = tenacity.Retrying(
        stop=tenacity.stop_after_delay(program.ready_within_s),
        wait=tenacity.wait_fixed(0.05),
        retry=tenacity.retry_if_result(lambda ready: not ready),
        retry_error_callback=lambda _: False,
    )
    if not polls(_answers_or_died, program.ready_url, process) or process.poll() is not None:
        raise Misused(
            f"{program.name} did not start; the end of its log, {program.log}:\n"
            f"{_tail(program.log)}"
        )


def _answers_or_died(url: str, process: subprocess.Popen[bytes]) -> bool:
    with suppress(requests.RequestException):
        return requests.get(url, timeout=2).ok
    return process.poll() is not None


def _tail(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-5:])


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
