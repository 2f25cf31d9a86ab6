"""What a manifest's values may be: text that is quoted where it must, finite numbers, durations.

Each type takes what the YAML reader gives and what JSON gives, so that a manifest reads the
same from a person's file and from the ledger.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Annotated

from pydantic import (
    BeforeValidator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    WithJsonSchema,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError
from pydantic_core.core_schema import no_info_after_validator_function

from injector.manifest.nodes import Plain

_UNITS = {"d": 86_400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|[dhms]))+")
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[dhms])")
_RFC_3339 = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?(?P<zone>[Zz]|[+-]\d\d:\d\d)?", re.ASCII
)


def _text(value: object) -> str:
    if isinstance(value, Plain):
        if value.kind != "text":
            raise wrong(f'expected text, got a {value.kind}; quote it: "{value}"')
        return str(value)
    if isinstance(value, str):
        return value
    raise wrong(f"expected text, got {_shape(value)}")


def _number(value: object) -> float:
    if isinstance(value, Plain):
        return _written_number(value)
    if isinstance(value, str):
        raise wrong(f"expected a number, got the text {value!r}; write it without quotes")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong(f"expected a number, got {_shape(value)}")
    if not math.isfinite(value):
        raise wrong(f"expected a finite number, got {value}")
    return value


def _written_number(value: Plain) -> float:
    if value.kind == "number":
        number = int(value) if re.fullmatch(r"[-+]?\d{1,300}", value) else float(value)
        if math.isfinite(number):
            return number
    if value.kind in {"number that is infinite", "not-a-number", "number"}:
        raise wrong(f"expected a finite number, got {value}")
    if value.kind == "text":
        raise wrong(f"expected a number, got the text {str(value)!r}")
    raise wrong(f"{value} reads as a {value.kind}; write a plain decimal number, such as 8 or 7.5")


def _count(value: object) -> int:
    number = _number(value)
    if number != int(number):
        raise wrong(f"expected a whole number, got {value}")
    return int(number)


def _flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, Plain) and value.kind == "boolean":
        return value.lower() == "true"
    raise wrong(f"expected true or false, got {value!r}; write true or false without quotes")


def _seconds(value: object) -> float:
    if isinstance(value, str) and _DURATION.fullmatch(value):
        return sum(float(n) * _UNITS[unit] for n, unit in _DURATION_PART.findall(value))
    if isinstance(value, str) and not (isinstance(value, Plain) and value.kind == "number"):
        raise wrong(f"{str(value)!r} is not a duration; write one such as 90s, 10m or 1h30m")
    return float(_number(value))


def _instant(value: object) -> datetime:
    if isinstance(value, datetime):
        return value
    if not isinstance(value, str):
        raise wrong(f"expected a time such as 2026-12-01T09:00:00Z, got {_shape(value)}")
    try:
        return instant(value)
    except ValueError as error:
        raise wrong(str(error)) from error


def instant(text: str) -> datetime:
    """Read an RFC 3339 time; one without a zone is refused, for it would shift by the machine's.

    Raises ValueError with the reason.
    """
    found = _RFC_3339.fullmatch(text)
    if not found:
        raise ValueError(f"{text!r} is not a time; write one such as 2026-12-01T09:00:00Z")
    if not found["zone"]:
        raise ValueError(f"{text!r} has no time zone; add Z, or an offset such as +02:00")
    try:
        return datetime.fromisoformat(text.upper()).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text!r} is not a time: {error}") from error


@dataclass(frozen=True, slots=True, eq=False)
class Checked:
    """A check of a value, with what an editor may know of it beforehand, in JSON Schema."""

    check: Callable[[str], str] | Callable[[float], float]
    hints: Mapping[str, object]

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Check after the type has been."""
        return no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Add the hints to the type's own schema."""
        return {**handler(schema), **self.hints}


def within(low: float, high: float, *, unit: str = "", why: str = "") -> Checked:
    """Accept numbers from `low` to `high`; the complaint gives the range and the reason."""

    def check(number: float) -> float:
        if low <= number <= high:
            return number
        reason = f"; {why}" if why else ""
        raise wrong(f"{number:.12g}{unit} is outside {low:g}{unit} to {high:g}{unit}{reason}")

    return Checked(check, {"minimum": low, "maximum": high})


def choice(*words: str) -> Checked:
    """Accept one of the words; the complaint names the nearest, or all of them."""

    def check(text: str) -> str:
        if text in words:
            return text
        near = get_close_matches(text.lower(), [word.lower() for word in words], n=1)
        named = [word for word in words if word.lower() in near]
        remedy = f"did you mean {named[0]}?" if named else f"write one of {', '.join(words)}"
        raise wrong(f"{text!r} is not known here; {remedy}")

    return Checked(check, {"enum": list(words)})


def matching(pattern: str, remedy: str) -> Checked:
    """Accept texts of the pattern; the complaint says what would do."""
    form = re.compile(pattern)

    def check(text: str) -> str:
        if not form.fullmatch(text):
            raise wrong(f"{text!r} will not do; {remedy}")
        return text

    return Checked(check, {"pattern": f"^({pattern})$"})


def wrong(message: str) -> PydanticCustomError:
    """Make the error of a value; the message is a person's, ready to be shown."""
    return PydanticCustomError("wrong", "{message}", {"message": message})


def lacking(message: str) -> PydanticCustomError:
    """Make the error of a key that is missing or too many; the message names the key itself."""
    return PydanticCustomError("lacking", "{message}", {"message": message})


def _shape(value: object) -> str:
    if value is None:
        return "no value"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return f"the number {value}"
    return "a list" if isinstance(value, list | tuple) else "a mapping"


Text = Annotated[str, BeforeValidator(_text), Field(min_length=1)]
AnyText = Annotated[str, BeforeValidator(_text)]
Number = Annotated[float, BeforeValidator(_number)]
Count = Annotated[int, BeforeValidator(_count)]
Flag = Annotated[bool, BeforeValidator(_flag)]
Seconds = Annotated[
    float,
    BeforeValidator(_seconds),
    WithJsonSchema(
        {
            "anyOf": [{"type": "number"}, {"type": "string", "pattern": f"^{_DURATION.pattern}$"}],
            "description": "Seconds, or a duration such as 90s, 10m or 1h30m.",
        }
    ),
]
Instant = Annotated[
    datetime,
    BeforeValidator(_instant),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
