"""The two commands that every operation has: plan, which shows it, and apply, which does it."""

from collections.abc import Callable, Sequence
from pathlib import Path

import click

from injector.cli.charts import plot_option
from injector.cli.operating.here import apply_here, plan_here
from injector.cli.operating.there import apply_there, plan_there
from injector.cli.operating.view import show_plan
from injector.cli.options import json_option, service_option
from injector.operations.kind import AnyKind
from injector.operations.values import Fields, Plan
from injector.settings import Settings, read_settings

Decorator = Callable[[Callable[..., object]], Callable[..., object]]


Fill = Callable[[str, Fields, Settings, str], Fields]
"""Adds to the fields that were given what is known of the group; the last argument is the URL."""


def _as_given(_group: str, fields: Fields, _settings: Settings, _url: str) -> Fields:
    return fields


def operation_command(
    kind: AnyKind,
    *,
    does: str,
    example: str,
    options: Sequence[Decorator],
    fill: Fill = _as_given,
) -> click.Group:
    """Make an operation's command; each option is named as the field of the spec that it sets.

    `does` is one sentence; `example` the arguments of an example, after plan or apply.
    """
    command = click.Group(kind.name, help=_help(does, f"{kind.name} plan {example}"))
    command.add_command(_plan(kind, f"{kind.name} plan {example}", options, fill))
    command.add_command(apply_command(kind, example, options, fill))
    return command


def _help(words: str, example: str) -> str:
    return f"{words}\n\nExample: injector group {example}"


def _plan(kind: AnyKind, example: str, options: Sequence[Decorator], fill: Fill) -> click.Command:
    def plan(
        group: str,
        url: str,
        plot: Path | None,
        *,
        here: bool,
        as_json: bool,
        **fields: object,
    ) -> None:
        settings = read_settings()
        here = is_here(group, settings, url=url, here=here)
        filled = _filled(fill, group, fields, settings, url=url, here=here)
        found = planned(kind, group, filled, settings, url=url, here=here)
        show_plan(found, as_json=as_json, plot=plot)

    words = (
        "Show what applying it to GROUP would do, as the service sees it, where there is one; "
        "nothing is changed."
    )
    return _command("plan", plan, _help(words, example), (*options, plot_option(), here_option()))


def planned(  # noqa: PLR0913  (what, and from where)
    kind: AnyKind, group: str, fields: Fields, settings: Settings, *, url: str, here: bool
) -> Plan:
    """Plan by the service, where there is one, else from here."""
    if is_here(group, settings, url=url, here=here):
        return plan_here(kind, group, fields, settings, url=url)
    return plan_there(kind, group, fields, url)


def is_here(group: str, settings: Settings, *, url: str, here: bool) -> bool:
    """Tell whether it is for this machine: a service knows only the groups that it has."""
    return here or "/queues/" in group or not (url or settings.service_url)


def here_option() -> Decorator:
    """Let it be done from here, whatever service there is."""
    return click.option(
        "--here", is_flag=True, help="Do it from here, with the ledger of INJECTOR_LEDGER_URL."
    )


def apply_command(
    kind: AnyKind, example: str, options: Sequence[Decorator], fill: Fill = _as_given
) -> click.Command:
    """Make the command that does it."""

    def apply(group: str, url: str, *, here: bool, as_json: bool, **fields: object) -> int:
        settings = read_settings()
        here = is_here(group, settings, url=url, here=here)
        filled = _filled(fill, group, fields, settings, url=url, here=here)
        if here:
            return apply_here(kind, group, filled, settings, as_json=as_json)
        return apply_there(kind, group, filled, url, as_json=as_json)

    words = (
        "Do it to GROUP: by the service, where there is one, else by this command until it is "
        "done. Killed or interrupted, the same command again goes on where it was."
    )
    help_ = _help(words, f"{kind.name} apply {example}")
    return _command("apply", apply, help_, (*options, here_option()))


def _command(
    name: str, act: Callable[..., object], words: str, options: Sequence[Decorator]
) -> click.Command:
    """Put the options around the act, the first one outermost."""
    for option in reversed((*options, service_option(), json_option())):
        act = option(act)
    act = click.argument("group", metavar="GROUP")(act)
    return click.command(name, help=words)(act)


def _filled(  # noqa: PLR0913  (what was said, and where)
    fill: Fill, group: str, fields: Fields, settings: Settings, *, url: str, here: bool
) -> Fields:
    """Add what is known of the group; by the service only where that is asked at all."""
    if here:
        settings, url = settings.model_copy(update={"service_url": None}), ""
    return fill(group, given(fields), settings, url)


def given(fields: Fields) -> Fields:
    """Leave out what was not said, so that the kind's defaults hold."""
    return {name: value for name, value in fields.items() if value is not None}
