"""`injector schema`."""

import click

from injector.cli.output import print_json
from injector.manifest.load import manifest_schema


@click.command()
def command() -> None:
    """Print the JSON Schema of the manifest, by which editors complete and check it.

    Example: injector schema > injector.schema.json
    """
    print_json(manifest_schema())
