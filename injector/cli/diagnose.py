"""`injector diagnose`."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from injector.cli.charts import draw, plot_option, write_svg
from injector.cli.diagnosis_view import TITLE, Seen, curves_of, in_json, show
from injector.cli.operating.place import queues_of
from injector.cli.options import json_option, service_asked_once, service_option
from injector.cli.output import moment, print_json, print_lines, say
from injector.cli.trouble import seconds_of
from injector.clock import Clock
from injector.errors import InjectorError, Misused
from injector.groups import expand
from injector.queues.diagnosis import diagnose, history
from injector.settings import Settings, read_settings

EACH_S = 60.0
_NO_PAST = history({}, step_s=EACH_S)


@click.command()
@click.argument("group", required=False, default="")
@click.option(
    "--queue",
    "expression",
    default="",
    metavar="NAME",
    help="A queue in place of a group, or several: projects/P/locations/L/queues/q-[00-39].",
)
@service_option()
@click.option(
    "--since",
    "since_s",
    type=seconds_of,
    default="1h",
    show_default=True,
    metavar="SPAN",
    help="How far back to look for peaks, such as 7h.",
)
@click.option("--watch", is_flag=True, help="Look again each minute, until interrupted.")
@plot_option()
@json_option()
def command(  # noqa: PLR0913  (each is an option)
    group: str,
    *,
    expression: str,
    url: str | None,
    since_s: float,
    plot: Path | None,
    watch: bool,
    as_json: bool,
) -> int:
    """Say why GROUP, or a queue, dispatches less than it could, and what to do.

    Tells cold ramp-up, target congestion, concurrency limit, own rate limit, paused, starved and
    overload of creates, with the numbers behind each, by Cloud Monitoring and the queues' logs.
    Where the service can be asked, its word on queues that take no creates is noted.
    Needs roles/cloudtasks.viewer, roles/monitoring.viewer and, for the target's latency,
    roles/logging.viewer. Exits with 1 when something is found.

    Example: injector diagnose welcome --watch
    """
    settings = read_settings()
    queues = _queues(settings, group, expression, url)
    sick = partial(_sick, group, settings, url)
    with looking(settings, queues, since_s, sick) as look:
        for seen in looks(look, settings.clock, watch=watch):
            _show(seen, as_json=as_json, watching=watch)
            if plot:
                write_svg(plot, TITLE, curves_of(seen.evidence))
    return 1 if seen.diagnosis.verdicts else 0


def looks(look: Callable[[], Seen], clock: Clock, *, watch: bool) -> Iterator[Seen]:
    """Yield what is seen now, and again each minute while it is watched."""
    yield look()
    while watch:
        clock.sleep(EACH_S)
        yield look()


def _queues(settings: Settings, group: str, expression: str, url: str | None) -> tuple[str, ...]:
    if bool(group) == bool(expression):
        raise click.UsageError("name a group, or queues by --queue; one of both")
    return expand(expression) if expression else queues_of(group, settings, url=url or "")


@contextmanager
def looking(
    settings: Settings,
    queues: Sequence[str],
    since_s: float,
    noted: Callable[[], Iterable[str]] = tuple,
) -> Iterator[Callable[[], Seen]]:
    """Give what looks at the queues now, and adds what is `noted` elsewhere.

    Raises Misused where a client library is missing.
    """
    try:
        from injector.queues.gathering import gather, look_back, sources_at  # noqa: PLC0415
    except ImportError as error:  # Google's clients are an extra
        raise Misused(
            "a diagnosis needs the extra `monitoring`: "
            "pip install 'cloud-tasks-injector[monitoring]'"
        ) from error

    with sources_at(settings.emulator_host or "") as sources:

        def look() -> Seen:
            now = settings.clock.now()
            evidence = gather(queues, sources, now=now)
            past = _NO_PAST
            if any(queue.minutes for queue in evidence.queues):
                past = look_back(queues, sources, since_s=since_s, now=now)
            found = diagnose(evidence)
            found = replace(found, notes=(*found.notes, *noted()))
            return Seen(found, evidence, past, now)

        yield look


def _sick(group: str, settings: Settings, url: str | None) -> Iterator[str]:
    """Say which queues of the group take no creates, if the service can be asked."""
    if not group or "/queues/" in group or not (url or settings.service_url):
        return
    try:
        found = service_asked_once(url).group(group).get("sick")
    except InjectorError as error:  # What Google's interfaces tell stands by itself.
        yield f"the service did not say which queues take no creates: {error}"
        return
    for sick in found if isinstance(found, list) else ():
        since = f"since {moment(sick['since'])}, last at {moment(sick['seen'])}"
        yield f"{sick['queue']} takes no creates {since} ({sick['code']}); what is for it waits"


def _show(seen: Seen, *, as_json: bool, watching: bool) -> None:
    if as_json:
        (print_lines([in_json(seen)]) if watching else print_json(in_json(seen)))
        return
    if watching:
        say(f"\n{moment(seen.at)}", style="bold")
    show(seen)
    draw(TITLE, curves_of(seen.evidence))
