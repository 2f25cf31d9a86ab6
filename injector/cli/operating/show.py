"""`injector group show`."""

from collections.abc import Sequence
from dataclasses import asdict

import click

from injector.cli.operating.place import queues_of
from injector.cli.options import json_option, service_option
from injector.cli.output import count, print_json, print_table, rate
from injector.delivery.ports import Queue
from injector.groups import Retry
from injector.operations.provision import found_in
from injector.operations.terraform import import_blocks
from injector.queue_names import compact
from injector.queues.ports import ports_at
from injector.settings import Settings, read_settings

HEADINGS = (">queues", "names", "state", ">rate/s", ">at once", ">attempts", "back-off")


@click.command()
@click.argument("group", metavar="GROUP")
@click.option("--terraform", is_flag=True, help="Print import blocks for the module in terraform/.")
@click.option("--module", default="injector", show_default=True, help="What the module is called.")
@service_option()
@json_option()
def command(group: str, url: str, module: str, *, terraform: bool, as_json: bool) -> None:
    """Show GROUP's queues as they are; those that are set alike are one line.

    With --terraform, print the import blocks by which the module takes them over as they are,
    so that nothing is created anew: put them beside the module, and see `terraform plan`.

    Example: injector group show welcome
    """
    settings = read_settings()
    names = all_queues(group, settings, url=url)
    with ports_at(settings) as ports:
        found = found_in(names, ports).queues
    queues = [found[name] for name in names if name in found]
    missing = [name for name in names if name not in found]
    if terraform:
        click.echo(import_blocks([queue.name for queue in queues], group=group, module=module))
    elif as_json:
        print_json({"queues": [asdict(queue) for queue in queues], "missing": missing})
    else:
        print_table(HEADINGS, [_row(alike) for alike in _alike(queues)] + _missing(missing))


def all_queues(group: str, settings: Settings, *, url: str = "") -> tuple[str, ...]:
    """Name the group's queues, its injector queues first where they are known."""
    found = settings.groups.get(group)
    return (*(found.injector_queues if found else ()), *queues_of(group, settings, url=url))


def _alike(queues: Sequence[Queue]) -> list[list[Queue]]:
    kinds: dict[tuple[object, ...], list[Queue]] = {}
    for queue in queues:
        key = (queue.state, queue.rate, queue.concurrency, queue.retry)
        kinds.setdefault(key, []).append(queue)
    return list(kinds.values())


def _row(queues: Sequence[Queue]) -> tuple[str, ...]:
    first, retry = queues[0], queues[0].retry or Retry()
    return (
        count(len(queues)),
        _named([queue.name for queue in queues]),
        first.state.lower(),
        rate(first.rate),
        count(first.concurrency),
        "any" if retry.max_attempts < 0 else count(retry.max_attempts),
        f"{retry.min_backoff_s:g} to {retry.max_backoff_s:g} s",
    )


def _missing(names: Sequence[str]) -> list[tuple[str, ...]]:
    return [(count(len(names)), _named(names), "missing", "", "", "", "")] if names else []


def _named(names: Sequence[str]) -> str:
    return compact(names).replace(f"{names[0].rpartition('/')[0]}/", "")
