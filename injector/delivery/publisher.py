"""How messages leave: in calls, through the same layers as creates.

InOrder(Retried(Limited(Throttled(Counted(Hedged(PubSub))))))
"""

from functools import partial

from injector.clock import Clock, SystemClock
from injector.delivery.call import Sender
from injector.delivery.connection import Connection
from injector.delivery.creator import CallingCreator, Delivery, hedged, layered
from injector.delivery.in_order import InOrder, by_key
from injector.delivery.line import Line
from injector.delivery.pubsub import PubSub
from injector.pacing.hedge import Hedging
from injector.pacing.throttle import GroupThrottle

SERVICE = "pubsub.googleapis.com"


def make_publisher(
    connection: Connection,
    delivery: Delivery | None = None,
    *,
    clock: Clock | None = None,
    ordered: bool = False,
) -> CallingCreator:
    """Build the publisher of a group; it opens the connection with its first message.

    Raises Misused for hedging where the messages are `ordered`: a copy that is late would come
    out of order.
    """
    delivery = delivery or Delivery()
    unrepeatable = "message ordering" if ordered else ""
    hedging = delivery.new_hedging(unrepeatable=unrepeatable)
    new_nest = partial(nest, delivery=delivery, clock=clock or SystemClock(), hedging=hedging)
    return CallingCreator(connection, new_nest, by_key, hedging)


def nest(line: Line, delivery: Delivery, clock: Clock, hedging: Hedging | None) -> Sender:
    """Put the layers together, on the loop that they live on."""
    throttle = GroupThrottle(delivery.throttle) if delivery.throttle else None
    sender: Sender = PubSub(line, timeout_s=delivery.call_timeout_s)
    sender = hedged(sender, hedging, line=line, throttle=throttle, clock=clock)
    return InOrder(layered(sender, line=line, delivery=delivery, clock=clock, throttle=throttle))
