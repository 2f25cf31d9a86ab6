"""The queues that an emulator starts with."""

from collections.abc import Iterator
from io import StringIO
from math import inf
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from injector.emulator.api import messages, paths, queue_form
from injector.emulator.api.service import Service
from injector.emulator.options import Options
from injector.emulator.rpc import RpcError
from injector.errors import Misused

_OUTPUT_ONLY = ("state", "purge_time")


def open_queues(service: Service, options: Options) -> None:
    """Make the queues of the options that are not there yet; raises Misused with the place."""
    for source, config in _configs(options):
        if config.name in service.registry.queues:
            continue
        try:
            where = paths.location(paths.location_of_queue(config.name))
            limits = queue_form.complete(config, where)
        except RpcError as error:
            raise Misused(f"{source}: {error.message}") from error
        service.configs[config.name] = config
        service.registry.open(config.name, limits, now=service.now()).opened_at = -inf


def _configs(options: Options) -> Iterator[tuple[str, messages.Queue]]:
    for text in options.queues:
        name, _, settings = text.partition("=")
        source = f"queue {name}"
        loaded = _load(settings, source) or {}
        yield source, _config({"name": name, **_mapping(loaded, source)}, source)
    if options.queues_file is not None:
        yield from _in_file(options.queues_file)


def _in_file(path: Path) -> Iterator[tuple[str, messages.Queue]]:
    try:
        loaded = _load(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeError) as error:
        raise Misused(f"{path}: cannot be read ({error})") from error
    listed = loaded.get("queues") if isinstance(loaded, dict) else loaded
    if not isinstance(listed, list):
        raise Misused(f"{path}: needs a list of queues, or `queues:` with one")
    for number, item in enumerate(listed, 1):
        source = f"{path} queue {number}"
        settings = _mapping({"name": item} if isinstance(item, str) else item, source)
        yield source, _config(settings, source)


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


def _mapping(value: object, source: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise Misused(f"{source}: needs settings such as rate_limits, not {value!r}")
    return {str(key): item for key, item in value.items()}


def _config(settings: dict[str, object], source: str) -> messages.Queue:
    """Read a queue in the JSON form of the API, with either kind of field names."""
    config = messages.Queue()
    try:
        messages.ParseDict(settings, config)
    except (messages.ParseError, TypeError, ValueError) as error:
        raise Misused(f"{source}: {error}") from error
    return config
