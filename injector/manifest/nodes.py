"""YAML nodes as plain values, with the place of each and every trap of YAML 1.1 kept visible.

Parsers disagree on unquoted scalars: `no` is false, `0123` is 83 and `5:00` is 300 to some.
So each unquoted scalar stays text and remembers what it may be taken for; the schema says
what it wants there, and asks for quotes where the two differ.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from injector.manifest.problem import Place, Problem

KeyPath = tuple[str | int, ...]

_MAX_NODES = 50_000
_MAX_DEPTH = 50
_STANDARD = "tag:yaml.org,2002:"
_TAGS = {
    f"{_STANDARD}{kind}"
    for kind in ("bool", "float", "int", "map", "merge", "null", "seq", "str", "timestamp", "value")
}

_KINDS = (
    ("null", re.compile(r"~|null|Null|NULL|")),
    ("boolean", re.compile(r"true|True|TRUE|false|False|FALSE")),
    ("boolean of YAML 1.1", re.compile(r"yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF")),
    ("number", re.compile(r"[-+]?(0|[1-9][0-9]*)")),
    ("number", re.compile(r"[-+]?(0|[1-9][0-9]*|(?=\.[0-9]))(\.[0-9]*)?([eE][-+]?[0-9]+)?")),
    ("number that begins with 0", re.compile(r"[-+]?0[0-9.eE+-]+")),
    ("hexadecimal, octal or binary number", re.compile(r"[-+]?0(x[0-9a-fA-F_]+|o[0-7_]+|b[01_]+)")),
    (
        "number with underscores",
        re.compile(r"[-+]?([0-9][0-9_]*|(?=\.[0-9]))(\.[0-9_]*)?([eE][-+]?[0-9][0-9_]*)?"),
    ),
    ("number to base 60", re.compile(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?")),
    ("number that is infinite", re.compile(r"[-+]?\.(inf|Inf|INF)")),
    ("not-a-number", re.compile(r"\.(nan|NaN|NAN)")),
    ("date", re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt \t].*)?")),
)


class Plain(str):
    """An unquoted scalar; `kind` is what it may be taken for, "text" if for nothing else."""

    __slots__ = ("kind",)
    kind: str


@dataclass(slots=True)
class Reading:
    """Turns nodes into values, and notes places and problems."""

    places: dict[KeyPath, Place] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    merging: list[Node] = field(default_factory=list)
    nodes: int = 0

    def value(self, node: Node, path: KeyPath) -> object:
        """Return the node's value and note where it and its parts are."""
        self.places.setdefault(path, place_of(node))
        self.nodes += 1
        if self.nodes > _MAX_NODES or len(path) > _MAX_DEPTH:
            self._note(node, "the file is too large or too deep once its aliases are followed")
            return None
        self._check_tag(node)
        if isinstance(node, MappingNode):
            return {key: self.value(item, (*path, key)) for key, item in self._pairs(node, path)}
        if isinstance(node, SequenceNode):
            return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
        return self._scalar(node)

    def _pairs(self, node: MappingNode, path: KeyPath) -> Iterator[tuple[str, Node]]:
        """Yield the node's own pairs, then those merged into it that it does not have."""
        seen: dict[str, Node] = {}
        merged: list[Node] = []
        for key, item in node.value:
            name = self._key(key)
            if name in seen:
                first = place_of(seen[name])
                self._note(
                    key, f"key {name!r} is given twice, first in line {first.line}; keep one"
                )
                continue
            seen[name] = key
            if name == "<<":
                merged += item.value if isinstance(item, SequenceNode) else [item]
                continue
            self.places[(*path, name)] = place_of(key)
            yield name, item
        yield from self._merged(merged, seen, path)

    def _merged(
        self, nodes: list[Node], seen: dict[str, Node], path: KeyPath
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
            self._note(node, f"a key must be text, not a {shape_of(node)}; quote it")
            return ""
        kind = "text" if node.style else kind_of(node.value)
        if kind != "text":
            self._note(node, f"key {node.value!r} reads as a {kind}; quote it")
        return str(node.value)

    def _scalar(self, node: Node) -> object:
        if not isinstance(node, ScalarNode) or node.style:
            return str(node.value)
        kind = kind_of(node.value)
        if kind == "null":
            return None
        plain = Plain(node.value)
        plain.kind = kind
        return plain

    def _check_tag(self, node: Node) -> None:
        """Refuse a tag that would make another type of the value than it is read as here."""
        tag = str(node.tag or "")
        is_quoted = isinstance(node, ScalarNode) and node.style
        if tag and (tag not in _TAGS or (is_quoted and tag != f"{_STANDARD}str")):
            shown = tag.replace(_STANDARD, "!!")
            self._note(node, f"tag {shown} is not known here; leave it out")

    def _note(self, node: Node, message: str) -> None:
        self.problems.append(Problem(place_of(node), message))


def kind_of(scalar: str) -> str:
    """Say what a YAML parser, of 1.1 or of 1.2, may take an unquoted scalar for."""
    return next((kind for kind, form in _KINDS if form.fullmatch(scalar)), "text")


def place_of(node: Node) -> Place:
    """Return where the node begins."""
    return Place(node.start_mark.line + 1, node.start_mark.column + 1)


def shape_of(node: Node) -> str:
    """Say what the node is."""
    if isinstance(node, SequenceNode):
        return "list"
    return "mapping" if isinstance(node, MappingNode) else "single value"
