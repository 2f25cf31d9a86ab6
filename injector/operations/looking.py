"""Looking at a group's queues: how they are set, and what they did lately."""

from concurrent.futures import ThreadPoolExecutor

from injector.control.ramp_state import RampState, evidence_from
from injector.control.standing import Watcher
from injector.errors import Misused
from injector.operations.course import Course, RatesSeen
from injector.operations.kind import Ports
from injector.operations.values import Operation
from injector.pacing.ramp import SAFE_INTERVAL_S

AT_ONCE = 8


def look_at_rates(operation: Operation, ports: Ports, now: float, *, blind: bool) -> RatesSeen:
    """See how the queues are set, and what they did since the last change.

    What monitoring shows is as old as it says it may be; it is looked at up to then only.
    """
    names, ramp = operation.queues, RampState()
    if operation.memory:
        course = Course.from_fields(operation.memory)
        names, ramp = tuple(course.own), course.ramp
    with ThreadPoolExecutor(AT_ONCE) as pool:
        queues = list(pool.map(ports.queues.get_queue, names))
    until = now if blind else now - ports.late_s
    since = evidence_from(ramp, now=until, interval_s=SAFE_INTERVAL_S)
    if not ramp.rate:
        since = until - SAFE_INTERVAL_S
    if blind or since >= until or not names:
        return RatesSeen(queues, None, since, until)
    standing = _watcher(ports).look(names, since=since, now=until)
    return RatesSeen(queues, standing, since, until)


def check_watched(ports: Ports, *, blind: bool) -> None:
    """Raise Misused where there is nobody who watches, unless that was said to be meant."""
    if not blind:
        _watcher(ports)


def _watcher(ports: Ports) -> Watcher:
    """Return who watches; raise Misused where there is nobody."""
    if ports.watcher is None:
        raise Misused(
            "nobody can say what the target answers: install the extra `monitoring`, and with a "
            "service set INJECTOR_MONITORING=on; or add --blind to go by the clock alone"
        )
    return ports.watcher
