"""Filters of ListQueues: comparisons of fields, joined by AND, OR and NOT.

The syntax is that of the logs' advanced filters, as far as it makes sense for a queue:
`state: PAUSED`, `rate_limits.max_dispatches_per_second > 10 AND NOT name:"-old"`.
"""

import operator
import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from injector.emulator.api import messages
from injector.emulator.api.fields import Value, read_path, read_value, values_at
from injector.emulator.api.refusals import invalid

Accepts = Callable[[messages.Queue], bool]

_LONGEST = 5000
_DEEPEST = 50
_TOKEN = re.compile(
    r"""\s*(?:(?P<op><=|>=|!=|<|>|=|:)|(?P<paren>[()])|"(?P<quoted>(?:[^"\\]|\\.)*)"|"""
    r"""(?P<word>[^\s()<>=!:"]+(?::[^\s()<>=!:"]+)*))"""
)
_ORDERS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@lru_cache(maxsize=256)
def compile_filter(text: str) -> Accepts:
    """Return what tells whether a queue passes; raises RpcError if the text is no filter."""
    if not text.strip():
        return lambda _: True
    if len(text) > _LONGEST:
        raise invalid("The filter is too long.")
    parser = _Parser(list(_tokens(text)))
    accepts = parser.any_of(0)
    if not parser.is_done():
        raise invalid(f"Invalid filter: unexpected '{parser.ahead()}'.")
    return accepts


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    position = 0
    text = text.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            raise invalid(f"Invalid filter: cannot read '{text[position:][:40]}'.")
        yield match.lastgroup, match[match.lastgroup]
        position = match.end()


class _Parser:
    """Reads tokens from left to right; each method reads one kind of expression."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens = tokens
        self._at = 0

    def is_done(self) -> bool:
        """Tell whether every token was read."""
        return self._at >= len(self._tokens)

    def ahead(self) -> str:
        """Return the next token's text; empty at the end."""
        return "" if self.is_done() else self._tokens[self._at][1]

    def any_of(self, depth: int) -> Accepts:
        """Read expressions joined by OR."""
        if depth > _DEEPEST:
            raise invalid("The filter is nested too deeply.")
        choices = [self._all_of(depth)]
        while self._takes("OR"):
            choices.append(self._all_of(depth))
        return lambda queue: any(accepts(queue) for accepts in choices)

    def _all_of(self, depth: int) -> Accepts:
        parts = [self._term(depth)]
        while not self.is_done() and self.ahead() not in ("OR", ")"):
            self._takes("AND")
            parts.append(self._term(depth))
        return lambda queue: all(accepts(queue) for accepts in parts)

    def _term(self, depth: int) -> Accepts:
        if self._takes("NOT"):
            if depth > _DEEPEST:
                raise invalid("The filter is nested too deeply.")
            inner = self._term(depth + 1)
            return lambda queue: not inner(queue)
        if self._takes("("):
            group = self.any_of(depth + 1)
            if not self._takes(")"):
                raise invalid("Invalid filter: a parenthesis is not closed.")
            return group
        return self._comparison()

    def _comparison(self) -> Accepts:
        name = self._next("word", "quoted")
        negated = name.startswith("-")
        field, sign, text = _colon_in(name)
        path = read_path(messages.Queue.DESCRIPTOR, field.removeprefix("-"))
        if not sign:
            sign, text = self._next("op"), self._next("word", "quoted")
        holds = _comparison(sign, text)
        return lambda queue: any(map(holds, values_at(queue, path))) != negated

    def _takes(self, text: str) -> bool:
        if self.ahead() != text or self._tokens[self._at][0] == "quoted":
            return False
        self._at += 1
        return True

    def _next(self, *kinds: str) -> str:
        if self.is_done() or self._tokens[self._at][0] not in kinds:
            raise invalid(f"Invalid filter: expected a comparison at '{self.ahead()}'.")
        self._at += 1
        return self._tokens[self._at - 1][1]


def _colon_in(word: str) -> tuple[str, str, str]:
    """Split `state:PAUSED`, which reads as one word because times hold colons too."""
    return word.partition(":")


def _comparison(sign: str, text: str) -> Callable[[Value], bool]:
    wanted = read_value(text)
    if sign == "=":
        return lambda value: value == wanted
    if sign == "!=":
        return lambda value: value != wanted
    if sign == ":":
        return lambda value: _has(value, wanted)
    return lambda value: _is_ordered(sign, value, wanted)


def _has(value: Value, wanted: Value) -> bool:
    if wanted == "*":
        return True
    if isinstance(value, str) and isinstance(wanted, str):
        return wanted in value
    return value == wanted


def _is_ordered(sign: str, value: Value, wanted: Value) -> bool:
    if isinstance(value, str) is not isinstance(wanted, str):
        return False
    return bool(_ORDERS[sign](value, wanted))
