"""Records staged in one line, and read back in another."""

from pathlib import Path

from injector.errors import Misused
from injector.manifest.load import load_manifest
from injector.manifest.record import Record
from injector.manifest.schema import Manifest
from injector.staging import Bad, ChunkReader, Source, Staged, stage
from tests.moving_clock import T0, MovingClock

NOW = T0


def manifest(*, job: str = "job-1", url: str = "https://w.example/", more: str = "") -> Manifest:
    """A manifest whose URL names no field, unless the test says so."""
    text = f"""
job: {job}
group: g
records: "-"
task:
  http:
    url: "{url}"
  {more}
"""
    return load_manifest(text, source="m.yaml")


PLAIN = manifest()


def stage_bytes(
    folder: Path, content: bytes, name: str = "r.jsonl", job: Manifest = PLAIN, **source: object
) -> Staged:
    """Write the bytes to a file of the folder, and stage it into the folder's store."""
    (folder / name).write_bytes(content)
    return stage_path(folder, name, job, **source)


def stage_path(folder: Path, name: str, job: Manifest = PLAIN, **source: object) -> Staged:
    """Stage what the name, or the glob, means in the folder."""
    location = Source(str(folder / name), **source)  # type: ignore[arg-type]
    return stage(location, job, str(folder / "store"), clock=MovingClock())


def read_all(staged: Staged) -> list[Record | Bad]:
    """Return every record of the staging."""
    reader = ChunkReader(staged.store)
    return [record for number in range(staged.chunks) for record in reader.read(number).records]


def bodies(staged: Staged) -> list[bytes]:
    """Return the JSON of the good records."""
    return [record.raw for record in read_all(staged) if isinstance(record, Record)]


def bad(staged: Staged) -> list[tuple[int, str]]:
    """Return line and reason of the bad records."""
    return [(record.line, record.reason) for record in read_all(staged) if isinstance(record, Bad)]


def fault_of_staging(folder: Path, content: bytes, name: str = "r.jsonl", **source: object) -> str:
    """Return what a staging that must fail says, and check that nothing is left of it."""
    try:
        stage_bytes(folder, content, name, **source)
    except Misused as error:
        left = [path for path in (folder / "store").rglob("*") if path.is_file()]
        assert left == []
        return str(error).replace(f"{folder}/", "")
    raise AssertionError("was staged")
