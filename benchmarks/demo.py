"""How long the demo takes, from `make demo` to the last airport accounted for.

    python benchmarks/demo.py

Wall time of examples/demo.py: emulator, service, ticks and target started, 28,298 records
planned, staged, created on the ramp by a clock 30 times as fast, delivered, and compared with
the file. The ramp holds it back, not the machine: 28,298 creates from cold take 57 s of ramp
time.
"""

import csv
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import airportsdata
from rows import Row, printed

DEMO = Path(__file__).parents[1] / "examples" / "demo.py"


def rows(*, full: bool) -> Iterator[Row]:  # noqa: ARG001  (there is one demo)
    """Run the demo once."""
    airports = Path(airportsdata.__file__).with_name("airports.csv")
    with airports.open(encoding="utf-8", newline="") as lines:
        records = sum(1 for _ in csv.DictReader(lines))
    began = time.monotonic()
    done = subprocess.run([sys.executable, str(DEMO)], capture_output=True, text=True, check=False)
    took = time.monotonic() - began
    if done.returncode or not re.search("exactly once", done.stdout):
        raise SystemExit(done.stdout[-2000:] + done.stderr[-2000:])
    yield Row("demo, start to finish", took, "s")
    yield Row("demo, records", records / took, "/s", better="more")


if __name__ == "__main__":
    printed(rows(full=False))
