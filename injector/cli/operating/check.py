"""`injector group check`."""

from collections.abc import Iterator, Sequence

import click

from injector.cli.operating.show import all_queues
from injector.cli.options import json_option, service_option
from injector.cli.output import print_json, say
from injector.groups import Group
from injector.operations.provision import Found, found_in, wanted_of
from injector.operations.provision import ProvisionSpec as Spec
from injector.operations.reconcile import MOST_QUEUES, differences
from injector.pacing.ramp import CHUNK
from injector.queue_names import compact, so_many
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

    Looks for queues that are missing, do not run or differ from the group's configuration, and for
    the region's limits. What it advises besides is no fault, such as that the ramp may go faster
    than the queues dispatch.

    Example: injector group check welcome
    """
    settings = read_settings()
    names = all_queues(group, settings, url=url)
    with ports_at(settings) as ports:
        found = found_in(names, ports)
    configured = settings.groups.get(group)
    problems = list(problems_of(names, configured, found))
    advice = list(advice_of(configured, found)) if configured else []
    if as_json:
        said = {"problems": problems, "advice": advice}
        print_json({"group": group, "queues": len(names), **said})
    else:
        _show(len(names), problems, advice)
    return 1 if problems else 0


def _show(queues: int, problems: Sequence[str], advice: Sequence[str]) -> None:
    if not problems:
        say(f"nothing is wrong with {so_many(queues)}")
    for line in (*problems, *(f"advice: {each}" for each in advice)):
        say(line, wraps=False)


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


def advice_of(group: Group, found: Found) -> Iterator[str]:
    """Yield what is no fault, and yet worth knowing before a large job."""
    there = [found.queues[name] for name in group.queues if name in found.queues]
    dispatched, created = sum(queue.rate for queue in there), group.ramp.max_rate * CHUNK
    if there and dispatched < created:
        yield (
            f"a job that lasts until the ramp is at its most ({created:,.6g}/s) creates tasks "
            f"faster than {so_many(len(there))} can dispatch them ({dispatched:,.6g}/s), and they "
            f"wait in the queues meanwhile; if that is not meant, expand the group or set max_rate "
            f"to {dispatched / CHUNK:,.6g}"
        )
