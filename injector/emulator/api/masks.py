"""Field masks: copy only the fields that are named."""

from collections.abc import Iterable

from injector.emulator.api import messages
from injector.emulator.api.refusals import invalid


def copy_fields(source: messages.Message, into: messages.Message, paths: Iterable[str]) -> None:
    """Copy each path from `source`; one that is unset there becomes unset.

    Raises RpcError for a path that is no field; names are in snake_case, as in the proto.
    """
    for path in paths:
        _copy(source, into, path.split("."), path)


def _copy(source: messages.Message, into: messages.Message, parts: list[str], path: str) -> None:
    name = parts[0]
    field = source.DESCRIPTOR.fields_by_name.get(name)
    if field is None:
        raise invalid(f"Invalid field mask: '{path}' is not a field of the resource.")
    if len(parts) == 1:
        _copy_field(source, into, field)
    elif field.message_type is None or field.is_repeated:
        raise invalid(f"Invalid field mask: '{path}' has nothing below '{name}'.")
    else:
        _copy(getattr(source, name), getattr(into, name), parts[1:], path)


def _copy_field(
    source: messages.Message, into: messages.Message, field: messages.FieldDescriptor
) -> None:
    into.ClearField(field.name)
    if field.is_repeated:
        getattr(into, field.name).MergeFrom(getattr(source, field.name))
    elif field.message_type is not None:
        if source.HasField(field.name):
            getattr(into, field.name).CopyFrom(getattr(source, field.name))
    elif not field.has_presence or source.HasField(field.name):
        setattr(into, field.name, getattr(source, field.name))
