"""The queues that a local run's emulator starts with, as `group provision` would make them."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import astuple

from injector.groups import Group, Retry
from injector.operations.reconcile import RETRY, Wanted, injector, target

_LIMITS = {"rate": "max_dispatches_per_second", "concurrency": "max_concurrent_dispatches"}


def start_queues(group: Group) -> Iterator[str]:
    """Yield the queues, the injector queues first, as the emulator's `--queue` takes them."""
    shape = {"rate": group.rate, "concurrency": group.concurrency, "retry": group.retry}
    for name in group.injector_queues:
        yield _start(injector(name, rate=group.ramp.start_rate))
    for name in group.queues:
        yield _start(target(name, **shape))  # type: ignore[arg-type]


def _start(wanted: Wanted) -> str:
    """Name the queue, with what is to differ from the service's defaults."""
    queue, config = wanted.queue, dict[str, Mapping[str, object]]()
    limits = {
        theirs: getattr(queue, ours) for ours, theirs in _LIMITS.items() if ours in wanted.owned
    }
    if limits:
        config["rate_limits"] = limits
    if queue.retry and set(RETRY) <= set(wanted.owned):
        config["retry_config"] = dict(_retry(queue.retry))
    return f"{queue.name}={json.dumps(config)}" if config else queue.name


def _retry(retry: Retry) -> Iterator[tuple[str, object]]:
    """Yield the fields that differ from the defaults, spans as the API writes them."""
    for name, value, usual in zip(RETRY, astuple(retry), astuple(Retry()), strict=True):
        if value != usual:
            yield name.removesuffix("_s"), f"{value:f}s" if name.endswith("_s") else value
