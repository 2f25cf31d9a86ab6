"""Brings the state back from a file."""

import json
import sqlite3
from math import inf

from injector.emulator.api import messages, paths, queue_form, task_form
from injector.emulator.api.service import Service
from injector.emulator.state.queue import QueueState
from injector.emulator.state.task import LastAttempt, Task
from injector.emulator.storage.tables import read


def restore(connection: sqlite3.Connection, service: Service) -> None:
    """Put everything in the file into a service that is empty.

    An attempt whose end was not written counts as dispatched, and is made again.
    """
    _queues(connection, service)
    _tasks(connection, service)
    for _, name, key, form in read(connection, "operations", "number"):
        service.operations.add(name, key, form)
    for name, form in read(connection, "policies", "name"):
        service.policies[name] = messages.Policy.FromString(form)
    service.keys.update(read(connection, "keys", "location"))


def _queues(connection: sqlite3.Connection, service: Service) -> None:
    now = service.now()
    for name, form, state, purged_at in read(connection, "queues", "name"):
        config = messages.Queue.FromString(form)
        limits = queue_form.complete(config, paths.location(paths.location_of_queue(name)))
        service.configs[name] = config
        queue = service.registry.open(name, limits, now=now)
        queue.state, queue.purged_at = QueueState(state), purged_at
        queue.opened_at = -inf
    service.registry.graves.update(read(connection, "graves", "name"))


def _tasks(connection: sqlite3.Connection, service: Service) -> None:
    queues = service.registry.queues
    for row in read(connection, "tasks", "queue, seq"):
        queues[row["queue"]].put_back(_task(row))
    for name, task_id, until in read(connection, "reserved", "until"):
        queues[name].names.reserve(task_id, until=until)
    for queue in queues.values():
        service.registry.configure(queue, queue.limits, now=service.now())


def _task(row: sqlite3.Row) -> Task:
    task = Task(row["id"], row["form"], row["schedule_at"], row["created_at"])
    task.seq = row["seq"]
    task.generated, task.to_app_engine = bool(row["generated"]), bool(row["to_app_engine"])
    task.dispatch_count, task.response_count = row["dispatch_count"], row["response_count"]
    task.executions, task.previous_status = row["executions"], row["previous_status"]
    task.first_dispatch_at = row["first_dispatch_at"]
    task.last = None if row["last"] is None else LastAttempt(*json.loads(row["last"]))
    task.retry = task_form.retry_of(messages.Task.FromString(task.form))
    return task
