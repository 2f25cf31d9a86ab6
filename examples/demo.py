"""The main job on this machine: every airport of the world becomes one task.

Runs the commands that you would type, and ends by comparing what the target received with
the file. Exits with 1 unless every record came exactly once.
"""

import csv
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import airportsdata
import requests
from rich.console import Console
from rich.table import Table

from injector.local.layout import LocalRun
from injector.local.programs import Program, Programs

HERE = Path(__file__).parent
AIRPORTS = Path(airportsdata.__file__).with_name("airports.csv")
MANIFEST = "airports.yaml"
SPEED = 30.0
QUIET_S = 30.0

console = Console(highlight=False, soft_wrap=True)


def main() -> int:
    """Send every airport to the target, and account for each."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="injector-demo-") as name:
        demo = Demo.laid_out_in(Path(name))
        with Programs(console.print) as programs:
            programs.start(demo.target())
            programs.start(demo.up())
            demo.injector("plan", MANIFEST)
            demo.injector("submit", MANIFEST, "--yes", "--watch")
            demo.await_delivery()
            demo.injector("report", "airports")
            return show_outcome(demo.sent(), demo.received(), minutes=minutes_since(began))


@dataclass(frozen=True, slots=True)
class Demo:
    """A folder with the manifest, the records and the groups, and a local run in it."""

    folder: Path
    run: LocalRun
    target_port: int

    @classmethod
    def laid_out_in(cls, folder: Path) -> "Demo":
        """Copy the example, with ports that are free on this machine."""
        target, *others = free_ports(4)
        manifest = (HERE / MANIFEST).read_text().replace(":8090/", f":{target}/")
        (folder / MANIFEST).write_text(manifest)
        shutil.copy(AIRPORTS, folder / "airports.csv")
        shutil.copy(HERE / "groups.yaml", folder)
        run = LocalRun(
            folder=folder / "run",
            groups=folder / "groups.yaml",
            origin=time.time(),
            speed=SPEED,
            service_port=others[0],
            emulator_port=others[1],
            control_port=others[2],
            target_port=None,
        )
        return cls(folder, run, target)

    def target(self) -> Program:
        """Return the target, served as a small service of one's own would be."""
        address = f"127.0.0.1:{self.target_port}"
        serve = ("gunicorn", "--threads", "16", "--bind", address, "--chdir", str(HERE))
        return Program(
            name="target",
            command=(sys.executable, "-m", *serve, "target:app"),
            log=self.folder / "target.log",
            ready_url=f"http://{address}/tally",
        )

    def up(self) -> Program:
        """Return `injector up`: emulator, service and ticks."""
        ports = (
            *("--port", str(self.run.service_port)),
            *("--emulator-port", str(self.run.emulator_port)),
            *("--control-port", str(self.run.control_port)),
        )
        up = ("up", "--no-target", "--groups", "groups.yaml", "--speed", f"{SPEED:g}")
        console.print(f"\n[bold]$ injector {' '.join(up)}[/bold]")
        folder = ("--folder", str(self.run.folder))
        groups = str(self.run.groups)
        command = (groups if part == "groups.yaml" else part for part in up)
        return Program(
            name="injector up",
            command=(sys.executable, "-m", "injector", *command, *folder, *ports),
            log=self.folder / "up.log",
            ready_url=f"{self.run.service_url}/readyz",
        )

    def injector(self, *arguments: str) -> None:
        """Run a command of the injector, shown as you would type it."""
        console.print(f"\n[bold]$ injector {' '.join(arguments)}[/bold]")
        subprocess.run(  # noqa: S603  (the commands are ours)
            [sys.executable, "-m", "injector", *arguments],
            cwd=self.folder,
            env={**os.environ, **self.run.environment},
            check=True,
        )

    def await_delivery(self) -> None:
        """Wait until the queues have delivered all, or nothing has come for half a minute."""
        expected, last, since = len(self.sent()), -1, time.monotonic()
        with console.status("The queues deliver the rest"):
            while last < expected and time.monotonic() - since < QUIET_S:
                now = int(self._ask("/tally").json()["distinct"])
                last, since = (now, time.monotonic()) if now != last else (last, since)
                time.sleep(0.2)

    def sent(self) -> list[str]:
        """Return the ids in the file."""
        with AIRPORTS.open(encoding="utf-8", newline="") as lines:
            return [row["icao"] for row in csv.DictReader(lines)]

    def received(self) -> Counter[str]:
        """Return how often the target received each id."""
        return Counter(self._ask("/deliveries").json())

    def _ask(self, path: str) -> requests.Response:
        return requests.get(f"http://127.0.0.1:{self.target_port}{path}", timeout=10)


def show_outcome(sent: list[str], received: Mapping[str, int], *, minutes: float) -> int:
    """Print the comparison; return 0 when each record came exactly once."""
    lost = set(sent) - set(received)
    strange = set(received) - set(sent)
    doubled = [record for record, times in received.items() if times > 1]
    table = Table("records", "received", "doubled", "lost", "unknown", "minutes")
    table.add_row(
        f"{len(sent):,}",
        f"{sum(received.values()):,}",
        str(len(doubled)),
        str(len(lost)),
        str(len(strange)),
        f"{minutes:.1f}",
    )
    console.print(table)
    exact = not (lost or strange or doubled)
    console.print("Every record came exactly once." if exact else "The records do not add up.")
    console.print(
        "\nNext: [bold].venv/bin/injector up[/bold] in one terminal, and in another"
        " [bold].venv/bin/injector plan MANIFEST[/bold] with a manifest of your own;"
        " README.md shows one."
    )
    return 0 if exact else 1


def free_ports(count: int) -> list[int]:
    """Return ports that nothing listens on."""
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]
    finally:
        for probe in probes:
            probe.close()


def minutes_since(began: float) -> float:
    """Return the minutes since a monotonic reading."""
    return (time.monotonic() - began) / 60


if __name__ == "__main__":
    sys.exit(main())
