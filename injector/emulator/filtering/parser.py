"""Filters: comparisons of fields, joined by AND, OR and NOT.

The syntax is that of the logs' advanced filters, with the functions of the monitoring ones:
`state: PAUSED`, `rate_limits.max_dispatches_per_second > 10 AND NOT name:"-old"`,
`metric.labels.response_code = one_of("UNAVAILABLE", "INTERNAL")`.
"""

import operator
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from injector.emulator.api.refusals import invalid
from injector.emulator.filtering.values import Reader, Value, has, matcher, read_value

Accepts = Callable[[object], bool]
Fields = Callable[[str], Reader]
_Holds = Callable[[Value], bool]

_LONGEST = 5000
_DEEPEST = 50
_TOKEN = re.compile(
    r"""\s*(?:(?P<op><=|>=|!=|=~|!~|<|>|=|:)|(?P<mark>[(),])|"(?P<quoted>(?:[^"\\]|\\.)*)"|"""
    r"""(?P<word>[^\s()<>=!:,"]+))"""
)
_ORDERS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_FUNCTIONS: dict[str, Callable[[str], _Holds]] = {
    "starts_with": lambda text: lambda value: str(value).startswith(text.casefold()),
    "ends_with": lambda text: lambda value: str(value).endswith(text.casefold()),
    "has_substring": lambda text: lambda value: text.casefold() in str(value),
    "one_of": lambda text: partial(operator.eq, read_value(text)),
    "monitoring.regex.full_match": lambda text: matcher(f"^(?:{text})$"),
}


def compile_filter(text: str, fields: Fields) -> Accepts:
    """Return what tells whether an item passes; raises RpcError if the text is no filter.

    `fields` returns what reads a field by its name, and raises RpcError for an unknown one.
    """
    if not text.strip():
        return lambda _: True
    if len(text) > _LONGEST:
        raise invalid("The filter is too long.")
    parser = _Parser(list(_tokens(text)), fields)
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

    def __init__(self, tokens: list[tuple[str, str]], fields: Fields) -> None:
        self._tokens = tokens
        self._fields = fields
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
        return lambda item: any(accepts(item) for accepts in choices)

    def _all_of(self, depth: int) -> Accepts:
        parts = [self._term(depth)]
        while not self.is_done() and self.ahead() not in ("OR", ")"):
            self._takes("AND")
            parts.append(self._term(depth))
        return lambda item: all(accepts(item) for accepts in parts)

    def _term(self, depth: int) -> Accepts:
        if self._takes("NOT"):
            if depth > _DEEPEST:
                raise invalid("The filter is nested too deeply.")
            inner = self._term(depth + 1)
            return lambda item: not inner(item)
        if self._takes("("):
            group = self.any_of(depth + 1)
            self._expect(")")
            return group
        return self._comparison()

    def _comparison(self) -> Accepts:
        name = self._next("word", "quoted")
        negated = name.startswith("-")
        read = self._fields(name.removeprefix("-"))
        sign = self._next("op")
        wanted = self._wanted(sign)
        if sign in ("!=", "!~"):
            return lambda item: _differs(read(item), wanted) != negated
        return lambda item: any(map(wanted, read(item))) != negated

    def _wanted(self, sign: str) -> _Holds:
        """Read what a field is compared with: a value, a list of them, or a function."""
        if self._takes("("):
            return self._listed(partial(_compare, sign), "OR")
        word = self._next("word", "quoted")
        if self.ahead() == "(" and word in _FUNCTIONS:
            self._expect("(")
            return self._listed(_FUNCTIONS[word], ",")
        return _compare(sign, word)

    def _listed(self, compare: Callable[[str], _Holds], separator: str) -> _Holds:
        choices = [compare(self._next("word", "quoted"))]
        while self._takes(separator):
            choices.append(compare(self._next("word", "quoted")))
        self._expect(")")
        return lambda value: any(holds(value) for holds in choices)

    def _takes(self, text: str) -> bool:
        if self.ahead() != text or self._tokens[self._at][0] == "quoted":
            return False
        self._at += 1
        return True

    def _expect(self, text: str) -> None:
        if not self._takes(text):
            raise invalid(f"Invalid filter: expected '{text}' at '{self.ahead()}'.")

    def _next(self, *kinds: str) -> str:
        if self.is_done() or self._tokens[self._at][0] not in kinds:
            raise invalid(f"Invalid filter: expected a comparison at '{self.ahead()}'.")
        self._at += 1
        return self._tokens[self._at - 1][1]


def _differs(values: Sequence[Value], wanted: _Holds) -> bool:
    """Tell whether there are values and none of them is wanted.

    As in Cloud Logging, a comparison with a field that is missing fails, this one too.
    """
    return bool(values) and not any(map(wanted, values))


def _compare(sign: str, text: str) -> _Holds:
    if sign in ("=~", "!~"):
        return matcher(text)
    wanted = read_value(text)
    if sign in _ORDERS:
        return lambda value: _is_ordered(sign, value, wanted)
    if sign == ":":
        return lambda value: has(value, wanted)
    return lambda value: value == wanted


def _is_ordered(sign: str, value: Value, wanted: Value) -> bool:
    if isinstance(value, str) is not isinstance(wanted, str):
        return False
    return bool(_ORDERS[sign](value, wanted))
