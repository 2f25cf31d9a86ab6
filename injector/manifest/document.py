"""A YAML file as values with their places, or what keeps it from being read, with its place."""

from collections.abc import Mapping
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node
from ruamel.yaml.reader import ReaderError

from injector.errors import Misused, NotFound
from injector.manifest.nodes import KeyPath, Reading, place_of, shape_of
from injector.manifest.problem import Place, Problem, complaint


@dataclass(frozen=True, slots=True)
class Document:
    """A file's values, the place of each by its path of keys, and what is wrong so far."""

    source: str
    value: object
    places: Mapping[KeyPath, Place]
    problems: tuple[Problem, ...] = ()

    def place_of(self, path: KeyPath) -> Place:
        """Return the place of the value, or of the nearest one around it that is there."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, Place(1, 1))


def read_document(origin: Path | str, *, source: str = "") -> Document:
    """Read the YAML file, or the YAML text, which is then called `source`.

    Raises Misused with file, line, column and remedy when it cannot be read as one mapping.
    """
    source = source or (str(origin) if isinstance(origin, Path) else "manifest")
    text = _text_of(origin, source) if isinstance(origin, Path) else origin
    root = _compose(text.removeprefix("\ufeff"), source)
    if not isinstance(root, MappingNode):
        place = Place(1, 1) if root is None else place_of(root)
        found = "is empty" if root is None else f"holds a {shape_of(root)}"
        message = f"the file {found}; it must hold keys with values, such as job: NAME"
        raise complaint(source, [Problem(place, message)])
    reading = Reading()
    value = reading.value(root, ())
    return Document(source, value, reading.places, tuple(reading.problems))


def _text_of(path: Path, source: str) -> str:
    try:
        written = path.read_bytes()
    except FileNotFoundError as error:
        raise NotFound(f"{source}: there is no such file; check the path") from error
    except IsADirectoryError as error:
        raise Misused(f"{source}: is a directory; name the file in it") from error
    except OSError as error:
        raise Misused(f"{source}: cannot be read: {error.strerror}") from error
    try:
        return written.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = written[: error.start]
        place = Place(before.count(b"\n") + 1, error.start - before.rfind(b"\n"))
        message = f"byte 0x{written[error.start]:02x} is not UTF-8; save the file as UTF-8"
        raise complaint(source, [Problem(place, message)]) from error


def _compose(text: str, source: str) -> Node | None:
    try:
        root: Node | None = YAML(typ="rt", pure=True).compose(StringIO(text))
    except MarkedYAMLError as error:
        raise complaint(source, [_syntax(error)]) from error
    except ReaderError as error:
        before = text[: error.position]
        place = Place(before.count("\n") + 1, error.position - before.rfind("\n"))
        message = f"character {text[error.position]!r} is not allowed; take it out"
        raise complaint(source, [Problem(place, message)]) from error
    except (YAMLError, RecursionError, ValueError) as error:
        message = f"is not YAML: {' '.join(str(error).split()) or 'nested too deeply'}"
        raise complaint(source, [Problem(Place(1, 1), message)]) from error
    return root


def _syntax(error: MarkedYAMLError) -> Problem:
    mark = error.problem_mark or error.context_mark
    place = Place(mark.line + 1, mark.column + 1) if mark else Place(1, 1)
    cause = error.problem or error.context or "is not YAML"
    return Problem(place, f"{cause}; {_remedy(cause)}")


def _remedy(cause: str) -> str:
    if "\\t" in cause:
        return "replace the tab by spaces"
    if "mapping values are not allowed" in cause:
        return "quote the value, or put the key on its own line"
    if "another document" in cause:
        return "keep one document per file"
    if "cannot start any token" in cause:
        return "quote the value"
    return "check the indentation, quotes and brackets above"
