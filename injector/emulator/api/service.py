"""Everything that a method can reach."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from injector.emulator.api import messages, paths, queue_form, refusals
from injector.emulator.api.operations import Operations
from injector.emulator.rpc import RpcError
from injector.emulator.state.queue import Queue
from injector.emulator.state.registry import Registry
from injector.emulator.state.task import Attempt, Task

MAX_TASK_BYTES = 1_048_569
"""The largest stored task, as measured for both kinds of targets; older texts say 100 KB."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What differs between installations.

    `auto_create` makes a queue at the first task for it. `service_accounts` are the only ones
    there are, if any are named; `locations` likewise. `max_queues` is the quota of a location,
    1,000 in production, and 0 sets none. A new queue is not found for `ready_s`, up to a minute
    in production. `operation_s` is how long a batch takes.
    """

    auto_create: bool = False
    max_task_bytes: int = MAX_TASK_BYTES
    service_accounts: frozenset[str] = frozenset()
    locations: frozenset[str] = frozenset()
    max_queues: int = 0
    ready_s: float = 0.0
    operation_s: float = 0.0


def _ignore(*_: object) -> None:
    """Do nothing: nobody dispatches, no operation fails."""


@dataclass(frozen=True, slots=True)
class Failure:
    """How an operation as a whole fails: with which error, and after what share of its work."""

    error: RpcError
    done: float = 0.0


@dataclass(slots=True)
class Service:
    """The state behind the methods, and its ways out.

    `now` and `sleep` are the clock's. `wake` tells the dispatcher that the agenda has changed,
    `start` gives it an attempt that RunTask has begun. `failing` is asked of every batch whether
    it is to fail, by its method and queue. `configs` are the queues' settings as callers see
    them. `policy_changed` is told of a queue's name, `key_changed` of a location's.
    """

    registry: Registry
    now: Callable[[], float]
    rules: Rules = field(default_factory=Rules)
    seed: int = 0
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    wake: Callable[[], None] = _ignore
    start: Callable[[Queue, Attempt], None] = _ignore
    failing: Callable[[str, str], Failure | None] = _ignore
    configs: dict[str, messages.Queue] = field(default_factory=dict)
    policies: dict[str, messages.Policy] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    operations: Operations = field(default_factory=Operations)
    policy_changed: Callable[[str], None] = _ignore
    key_changed: Callable[[str], None] = _ignore
    made: int = 0

    def queue(self, name: str) -> Queue:
        """Return a queue; raises RpcError if the name is bad or there is none."""
        queue = self.registry.queues.get(name)
        if queue is None:
            paths.location_of_queue(name)
            raise refusals.queue_missing()
        if self.rules.ready_s:
            self._check_ready(queue)
        return queue

    def queue_for_tasks(self, name: str) -> Queue:
        """Return a queue to put tasks into, made on the spot if the rules say so."""
        if name in self.registry.queues or not self.rules.auto_create:
            return self.queue(name)
        where = paths.location_of_queue(name)
        if self.registry.was_there(name, now=self.now()):
            raise refusals.queue_missing()
        config = messages.Queue(name=name)
        limits = queue_form.complete(config, paths.location(where))
        self.configs[name] = config
        return self.registry.open(name, limits, now=self.now())

    def _check_ready(self, queue: Queue) -> None:
        if self.now() < queue.opened_at + self.rules.ready_s:
            raise refusals.queue_missing()

    def task(self, name: str) -> tuple[Queue, Task]:
        """Return a task and its queue; raises RpcError if the name is bad or there is none."""
        queue_name, task_id = paths.split_task(name)
        queue = self.registry.queues.get(queue_name)
        if queue is None:
            raise refusals.queue_missing()
        task = queue.names.task(task_id)
        if task is not None:
            return queue, task
        if queue.names.was_there(task_id, now=self.now()):
            raise refusals.task_was_there()
        raise refusals.not_found()

    def set_policy(self, queue: str, policy: messages.Policy | None) -> None:
        """Keep a queue's policy; None forgets it."""
        if policy is not None:
            self.policies[queue] = policy
        elif self.policies.pop(queue, None) is None:
            return
        self.policy_changed(queue)

    def set_key(self, location: str, key: str) -> None:
        """Keep a location's encryption key; empty for none."""
        self.keys[location] = key
        self.key_changed(location)

    def make_id(self, queue: Queue, *, now: float) -> str:
        """Return an id that no task of the queue has, and that looks like production's."""
        while True:
            self.made += 1
            task_id = str((self.seed + self.made * _SPREAD) % _IDS + _IDS)
            if not queue.names.is_taken(task_id, now=now):
                return task_id


_IDS = 10**18
_SPREAD = 618_033_988_749_894_901
"""Odd and no multiple of 5, so that the first 10**18 ids all differ."""
