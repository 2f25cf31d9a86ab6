"""What the JSON API says of a request that fits no message, in the words of Google's APIs."""

import re
from functools import partial

from injector.emulator.api import messages
from injector.emulator.api.refusals import invalid
from injector.emulator.rpc import RpcError

_unknown_name = re.compile(r'has no field named "([^"]*)" at "([^"]*)"').search
_bad_enum = re.compile(r"Invalid enum value (\S*) for enum type (\S+) at ([\w.\[\]]+?)\.*$").search
_snake_case = partial(re.compile(r"(?<=[a-z0-9])([A-Z])").sub, r"_\1")


def unreadable(error: Exception, *, parameters: frozenset[str]) -> RpcError:
    """Return the refusal of a request, by what protobuf's reader says of it.

    Names among `parameters` came from the URL, all others from the body.
    """
    text = str(error).partition("\n")[0]
    unknown, enum = _unknown_name(text), _bad_enum(text)
    if unknown is not None:
        where = _field(unknown[2])
        return _refusal(where, _unknown(unknown[1], where, parameters=parameters))
    if enum is not None:
        where, kind = _field(enum[3]), f"type.googleapis.com/{enum[2]}"
        return _refusal(where, f"Invalid value at '{where}' ({kind}), \"{enum[1]}\"")
    return invalid(f"Invalid JSON payload received. {text}")


def _unknown(name: str, where: str, *, parameters: frozenset[str]) -> str:
    start = f'Invalid JSON payload received. Unknown name "{name}"'
    if not where and name in parameters:
        return (
            f"{start}: Cannot bind query parameter. Field '{name}' could not be found in request "
            "message."
        )
    at = f" at '{where}'" if where else ""
    return f"{start}{at}: Cannot find field."


def _field(path: str) -> str:
    """Return a field's path below its request, in snake_case."""
    return _snake_case(path.partition(".")[2]).lower()


def _refusal(field: str, text: str) -> RpcError:
    violation = messages.BadRequest.FieldViolation(field=field, description=text)
    return invalid(text, messages.BadRequest(field_violations=[violation]))
