"""The parts of a running emulator, as its pages and control need them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from injector.emulator.api.service import Service
from injector.emulator.dispatch.tokens import Issuer
from injector.emulator.faults.plan import Plan
from injector.emulator.records.history import History
from injector.emulator.records.metrics import Metrics
from injector.emulator.records.operations_log import OperationsLog
from injector.emulator.rpc import Handle
from injector.emulator.storage.state_file import StateFile
from injector.emulator.timeline import Timeline

if TYPE_CHECKING:
    from injector.emulator.pubsub.parts import PubSubParts


@dataclass(frozen=True, slots=True)
class Parts:
    """What an emulator is made of; `handle` is the way in that every transport takes.

    `state_file` is None if the state ends with the process, `pubsub` if its client library is
    not there.
    """

    service: Service
    clock: Timeline
    plan: Plan
    history: History
    metrics: Metrics
    log: OperationsLog
    issuer: Issuer
    handle: Handle
    state_file: StateFile | None = None
    pubsub: "PubSubParts | None" = None
