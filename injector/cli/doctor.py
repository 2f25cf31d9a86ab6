"""`injector doctor`."""

from collections.abc import Sequence
from dataclasses import asdict

import click

from injector.cli.caller import identity_of
from injector.cli.checks import Checks
from injector.cli.client import Service
from injector.cli.finding import Finding
from injector.cli.options import json_option, service_option
from injector.cli.output import print_json, say
from injector.settings import read_settings

MARKS = {"ok": ("ok", "green"), "doubt": ("?", "yellow"), "fault": ("FAULT", "red")}


@click.command()
@service_option()
@json_option()
def command(url: str | None, *, as_json: bool) -> int:
    """Check what the injector needs, and say how to mend what is wrong.

    Looks at credentials, the service and whether it lets you in, clocks, the ledger, the chunk
    store, each queue of each group, what the service may do with them and with the store, and the
    topic of INJECTOR_EVENTS_TOPIC. Writes a probe to the store and removes it. Exits with 1 when
    something is at fault.

    Example: injector doctor
    """
    settings = read_settings()
    base_url = (url or settings.base_url).rstrip("/")
    checks = Checks(settings, Service(base_url, identity_of(settings, base_url), attempts=1))
    found = []
    for finding in checks.run():
        found.append(finding)
        if not as_json:
            _show(finding)
    if as_json:
        print_json({"healthy": is_healthy(found), "findings": [asdict(each) for each in found]})
    return 0 if is_healthy(found) else 1


def is_healthy(found: Sequence[Finding]) -> bool:
    """Tell whether nothing is at fault; a doubt is no fault."""
    return all(finding.verdict != "fault" for finding in found)


def _show(finding: Finding) -> None:
    mark, colour = MARKS[finding.verdict]
    words = f" {finding.name}: {finding.said}"
    say(words, head=f"{mark:<5}", style=colour, wraps=False)
    if finding.mend:
        say(f"      → {finding.mend}", wraps=False)
