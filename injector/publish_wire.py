"""The publish request as protobuf bytes, written by hand for the same reason as in `wire`.

Field numbers are those of google.pubsub.v1, and a property test holds them to the real messages.
"""

from collections.abc import Iterable

from injector.delivery.ports import Create
from injector.protobuf import field, sized, text, texts

MAX_REQUEST = 10_000_000
MAX_MESSAGES = 1000
ID_ATTRIBUTE = "injector-id"


def message_bytes(create: Create) -> bytes:
    """Serialize the google.pubsub.v1.PubsubMessage of a create; its id is one of its attributes."""
    data = field(0x0A, create.body) if create.body else b""
    attributes = (*create.template.headers, *create.headers, (ID_ATTRIBUTE, create.task_id))
    key = text(0x2A, create.ordering_key) if create.ordering_key else b""
    return b"".join((data, *map(_attribute, attributes), key))


def publish_request(topic: str, messages: Iterable[bytes]) -> bytes:
    """Serialize the google.pubsub.v1.PublishRequest of serialized messages."""
    return text(0x0A, topic) + b"".join(field(0x12, one) for one in messages)


def message_size(create: Create) -> int:
    """Count the bytes that a message adds to a publish request."""
    return sized(len(message_bytes(create)))


def request_size(create: Create) -> int:
    """Count the bytes of a publish request of one message, which is what the limit is about."""
    return sized(len(create.queue.encode())) + message_size(create)


def message_ids(answer: bytes) -> list[str]:
    """Read the ids out of a serialized google.pubsub.v1.PublishResponse, in their order."""
    return texts(answer, 0x0A)


def _attribute(pair: tuple[str, str]) -> bytes:
    name, value = pair
    return field(0x12, text(0x0A, name) + text(0x12, value))
