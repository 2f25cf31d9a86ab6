"""Topics over the process's line to Pub/Sub: are they there, and are they ours to publish to."""

from math import inf

from injector.delivery.channel import CallFailed
from injector.delivery.cloud_tasks import routing
from injector.delivery.connection import Connection
from injector.delivery.line import Line
from injector.delivery.pubsub import REMEDIES
from injector.delivery.verdict import PASSING_FAULTS
from injector.errors import InjectorError, Misused, NotFound, Retryable
from injector.protobuf import text, texts

TEST_PERMISSIONS = "/google.iam.v1.IAMPolicy/TestIamPermissions"
GET_TOPIC = "/google.pubsub.v1.Publisher/GetTopic"
PUBLISH = "pubsub.topics.publish"
CALL_S = 20.0


class PubSubTopics:
    """Asks Pub/Sub what the caller may do with a topic.

    That question needs no right of its own, while reading a topic needs one that a publisher
    does not have. An emulator without permissions is asked for the topic instead.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def look(self, topic: str) -> None:
        """Raise what keeps the topic from being published to."""
        self._connection.run(lambda line: _look(line, topic))


async def _look(line: Line, topic: str) -> None:
    asked = text(0x0A, topic) + text(0x12, PUBLISH)
    try:
        granted = texts(await _ask(line, TEST_PERMISSIONS, asked, ("resource", topic)), 0x0A)
    except CallFailed as error:
        if error.code != "UNIMPLEMENTED":
            raise _verdict(error, topic) from error
        await _find(line, topic)
        return
    if PUBLISH not in granted:
        raise Misused(f"topic {topic} may not be published to; {REMEDIES['PERMISSION_DENIED']}")


async def _find(line: Line, topic: str) -> None:
    try:
        await _ask(line, GET_TOPIC, text(0x0A, topic), ("topic", topic))
    except CallFailed as error:
        raise _verdict(error, topic) from error


async def _ask(line: Line, path: str, request: bytes, about: tuple[str, str]) -> bytes:
    return await line.call(path, request, about=routing(*about), deadline=inf, most_s=CALL_S)


def _verdict(error: CallFailed, topic: str) -> InjectorError:
    message = f"topic {topic}: {error} ({REMEDIES.get(error.code, error.code)})"
    if error.code == "NOT_FOUND":
        return NotFound(message)
    if error.code in PASSING_FAULTS:
        return Retryable(message)
    return Misused(message)
