"""Publish: the messages of a call in one request, as bytes.

Pub/Sub keeps no names, so a call that is sent twice, because its answer was lost or because it
was hedged, makes two messages of each. Both carry the same `injector-id`.
"""

from collections.abc import Mapping, Sequence

from injector.delivery.call import Call
from injector.delivery.channel import CallFailed
from injector.delivery.cloud_tasks import routing
from injector.delivery.line import Line
from injector.delivery.ports import QUEUE_FAULTS, Outcome, Result
from injector.publish_wire import message_bytes, message_ids, publish_request

PUBLISH = "/google.pubsub.v1.Publisher/Publish"

REMEDIES: Mapping[str, str] = {
    "NOT_FOUND": "create the topic, or correct its name in the group's configuration",
    "FAILED_PRECONDITION": "look at the topic's schema, its encryption key and its state",
    "PERMISSION_DENIED": "grant roles/pubsub.publisher on the topic",
    "UNAUTHENTICATED": "give this process credentials that the service accepts",
    "UNIMPLEMENTED": "this endpoint does not offer the call",
}


class PubSub:
    """Publishes the messages of a call together; they have one topic and one ordering key.

    A request is taken or refused as a whole.
    """

    def __init__(self, line: Line, *, timeout_s: float) -> None:
        self._line = line
        self._timeout_s = timeout_s

    async def send(self, call: Call) -> Sequence[Result]:
        """Publish the messages; each result has its message's id."""
        try:
            answer = await self._line.call(
                PUBLISH,
                publish_request(call.queue, map(message_bytes, call.creates)),
                about=routing("topic", call.queue),
                deadline=call.deadline,
                most_s=self._timeout_s,
            )
        except CallFailed as error:
            return [judge_publish(error.code, str(error), call.queue)] * len(call.creates)
        ids = message_ids(answer)
        ids += [""] * (len(call.creates) - len(ids))
        return [Result(Outcome.CREATED, message_id=each) for each in ids]


def judge_publish(code: str, message: str, topic: str) -> Result:
    """Turn the status of a publish that failed into its messages' end."""
    if code == "INVALID_ARGUMENT":
        return Result(Outcome.REJECTED, code, message)
    if code in QUEUE_FAULTS:
        return Result(Outcome.NOT_TAKEN, code, f"{topic}: {message} ({REMEDIES[code]})")
    return Result(Outcome.NOT_TAKEN, code, message)
