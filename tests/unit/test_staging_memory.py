"""Case B82: memory does not grow with the source, and what goes wrong reaches the exit code."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

STAGE = """
import json, sys
from injector.clock import SystemClock
from injector.manifest import load_manifest
from injector.staging import Source, stage

manifest = load_manifest(sys.argv[3], source="m")
staged = stage(
    Source(sys.argv[1], in_place=False), manifest, sys.argv[2], clock=SystemClock()
)
with open("/proc/self/status") as status:
    peak_kib = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
print(json.dumps([staged.records, peak_kib]))
"""
BROKEN = """
from injector.clock import SystemClock

class Broken(SystemClock):
    asked = []

    def monotonic(self):
        self.asked.append(1)
        if len(self.asked) == 20:
            raise {}("in mid-source")
        return super().monotonic()
"""
MANIFEST = """
job: large
group: g
records: users.jsonl
identity: {field: n}
task: {http: {url: "https://t.example/{n}", body: record}}
"""
MIB = 1024


def staged(tmp_path: Path, lines: int) -> tuple[int, int]:
    """Stage so many lines in a process of its own; return its records and its peak in KiB.

    The system's own count of a child's peak begins with its parent's.
    """
    source = tmp_path / f"{lines}.jsonl"
    with source.open("w") as file:
        file.writelines(f'{{"n":{n},"name":"user {n}"}}\n' for n in range(lines))
    command = [sys.executable, "-c", STAGE, str(source), str(tmp_path / "store"), MANIFEST]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    records, peak = json.loads(done.stdout)
    return records, peak


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_a_source_of_four_times_as_many_lines_takes_no_more_memory(tmp_path: Path) -> None:
    few, usual = staged(tmp_path, 200_000)
    many, peak = staged(tmp_path, 800_000)
    assert (few, many) == (200_000, 800_000)
    assert peak < usual + 4 * MIB
    assert peak < 120 * MIB


@pytest.mark.parametrize("fault", ["OSError", "MemoryError", "RuntimeError"])
def test_what_is_raised_in_mid_source_reaches_the_exit_code(tmp_path: Path, fault: str) -> None:
    source = tmp_path / "users.jsonl"
    source.write_text("".join(f'{{"n":{n}}}\n' for n in range(5_000)))
    store = tmp_path / "store"
    program = STAGE.replace("clock=SystemClock()", "clock=Broken()")
    command = [sys.executable, "-c", BROKEN.format(fault) + program, str(source), str(store)]
    command.append(MANIFEST)
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode != 0
    assert "in mid-source" in done.stderr
    assert not [each for each in store.rglob("*") if each.is_file()]
