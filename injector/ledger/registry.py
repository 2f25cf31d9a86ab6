"""When a job that is submitted again is the same, and when it is not."""

import json
from collections.abc import Iterator

from injector.errors import Conflict, Misused
from injector.ledger.lookup import storable
from injector.ledger.values import Job, NewJob

CONTENT = ("group", "records", "chunks", "digest", "rejected", "parent", "named_after")
"""What must agree, beside the manifest. Where the chunks lie is not content, and weight,
priority and rate may have been changed since."""


def check_id(job_id: str) -> None:
    """Refuse an id that a database could not keep."""
    if not job_id or not storable(job_id):
        raise Misused(f"job {job_id!r}: an id is 1 to 1,000 characters of text, without NUL")


def same_or_conflict(known: Job, job: NewJob) -> None:
    """Raise Conflict, naming what differs, unless both are the same job."""
    differences = [
        f"{name} was {getattr(known, name)!r}, is {getattr(job, name)!r}"
        for name in CONTENT
        if getattr(known, name) != getattr(job, name)
    ]
    differences += _manifest_differences(known.manifest_json, job.manifest_json)
    if differences:
        lines = "".join(f"\n  {each}" for each in differences)
        raise Conflict(
            f"job {job.id!r} is registered with other content; give this one another id. "
            f"What differs:{lines}"
        )


def _manifest_differences(was: str, new: str) -> list[str]:
    if was == new:
        return []
    try:
        return list(_differences("manifest", json.loads(was), json.loads(new)))
    except ValueError:
        return ["the manifest differs"]


def _differences(path: str, was: object, new: object) -> Iterator[str]:
    if isinstance(was, dict) and isinstance(new, dict):
        for name in sorted(was.keys() | new.keys()):
            yield from _differences(f"{path}.{name}", was.get(name), new.get(name))
    elif was != new:
        yield f"{path} was {json.dumps(was)}, is {json.dumps(new)}"
