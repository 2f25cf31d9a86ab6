"""`injector rm`."""

from collections.abc import Iterator

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


@click.command()
@jobs_argument()
@service_option()
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and remove nothing.")
@click.option("--keep-chunks", is_flag=True, help="Leave the chunks in the store.")
@sure_option()
@json_option()
def command(  # noqa: PLR0913  (one for each option)
    jobs: tuple[str, ...],
    url: str | None,
    *,
    dry_run: bool,
    keep_chunks: bool,
    is_sure: bool,
    as_json: bool,
) -> None:
    """Remove JOBS that have ended, with their receipts, rejects and chunks; the audit stays.

    Their ids are free again. Chunks that another job names stay, and so do the files that the
    records came from.

    Example: injector rm welcome-2026-11
    """
    service = service_at(url)
    if dry_run:
        act_on(jobs, lambda job: _look(service, job, keep=keep_chunks), _say, as_json=as_json)
        return
    what = "receipts" if keep_chunks else "receipts and chunks"
    confirm(f"Remove {', '.join(jobs)} with their {what}?", is_sure=is_sure)
    act_on(jobs, lambda job: _remove(service, job, keep=keep_chunks), _say, as_json=as_json)


def _look(service: Service, job: str, *, keep: bool) -> Json:
    """Say what removing the job would free, and who keeps the rest."""
    found = service.job(job)
    if found["state"] in {"running", "paused"}:
        raise Conflict(f"job {job!r} is {found['state']}; cancel it first: injector cancel {job}")
    held = None if keep else _held(str(found["store"]))
    others = [name for name in _named_by(service, held) if name != job]
    return _shown(found, held, others, removed=False, keep=keep)


def _remove(service: Service, job: str, *, keep: bool) -> Json:
    """Remove the job, then its chunks unless another job names them by then."""
    found = service.job(job)
    held = None if keep else _held(str(found["store"]))
    service.remove(job)
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
            f"job {job!r} is removed, but its chunks are not: {error}; remove {held.url} yourself"
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


def _shown(job: Json, held: Held | None, others: list[str], *, removed: bool, keep: bool) -> Json:
    frees = held.size if held and not others else 0
    return {
        "id": job["id"],
        "removed": removed,
        "store": job["store"],
        "bytes_freed": frees,
        "chunks_named_by": others,
        "chunks_found": bool(held),
        "chunks_kept": keep,
        "source": held.source if held else "",
    }


def _say(found: Json) -> str:
    is_done = found["removed"]
    verdict = "is removed" if is_done else "would be removed; nothing is yet"
    return f"{found['id']} {verdict}: {_of_chunks(found)}{_of_source(found)}"


def _of_chunks(found: Json) -> str:
    if found["chunks_kept"]:
        return f"its chunks stay at {found['store']}"
    if not found["chunks_found"]:
        return f"no chunks of its own are at {found['store']}"
    if others := found["chunks_named_by"]:
        assert isinstance(others, list)
        return f"its chunks stay, since {', '.join(others)} has them too"
    return f"{size(found['bytes_freed'])} of chunks {'freed' if found['removed'] else 'to free'}"


def _of_source(found: Json) -> str:
    return f"; {found['source']} stays" if found["source"] else ""
