"""`injector group check`."""

from collections.abc import Iterator, Sequence

import click

from injector.cli.operating.show import all_queues
from injector.cli.options import json_option, service_option
from injector.cli.output import console, print_json
from injector.groups import Group
from injector.operations.provision import Found, found_in, wanted_of
from injector.operations.provision import ProvisionSpec as Spec
from injector.operations.reconcile import MOST_QUEUES, differences
from injector.pacing.ramp import CHUNK
from injector.queue_names import compact
from injector.queues.ports import ports_at
from injector.queues.preflight import judged
from injector.settings import read_settings

NEARLY = 0.9


@click.command()
@click.argument("group", metavar="GROUP")
@service_option()
@json_option()
def command(group: str, url: str, *, as_json: bool) -> int:
    """Say what is wrong with GROUP's queues; exits with 1 when something is.

    Looks for queues that are missing, do not run, differ from the group's configuration, or are
    too few for its rate, and for the region's limits.

    Example: injector group check welcome
    """
    settings = read_settings()
    names = all_queues(group, settings, url=url)
    with ports_at(settings) as ports:
        found = found_in(names, ports)
    configured = settings.groups.get(group)
    problems = list(problems_of(names, configured, found))
    if as_json:
        print_json({"group": group, "queues": len(names), "problems": problems})
    elif not problems:
        console().print(f"{len(names)} queues are there, run, and are as they should be")
    for problem in () if as_json else problems:
        console().print(problem, markup=False, soft_wrap=True)
    return 1 if problems else 0


def problems_of(names: Sequence[str], group: Group | None, found: Found) -> Iterator[str]:
    """Yield what is wrong, with what would mend it."""
    if missing := [name for name in names if name not in found.queues]:
        yield f"{len(missing)} missing: {compact(missing)}; injector group provision makes them"
    seen = [judged(found.queues[name]) for name in names if name in found.queues]
    yield from (queue.problem for queue in seen if queue.problem)
    if len(found.queues) > NEARLY * MOST_QUEUES:
        yield (
            f"the region has {len(found.queues)} queues of the {MOST_QUEUES:,} it has by default; "
            "ask for a higher quota before the group is to grow"
        )
    if group:
        yield from _by_configuration(group, found)


def _by_configuration(group: Group, found: Found) -> Iterator[str]:
    shape = Spec(group.queues, group.injector_queues, group.rate, group.concurrency, group.retry)
    for wanted in wanted_of(shape):
        there = found.queues.get(wanted.queue.name)
        if there and (names := differences(wanted, there)):
            remedy = f"injector group provision apply {group.name} sets it"
            yield f"{there.name} differs in {', '.join(names)}; {remedy}"
    there_all = [found.queues[name] for name in group.queues if name in found.queues]
    dispatched = sum(queue.rate for queue in there_all)
    if there_all and dispatched < group.ramp.max_rate * CHUNK:
        yield (
            f"{len(there_all)} queues dispatch {dispatched:,.6g}/s, and the ramp may create "
            f"{group.ramp.max_rate * CHUNK:,.6g}/s: a backlog would grow; expand the group, or "
            "lower max_rate"
        )
