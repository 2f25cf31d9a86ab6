"""What an emulator starts with, as options and files declare it."""

from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from injector.emulator.api import messages
from injector.errors import Misused

SECTIONS = ("queues", "topics", "subscriptions")
Settings = dict[str, object]


def declared(
    texts: Sequence[str], path: Path | None, section: str
) -> Iterator[tuple[str, Settings]]:
    """Yield the settings that options (NAME or NAME=SETTINGS) and a file's section hold.

    Each comes with what to call its place; raises Misused with that. A file that is a mere list
    is one of queues.
    """
    kind = section.removesuffix("s")
    for text in texts:
        name, _, settings = text.partition("=")
        source = f"{kind} {name}"
        loaded = _load(settings, source) or {}
        yield source, {"name": name, **_mapping(loaded, source)}
    if path is not None:
        yield from _in_file(path, section, kind)


def read_into(settings: Settings, config: messages.Message, source: str) -> None:
    """Read a resource in the JSON form of the API, with either kind of field names."""
    try:
        messages.ParseDict(settings, config)
    except (messages.ParseError, TypeError, ValueError) as error:
        raise Misused(f"{source}: {error}") from error


def _in_file(path: Path, section: str, kind: str) -> Iterator[tuple[str, Settings]]:
    try:
        loaded = _load(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeError) as error:
        raise Misused(f"{path}: cannot be read ({error})") from error
    sections = loaded if isinstance(loaded, dict) else {"queues": loaded}
    listed = sections.get(section, [] if set(sections) & set(SECTIONS) else None)
    if not isinstance(listed, list):
        raise Misused(f"{path}: needs a list of {section}, or `{section}:` with one")
    for number, item in enumerate(listed, 1):
        source = f"{path} {kind} {number}"
        yield source, _mapping({"name": item} if isinstance(item, str) else item, source)


def _load(text: str, source: str) -> object:
    try:
        return YAML(typ="safe", pure=True).load(StringIO(text))
    except (YAMLError, RecursionError) as error:
        raise Misused(f"{source}: {_cause(error)}") from error


def _cause(error: Exception) -> str:
    """Say in one line what is wrong; the parser's own words go on about how to allow it."""
    if not isinstance(error, MarkedYAMLError):
        return " ".join(str(error).split())
    mark = error.problem_mark or error.context_mark
    where = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
    return f"{error.problem or error.context}{where}"


def _mapping(value: object, source: str) -> Settings:
    if not isinstance(value, dict):
        raise Misused(f"{source}: needs settings such as rate_limits, not {value!r}")
    return {str(key): item for key, item in value.items()}
