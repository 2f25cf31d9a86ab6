"""`injector db`."""

import click

from injector.cli.options import json_option
from injector.cli.output import print_json
from injector.ledger import upgrade
from injector.ledger.schema import version_of
from injector.ledger.tables import REVISION
from injector.settings import read_settings


@click.group()
def command() -> None:
    """Look after the database of the ledger.

    Example: injector db upgrade
    """


@command.command("upgrade")
@click.option("--url", metavar="URL", help="The ledger's database [INJECTOR_LEDGER_URL].")
@json_option()
def upgrade_(url: str | None, *, as_json: bool) -> None:
    """Bring the ledger to this version's tables, from whatever version it has, or none.

    All or nothing, and one at a time; done again it changes nothing. A SQLite ledger is brought
    there by its first use, one in PostgreSQL only by this.

    Example: injector db upgrade
    """
    url = url or read_settings().ledger_url
    before = version_of(url)
    upgrade(url)
    if as_json:
        print_json({"before": before, "now": REVISION})
    elif before == REVISION:
        click.echo(f"the ledger is at version {REVISION} already")
    else:
        click.echo(f"the ledger went from version {before or 'none'} to {REVISION}")
