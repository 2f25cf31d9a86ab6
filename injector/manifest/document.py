"""YAML text as plain values, with the place of each and every trap of YAML 1.1 kept visible.

Parsers disagree on unquoted scalars: `no` is false, `0123` is 83 and `5:00` is 300 to some.
So each unquoted scalar stays text and remembers what it may be taken for; the schema says
what it wants there, and asks for quotes where the two differ.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from injector.errors import Misused, NotFound

_MAX_NODES = 50_000
_MAX_DEPTH = 50
_STANDARD = "tag:yaml.org,2002:"

_KINDS = (
    ("null", re.compile(r"~|null|Null|NULL|")),
    ("boolean", re.compile(r"true|True|TRUE|false|False|FALSE")),
    ("boolean of YAML 1.1", re.compile(r"yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF")),
    ("number", re.compile(r"[-+]?(0|[1-9][0-9]*)")),
    ("number", re.compile(r"[-+]?(0|[1-9][0-9]*|(?=\.[0-9]))(\.[0-9]*)?([eE][-+]?[0-9]+)?")),
    ("number that begins with 0", re.compile(r"[-+]?0[0-9.eE+-]+")),
    ("hexadecimal, octal or binary number", re.compile(r"[-+]?0(x[0-9a-fA-F_]+|o[0-7_]+|b[01_]+)")),
    ("number with underscores", re.compile(r"[-+]?[0-9][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9]+)?")),
    ("number to base 60", re.compile(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?")),
    ("infinite number", re.compile(r"[-+]?\.(inf|Inf|INF)")),
    ("not-a-number", re.compile(r"\.(nan|NaN|NAN)")),
    ("date", re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt \t].*)?")),
)


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A line and a column, counted from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """What is wrong at a place, and what would do."""

    place: Place
    message: str


class Plain(str):
    """An unquoted scalar; `kind` is what it may be taken for, "text" if for nothing else."""

    __slots__ = ("kind",)
    kind: str


@dataclass(frozen=True, slots=True)
class Document:
    """A file's values, the place of each by its path of keys, and what is wrong so far."""

    source: str
    value: object
    places: Mapping[tuple[str | int, ...], Place]
    problems: tuple[Problem, ...] = ()

    def place_of(self, path: tuple[str | int, ...]) -> Place:
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
        place = Place(1, 1) if root is None else _place(root)
        found = "is empty" if root is None else f"holds a {_shape(root)}"
        message = f"the file {found}; it must hold keys with values, such as job: NAME"
        raise complaint(source, [Problem(place, message)])
    reading = _Reading()
    value = reading.value(root, ())
    return Document(source, value, reading.places, tuple(reading.problems))


def complaint(source: str, problems: list[Problem]) -> Misused:
    """Gather the problems of a file, one line each, in the order of their places."""
    lines = (
        f"{source}:{problem.place.line}:{problem.place.column}: {problem.message}"
        for problem in sorted(set(problems))
    )
    return Misused("\n".join(lines))


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


@dataclass(slots=True)
class _Reading:
    """Turns nodes into values while noting places and problems."""

    places: dict[tuple[str | int, ...], Place] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    merging: list[Node] = field(default_factory=list)
    nodes: int = 0

    def value(self, node: Node, path: tuple[str | int, ...]) -> object:
        """Return the node's value and note where it and its parts are."""
        self.places.setdefault(path, _place(node))
        self.nodes += 1
        if self.nodes > _MAX_NODES or len(path) > _MAX_DEPTH:
            self._note(node, "the file is too large or too deep once its aliases are followed")
            return None
        if isinstance(node, MappingNode):
            return {key: self.value(item, (*path, key)) for key, item in self._pairs(node, path)}
        if isinstance(node, SequenceNode):
            return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
        return self._scalar(node)

    def _pairs(self, node: MappingNode, path: tuple[str | int, ...]) -> Iterator[tuple[str, Node]]:
        """Yield the node's own pairs, then those merged into it that it does not have."""
        seen: dict[str, Node] = {}
        merged: list[Node] = []
        for key, item in node.value:
            name = self._key(key)
            if name in seen:
                first = _place(seen[name])
                self._note(
                    key, f"key {name!r} is given twice, first in line {first.line}; keep one"
                )
                continue
            seen[name] = key
            if name == "<<":
                merged += item.value if isinstance(item, SequenceNode) else [item]
                continue
            self.places[(*path, name)] = _place(key)
            yield name, item
        yield from self._merged(merged, seen, path)

    def _merged(
        self, nodes: list[Node], seen: dict[str, Node], path: tuple[str | int, ...]
    ) -> Iterator[tuple[str, Node]]:
        for node in nodes:
            if not isinstance(node, MappingNode):
                self._note(node, "<< merges mappings only; name an alias of one")
                continue
            if node in self.merging or self.nodes > _MAX_NODES:
                self._note(node, "<< merges a mapping into itself, or too many; spell less out")
                return
            self.nodes += 1
            self.merging.append(node)
            pairs = [(name, item) for name, item in self._pairs(node, path) if name not in seen]
            self.merging.pop()
            seen.update(dict.fromkeys((name for name, _ in pairs), node))
            yield from pairs

    def _key(self, node: Node) -> str:
        if not isinstance(node, ScalarNode):
            self._note(node, f"a key must be text, not a {_shape(node)}; quote it")
            return ""
        kind = "text" if node.style else kind_of(node.value)
        if kind != "text":
            self._note(node, f"key {node.value!r} reads as a {kind}; quote it")
        return str(node.value)

    def _scalar(self, node: Node) -> object:
        if node.tag and not str(node.tag).startswith(_STANDARD):
            self._note(node, f"tag {node.tag} is not known here; leave it out")
        if not isinstance(node, ScalarNode) or node.style:
            return str(node.value)
        kind = kind_of(node.value)
        if kind == "null":
            return None
        plain = Plain(node.value)
        plain.kind = kind
        return plain

    def _note(self, node: Node, message: str) -> None:
        self.problems.append(Problem(_place(node), message))


def kind_of(scalar: str) -> str:
    """Say what a YAML parser, of 1.1 or of 1.2, may take an unquoted scalar for."""
    return next((kind for kind, form in _KINDS if form.fullmatch(scalar)), "text")


def _place(node: Node) -> Place:
    return Place(node.start_mark.line + 1, node.start_mark.column + 1)


def _shape(node: Node) -> str:
    if isinstance(node, SequenceNode):
        return "list"
    return "mapping" if isinstance(node, MappingNode) else "single value"
