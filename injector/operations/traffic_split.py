"""traffic-split: move a service's traffic to a version that brings new queues, step by step."""

import math
import re
from collections.abc import Mapping
from decimal import Decimal

from injector.errors import Misused
from injector.operations.kind import Kind, Ports, Reach, Traffic
from injector.operations.looking import check_watched
from injector.operations.spec import write_spec
from injector.operations.traffic import (
    GRAINS,
    NAME,
    SET,
    TrafficSeen,
    advance,
    again,
    cancel,
    check_reach,
    plan,
    read,
)
from injector.operations.values import Act, Fields, Operation

_SERVICE = re.compile(r"projects/[^/]+/locations/[^/]+/services/[^/]+|apps/[^/]+/services/[^/]+")


def check(fields: Fields) -> Fields:
    """Refuse what cannot be moved."""
    spec = read(fields)
    if not _SERVICE.fullmatch(spec.service):
        raise Misused(
            f"{NAME}: service {spec.service!r} is not one; write "
            "projects/PROJECT/locations/LOCATION/services/SERVICE (Cloud Run) or "
            "apps/APP/services/SERVICE (App Engine)"
        )
    for name in ("tps", "start", "interval_s", "new_share"):
        value = getattr(spec, name)
        if not (math.isfinite(value) and value > 0):
            raise Misused(f"{NAME}: {name} {value:g} must be a number above 0")
    if spec.new_share > 1 or not (math.isfinite(spec.growth) and spec.growth > 1):
        raise Misused(
            f"{NAME}: new_share {spec.new_share:g} must be at most 1, and growth {spec.growth:g} "
            "above 1, such as 0.5 and 1.5"
        )
    if spec.shard_by not in GRAINS or spec.shard_by == "run":
        raise Misused(f"{NAME}: shard_by {spec.shard_by!r} must be random, cookie or ip")
    return write_spec(spec)


def look(operation: Operation, ports: Ports, now: float) -> TrafficSeen:
    """See the split, and how the target of the group's queues stood since the last change."""
    spec = read(operation.spec)
    check_watched(ports, blind=spec.blind)
    found = _traffic(ports).split(spec.service)
    changed_at, until = operation.memory.get("changed_at"), now - ports.late_s
    if spec.blind or ports.watcher is None or changed_at is None:
        return TrafficSeen(found)
    since = max(float(str(changed_at)), until - spec.interval_s)
    if since >= until:
        return TrafficSeen(found)
    return TrafficSeen(found, ports.watcher.look(operation.queues, since=since, now=until))


def set_traffic(act: Act, ports: Ports) -> str:
    """Set the split that was decided."""
    written = act.values["split"]
    pairs = written.items() if isinstance(written, Mapping) else ()
    found = {str(name): Decimal(str(percent)) for name, percent in pairs}
    _traffic(ports).set_split(act.what, found, shard_by=str(act.values["shard_by"]))
    return f"{act.what} is split anew"


def _traffic(ports: Ports) -> Traffic:
    if ports.traffic is None:
        raise Misused("nothing here splits the traffic of services")
    return ports.traffic


def admits(spec: Fields, reach: Reach) -> None:
    """Refuse a service that is not within reach; what names none is refused by its check."""
    if "service" in spec:
        check_reach(str(spec["service"]), reach.traffic)


TRAFFIC_SPLIT = Kind(
    NAME,
    check,
    look,
    plan,
    advance,
    again,
    {SET: set_traffic},
    cancel,
    slot="traffic",
    admits=admits,
)
