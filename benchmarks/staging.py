"""How fast a source is staged, and in how much memory.

Writes a JSONL and a CSV of the given size, and stages each in a fresh process, against the
plain loops that people write: `json.loads` for each line, and `csv.DictReader` with
`json.dumps`. The loops check nothing and keep nothing.
"""

import argparse
import csv
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from processes import peak_bytes
from rows import Row, printed

from injector.clock import SystemClock
from injector.manifest.load import load_manifest
from injector.staging import Source, stage

MANIFEST = """
job: welcome-2026-11
group: welcome
records: users.jsonl
identity: {field: user_id}
task:
  http:
    url: https://worker.example/users/{user_id}/welcome
    headers: {X-Campaign: welcome}
    body: record
"""
MB = 1_000_000


@dataclass(frozen=True)
class Run:
    """One pass over a file in a process of its own."""

    records: int
    wall_s: float
    cpu_s: float
    rss_mb: float


def main() -> None:
    """Write the files, read each in every way, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--run", nargs=2, metavar=("WAY", "PATH"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        print(json.dumps(asdict(measure(*options.run))))
        return
    printed(rows_of(options.megabytes))


def rows(*, full: bool) -> Iterator[Row]:
    """Stage a gigabyte, or 20 megabytes."""
    yield from rows_of(1000 if full else 20)


def rows_of(megabytes: int) -> Iterator[Row]:
    """Write the files and read each in every way."""
    with TemporaryDirectory() as folder:
        jsonl = write_jsonl(Path(folder, "users.jsonl"), megabytes * MB)
        yield from compared(jsonl, peer="json.loads", ways=("in place", "copied"))
        jsonl.unlink()
        table = write_csv(Path(folder, "users.csv"), megabytes * MB)
        yield from compared(table, peer="csv.DictReader", ways=("copied",))


def users() -> Iterator[dict[str, object]]:
    """Make up users for ever."""
    draw = Random(1)
    for number in range(1 << 62):
        yield {
            "user_id": 653247040368672768 + number,
            "name": f"Zoë {number}",
            "email": f"user{number}@example.org",
            "score": round(draw.random(), 6),
            "city": draw.choice(["Bern", "São Paulo", "名古屋", "Oslo"]),
            "joined": f"2026-11-{1 + number % 28:02}T12:00:00Z",
        }


def write_jsonl(path: Path, size: int) -> Path:
    """Write an object in each line until the file has the size."""
    with path.open("w", encoding="utf-8") as file:
        for user in users():
            size -= file.write(json.dumps(user, ensure_ascii=False) + "\n")
            if size <= 0:
                return path
    return path


def write_csv(path: Path, size: int) -> Path:
    """Write a header, and a row for each user until the file has the size."""
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(next(users()))
        for user in users():
            size -= rows.writerow(user.values())
            if size <= 0:
                return path
    return path


def compared(path: Path, *, peer: str, ways: tuple[str, ...]) -> Iterator[Row]:
    """Run the peer and each way of staging."""
    size_mb = path.stat().st_size / MB
    usual = run(peer, path)
    per_s = size_mb / usual.cpu_s
    for way in ways:
        done = run(way, path)
        name = f"stage {size_mb:,.0f} MB of {path.suffix[1:]}, {way}"
        yield Row(f"{name}", size_mb / done.cpu_s, "MB/CPU s", peer, per_s, better="more")
        yield Row(f"{name}, peak memory", done.rss_mb, "MB", peer, usual.rss_mb, aim="flat")


def run(way: str, path: Path) -> Run:
    """Measure in a fresh process, so that the peak of memory is this way's own."""
    command = [sys.executable, __file__, "--run", way, str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return Run(**json.loads(done.stdout))


def measure(way: str, path: str) -> Run:
    """Read the file once in one of the ways."""
    ways: dict[str, Callable[[str], int]] = {
        "json.loads": load_lines,
        "csv.DictReader": dump_rows,
        "in place": lambda path: staged(path, in_place=True),
        "copied": lambda path: staged(path, in_place=False),
    }
    wall, cpu = time.perf_counter(), time.process_time()
    records = ways[way](path)
    wall_s, cpu_s = time.perf_counter() - wall, time.process_time() - cpu
    return Run(records, wall_s, cpu_s, peak_bytes() / MB)


def load_lines(path: str) -> int:
    """Parse each line, as one does."""
    records = 0
    with Path(path).open(encoding="utf-8") as file:
        for line in file:
            json.loads(line)
            records += 1
    return records


def dump_rows(path: str) -> int:
    """Turn each row into JSON, as one does."""
    records = 0
    with Path(path).open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            json.dumps(row)
            records += 1
    return records


def staged(path: str, *, in_place: bool) -> int:
    """Stage the file into a store beside it."""
    with TemporaryDirectory(dir=Path(path).parent) as store:
        source = Source(path, in_place=in_place)
        manifest = load_manifest(MANIFEST, source="benchmark")
        return stage(source, manifest, store, clock=SystemClock()).records


if __name__ == "__main__":
    main()
