"""What Pub/Sub says when it refuses.

Codes follow the documentation. The texts on names, missing and doubled resources, message counts
and ack ids are those that users of the service report; the others are ours, in the same manner.
"""

from collections.abc import Mapping

from injector.emulator.api.messages import Message
from injector.emulator.api.refusals import invalid
from injector.emulator.rpc import Code, RpcError


def bad_name(kind: str, name: str) -> RpcError:
    """Return the answer to a name of the wrong shape."""
    return invalid(f"Invalid [{kind}] name: (name={name})")


def missing(name: str) -> RpcError:
    """Return the answer to the name of something that is not there."""
    return RpcError(Code.NOT_FOUND, f"Resource not found (resource={name.rpartition('/')[2]}).")


def exists(name: str) -> RpcError:
    """Return the answer to a second creation."""
    short = name.rpartition("/")[2]
    return RpcError(
        Code.ALREADY_EXISTS, f"Resource already exists in the project (resource={short})."
    )


def out_of_range(value: str, passed: int, *, low: int = 0, high: int = 0) -> RpcError:
    """Return the answer to a number beyond its bounds; the one that is broken is told."""
    size, bound = ("small", f"minimum value is {low}") if passed < low else ("large", "")
    bound = bound or f"maximum value is {high}"
    return invalid(
        f"The value for {value} is too {size}. You passed {passed} in the request, but the {bound}."
    )


def empty_message() -> RpcError:
    """Return the answer to a message without data and attributes."""
    return invalid(
        "One or more messages in the publish request is empty. Each message must contain either "
        "non-empty data, or at least one attribute."
    )


def bad_ack_id(ack_id: str) -> RpcError:
    """Return the answer to an ack id that the subscription never gave out."""
    return invalid(f"You have passed an invalid ack ID to the service (ack_id={ack_id[:200]}).")


def not_emulated(what: str) -> RpcError:
    """Return the answer to what the emulator does not do."""
    return RpcError(Code.UNIMPLEMENTED, f"The emulator has no {what}.")


def check_emulated(config: Message, kinds: Mapping[str, str]) -> None:
    """Raise RpcError if a field is set that stands for something the emulator does not do."""
    for name, what in kinds.items():
        field = config.DESCRIPTOR.fields_by_name.get(name)
        if field is None:  # the installed client does not know it
            continue
        value = getattr(config, name)
        is_message = field.message_type is not None and not field.is_repeated
        if value.ByteSize() if is_message else value:
            raise not_emulated(what)


def full() -> RpcError:
    """Return the answer to what the emulator has no memory for."""
    return RpcError(
        Code.RESOURCE_EXHAUSTED,
        "The emulator's subscriptions hold all the messages that they may; acknowledge some.",
    )
