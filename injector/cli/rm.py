"""`injector rm`."""

from collections.abc import Iterator
from typing import TypedDict

import click

from injector.cli.acting import act_on
from injector.cli.client import Json, Service
from injector.cli.options import (
    confirm,
    jobs_argument,
    json_option,
    service_at,
    service_option,
    sure_option,
)
from injector.cli.output import size
from injector.errors import Conflict, InjectorError, Misused, NotFound
from injector.staging import Held, look_at, unstage

_GONE = "gone"


class Removal(TypedDict):
    """What became of a job and its chunks, or would."""

    id: str
    removed: bool
    store: str
    bytes_freed: int
    chunks_named_by: list[str]
    chunks_found: bool
    chunks_kept: bool
    source: str


@click.command()
@jobs_argument()
@service_option()
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and remove nothing.")
@click.option("--keep-chunks", is_flag=True, help="Leave the chunks in the store.")
@click.option(
    "--chunks",
    "left_at",
    default="",
    metavar="URL",
    help="Where an rm that was cut off has left the chunks of a JOB that is gone.",
)
@sure_option()
@json_option()
def command(  # noqa: PLR0913  (one for each option)
    jobs: tuple[str, ...],
    url: str | None,
    *,
    dry_run: bool,
    keep_chunks: bool,
    left_at: str,
    is_sure: bool,
    as_json: bool,
) -> None:
    """Remove JOBS that have ended, with their receipts, rejects and chunks; the audit stays.

    Their ids are free again. Chunks that another job names stay, and so do the files that the
    records came from.

    Example: injector rm welcome-2026-11

    Should it be cut off when the job is gone and its chunks are not yet, say where they are.

    Example: injector rm welcome --chunks gs://bucket/chunks/welcome/001764547200-1a2b3c4d
    """
    if left_at and (keep_chunks or len(jobs) > 1):
        raise Misused("--chunks says where the chunks of one JOB are, which are then removed")
    service = service_at(url)
    act = _look if dry_run else _remove
    if not dry_run:
        what = "receipts" if keep_chunks else "receipts and chunks"
        confirm(f"Remove {', '.join(jobs)} with their {what}?", is_sure=is_sure)
    act_on(
        jobs,
        lambda job: act(service, _job(service, job, left_at), keep=keep_chunks),
        _say,
        as_json=as_json,
    )


def _job(service: Service, job: str, left_at: str) -> Json:
    """Return the job, or what is left of it."""
    try:
        found = service.job(job)
    except NotFound as error:
        if left_at:
            return {"id": job, "state": _GONE, "store": left_at}
        raise NotFound(
            f"{error}; if an rm of it was cut off, say where its chunks are: injector rm {job} "
            f"--chunks STORE/{job}/NUMBER"
        ) from error
    if left_at:
        raise Conflict(f"job {job!r} is there and says itself where its chunks are; omit --chunks")
    return found


def _look(service: Service, found: Json, *, keep: bool) -> Removal:
    """Say what removing the job would free, and who keeps the rest."""
    job = str(found["id"])
    if found["state"] in {"running", "paused"}:
        raise Conflict(f"job {job!r} is {found['state']}; cancel it first: injector cancel {job}")
    held = None if keep else _held(str(found["store"]))
    others = [name for name in _named_by(service, held) if name != job]
    return _shown(found, held, others, removed=False, keep=keep)


def _remove(service: Service, found: Json, *, keep: bool) -> Removal:
    """Remove the job, then its chunks unless another job names them by then.

    In this order a job that lives has its chunks, whenever this is cut off.
    """
    job = str(found["id"])
    held = None if keep else _held(str(found["store"]))
    if found["state"] != _GONE:
        service.remove(job)
    elif not held:
        raise NotFound(f"{found['store']}: holds no finished staging; nothing is removed")
    others: list[str] = []
    if held:
        _unstage(service, job, held, others)
    return _shown(found, held, others, removed=True, keep=keep)


def _unstage(service: Service, job: str, held: Held, others: list[str]) -> None:
    def is_named() -> bool:
        others.extend(_named_by(service, held))
        return bool(others)

    try:
        unstage(held.url, is_named=is_named)
    except InjectorError as error:
        raise Misused(
            f"job {job!r} is removed, but its chunks are not: {error}; once that is mended: "
            f"injector rm {job} --chunks {held.url}"
        ) from error


def _held(store: str) -> Held | None:
    """Return what the chunks take; None where no staging is, as on another machine's disk."""
    try:
        return look_at(store)
    except NotFound:
        return None
    except InjectorError as error:
        raise Misused(f"{error}; to remove the job alone, add --keep-chunks") from error


def _named_by(service: Service, held: Held | None) -> Iterator[str]:
    """Yield the jobs whose chunks are in that folder."""
    return (str(job["id"]) for job in (service.jobs(staging=held.name) if held else ()))


def _shown(
    job: Json, held: Held | None, others: list[str], *, removed: bool, keep: bool
) -> Removal:
    frees = held.size if held and not others else 0
    return {
        "id": str(job["id"]),
        "removed": removed,
        "store": str(job["store"]),
        "bytes_freed": frees,
        "chunks_named_by": others,
        "chunks_found": bool(held),
        "chunks_kept": keep,
        "source": held.source if held else "",
    }


def _say(found: Removal) -> str:
    is_done = found["removed"]
    verdict = "is removed" if is_done else "would be removed; nothing is yet"
    return f"{found['id']} {verdict}: {_of_chunks(found)}{_of_source(found)}"


def _of_chunks(found: Removal) -> str:
    if found["chunks_kept"]:
        return f"its chunks stay at {found['store']}"
    if not found["chunks_found"]:
        return f"no chunks of its own are at {found['store']}"
    if others := found["chunks_named_by"]:
        return f"its chunks stay, since {', '.join(others)} has them too"
    return f"{size(found['bytes_freed'])} of chunks {'freed' if found['removed'] else 'to free'}"


def _of_source(found: Removal) -> str:
    return f"; {found['source']} stays" if found["source"] else ""
