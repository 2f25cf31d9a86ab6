"""A message's fields as numbers and texts that can be compared."""

from collections.abc import Iterator
from datetime import datetime

from injector.emulator.api import messages
from injector.emulator.api.refusals import invalid

Value = float | str


def read_path(kind: messages.Descriptor, text: str) -> tuple[str, ...]:
    """Return the names of the fields in a dotted path, in snake_case or camelCase."""
    path: list[str] = []
    here: messages.Descriptor | None = kind
    for part in text.split("."):
        fields = here.fields if here is not None else []
        field = next((f for f in fields if part in (f.name, f.camelcase_name)), None)
        if field is None:
            raise invalid(f"Invalid filter: '{text}' is not a field.")
        path.append(field.name)
        here = field.message_type
    return tuple(path)


def values_at(message: messages.Message, path: tuple[str, ...]) -> list[Value]:
    """Return what is at a path: several values if a field repeats, none if it is unset."""
    tree = messages.MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
    return list(_leaves(tree, path))


def read_value(text: str) -> Value:
    """Return a text as the number it stands for, if it is one, a span or a time."""
    for read in (float, _span, _time):
        try:
            return read(text)
        except ValueError:
            continue
    return text.casefold()


def _leaves(tree: object, path: tuple[str, ...]) -> Iterator[Value]:
    if isinstance(tree, list):
        for item in tree:
            yield from _leaves(item, path)
    elif isinstance(tree, dict):
        if path and path[0] in tree:
            yield from _leaves(tree[path[0]], path[1:])
        elif not path:
            yield ""  # a message that is there
    else:
        yield read_value(str(tree))


def _span(text: str) -> float:
    if not text.endswith("s"):
        raise ValueError(text)
    return float(text[:-1])


def _time(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
