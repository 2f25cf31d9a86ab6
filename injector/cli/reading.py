"""What submit and plan read first: the manifest, its source, its group."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import wraps
from pathlib import Path
from typing import Literal

import click

from injector.cli.known_group import unknown_group
from injector.cli.output import console, count, is_terminal
from injector.cli.ranges import SpanRange
from injector.errors import Misused, NoSource
from injector.groups import Group
from injector.manifest import load_groups, load_manifest, parse_manifest
from injector.manifest.document import read_document
from injector.manifest.schema import Manifest
from injector.settings import Settings
from injector.staging.meter import Progress as Read
from injector.staging.source import Source, source_of
from injector.wording import counted

STANDARD_INPUT = "-"

Command = Callable[..., object]


@dataclass(frozen=True, slots=True)
class Reading:
    """How the command line wants the records read; None leaves a thing to the manifest.

    `groups_file` is where the groups are, None for the environment's. `latency_s` is how long
    the target takes for a task, None if that is not known.
    """

    records: str | None
    encoding: str | None
    on_error: Literal["skip", "stop"]
    allow_empty: bool
    groups_file: Path | None
    latency_s: float | None

    def manifest(self, path: Path) -> Manifest:
        """Read the manifest, and apply what the command line says otherwise."""
        manifest = load_manifest(path)
        said = {"encoding": self.encoding, "records": self.records}
        changes = {key: value for key, value in said.items() if value is not None}
        if not changes:
            return manifest
        try:
            return parse_manifest(json.dumps(manifest.model_dump(mode="json") | changes))
        except Misused as error:
            raise Misused(str(error).replace("manifest: ", "--")) from error

    def source(self, manifest: Manifest, path: Path) -> Source:
        """Return the source; the manifest's relative path starts at the manifest's folder.

        At the current one if the manifest comes through a pipe.
        """
        source = source_of(manifest)
        location = source.location
        if self.records is None and location != STANDARD_INPUT and "://" not in location:
            location = str(_folder_of(path) / location)
        return replace(
            source, location=location, on_error=self.on_error, allow_empty=self.allow_empty
        )

    @contextmanager
    def placed(self, path: Path) -> Iterator[None]:
        """Tie a source that is not there to the line of the manifest that names it."""
        try:
            yield
        except NoSource as error:
            if self.records is not None or not path.is_file():
                raise
            place = read_document(path).place_of(("records",))
            raise NoSource(
                f"{path}:{place.line}:{place.column}: records: {error}; a path starts at the "
                "manifest's folder"
            ) from error

    def group(self, name: str, settings: Settings) -> Group | None:
        """Return the group; None when nothing here says which groups there are."""
        groups = _read_groups(self.groups_file) if self.groups_file else settings.groups
        if groups and name not in groups:
            raise unknown_group(name, groups)
        return groups.get(name)


def reading_options(function: Command) -> Command:
    """Let a command say how its records are read; it is given a Reading."""

    @wraps(function)
    def wrapper(*args: object, **options: object) -> object:
        names = [field.name for field in fields(Reading)]
        reading = Reading(**{name: options.pop(name) for name in names})  # type: ignore[arg-type]
        return function(*args, reading=reading, **options)

    decorated: Command = wrapper
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated


_OPTIONS: tuple[Callable[[Command], Command], ...] = (
    click.option("--records", metavar="LOCATION", help="Read these instead of the manifest's."),
    click.option("--encoding", metavar="NAME", help="How the text of the records is encoded."),
    click.option(
        "--on-error",
        type=click.Choice(["skip", "stop"]),
        default="skip",
        show_default=True,
        help="Whether a bad record is skipped and listed, or ends the reading.",
    ),
    click.option("--allow-empty", is_flag=True, help="Accept a source without records."),
    click.option(
        "--groups",
        "groups_file",
        type=click.Path(path_type=Path),
        help="The groups' configuration [INJECTOR_GROUPS].",
    ),
    click.option(
        "--target-latency",
        "latency_s",
        type=SpanRange(min=0, min_open=True, max=1800),
        metavar="DURATION",
        help="How long the target takes for a task, such as 2s; warns of too few queues.",
    ),
)


@contextmanager
def staging_bar() -> Iterator[Callable[[Read], None]]:
    """Show how far the reading is, on a terminal; give the function that is told of it."""
    if not is_terminal(stderr=True):
        yield lambda _: None
        return
    from rich.progress import (  # noqa: PLC0415  (only a terminal needs it)
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        DownloadColumn(),
        TextColumn("{task.fields[note]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console(stderr=True), transient=True) as bars:
        task = bars.add_task("reading", total=None, note="")

        def show(progress: Read) -> None:
            bars.update(
                task,
                total=progress.bytes_total,
                completed=progress.bytes_read,
                note=f"{counted(progress.records, 'record')}, {count(progress.rejected)} rejected",
            )

        yield show


def _folder_of(manifest: Path) -> Path:
    return manifest.parent if manifest.is_file() else Path()


def _read_groups(path: Path) -> dict[str, Group]:
    try:
        return load_groups(path.read_text(encoding="utf-8-sig"), source=str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise Misused(f"{path}: cannot be read: {error}") from error
