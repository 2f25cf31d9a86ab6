"""`injector redrive`."""

from collections.abc import Iterator
from pathlib import Path

import click
import msgspec

from injector.cli.client import Json, Service
from injector.cli.options import (
    confirm,
    job_argument,
    json_option,
    need_answer,
    service_at,
    service_option,
    sure_option,
)
from injector.cli.output import count, print_json, say
from injector.cli.picking import picks_by_outcome, picks_of_ranges
from injector.cli.unregistered import registering
from injector.errors import Misused
from injector.manifest import load_manifest, parse_manifest
from injector.manifest.schema import Manifest
from injector.settings import read_settings
from injector.staging import Before, ChunkReader, Pick, Staged, stage_again
from injector.wording import counted


@click.command()
@job_argument()
@service_option()
@click.option("--rejected", is_flag=True, help="Send the rejects again; so it does by itself.")
@click.option("--missing", is_flag=True, help="Send again what has no outcome.")
@click.option("--records", "ranges", metavar="RANGES", help="Send these again: 5,100-199.")
@click.option("--as", "child", metavar="JOB", help="As a job of their own, under this id.")
@click.option(
    "--manifest",
    "path",
    type=click.Path(path_type=Path),
    help="As a job of their own, by this edited manifest.",
)
@click.option("--store", metavar="URL", help="Where the child's chunks go [beside the job's].")
@sure_option()
@json_option()
def command(  # noqa: PLR0913  (one for each option)
    job: str,
    url: str | None,
    *,
    ranges: str | None,
    child: str | None,
    path: Path | None,
    store: str | None,
    rejected: bool,
    missing: bool,
    is_sure: bool,
    as_json: bool,
) -> None:
    """Send records of JOB again: its rejects, what is missing, or a choice by place.

    Rejects and missing records go again under JOB itself, unless --as or --manifest makes a job
    of their own of them; it names their tasks as JOB did, so that none is created twice. Chosen
    --records get new names, whatever became of them. They are counted from 0 in the source's order,
    as `record` and `ordinal` in reports: a CSV's record 0 is on line 2, below the headings.

    Example: injector redrive welcome-2026-11 --rejected --manifest mended.yaml
    """
    if sum((rejected, missing, ranges is not None)) > 1:
        raise click.UsageError("choose one of --rejected, --missing and --records")
    service = service_at(url)
    if not (child or path or ranges):
        act = "retry" if missing else "redrive"
        _send_again(service, job, act, is_sure=is_sure, as_json=as_json)
        return
    need_answer(is_sure=is_sure)
    found = service.job(job)
    manifest = _manifest(service, job, child, path)
    store = store or _beside(found)
    before = Before.staging(manifest.job, store)
    staged = _stage(found, _picks(service, found, ranges, missing=missing), manifest, store)
    with registering(service, staged, before) as registration:
        many = counted(staged.records, "record")
        confirm(f"Register {manifest.job} with {many}?", is_sure=is_sure)
        shown, _ = registration.register(manifest, parent=job, keeps_names=not ranges)
    _tell_child(shown, staged, job, as_json=as_json)


def _send_again(service: Service, job: str, act: str, *, is_sure: bool, as_json: bool) -> None:
    """Send records again under the job itself."""
    confirm(f"Send the {_what(act)} of {job} again?", is_sure=is_sure)
    _tell(service.act(job, act), job, act, as_json=as_json)


def _what(act: str) -> str:
    return "missing records" if act == "retry" else "rejects"


def _tell(found: Json, job: str, act: str, *, as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    number = count(found["opened"]) + " " if "opened" in found else ""
    told = f"{number}{_what(act)} of {job} are fed again at the next tick"
    if act != "retry":
        told += "; what is wrong with a record itself needs a mended manifest: --manifest FILE"
    say(told)


def _tell_child(shown: Json, staged: Staged, job: str, *, as_json: bool) -> None:
    if as_json:
        print_json(shown)
        return
    words = f"{shown['id']} sends {counted(staged.records, 'record')} of {job} again"
    say(f"{words}; follow it: injector watch {shown['id']}")


def _manifest(service: Service, job: str, child: str | None, path: Path | None) -> Manifest:
    """Return the child's manifest: the parent's, or the edited one, under an id of its own."""
    manifest = load_manifest(path) if path else parse_manifest(_json(service.manifest(job)))
    name = child or (manifest.job if manifest.job != job else f"{job}-again")
    document = manifest.model_dump(mode="json") | {"job": name}
    if name == job:
        raise Misused(f"a job of their own needs another id than {job}; name it by --as")
    return parse_manifest(_json(document))


def _json(document: Json) -> bytes:
    return msgspec.json.encode(document)


def _picks(service: Service, job: Json, ranges: str | None, *, missing: bool) -> Iterator[Pick]:
    """Choose the records: those of the ranges, those without an outcome, or the rejects."""
    if ranges:
        return picks_of_ranges(ranges, job)
    return picks_by_outcome(service, job, "open" if missing else "rejected")


def _beside(job: Json) -> str:
    """Return the job's store, which has a folder for each job, and in it one a staging."""
    return str(job["store"]).rsplit("/", 2)[0]


def _stage(job: Json, picks: Iterator[Pick], manifest: Manifest, store: str) -> Staged:
    """Stage the picked records as the child's, and say how many lines were passed over."""
    reader, clock = ChunkReader(str(job["store"])), read_settings().clock
    staged, passed_over = stage_again(reader, picks, manifest, store, clock=clock)
    if passed_over:
        say(f"passed over, since no records: {counted(passed_over, 'line')}", stderr=True)
    return staged
