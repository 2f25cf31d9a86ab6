"""`injector up`: the whole product on this machine."""

import time
from collections.abc import Callable
from pathlib import Path

import click

from injector.cli.ranges import FiniteRange, WholeRange
from injector.local.layout import LocalRun
from injector.local.origin import origin_of
from injector.local.up import GROUPS_FILE, up

Decorator = Callable[[Callable[..., object]], Callable[..., object]]


def _port_option(name: str, usual: int, meaning: str) -> Decorator:
    return click.option(
        name, type=WholeRange(1, 65_535), default=usual, show_default=True, help=meaning
    )


@click.command("up")
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(".injector"),
    show_default=True,
    help="Where ledger, chunks, the emulator's state and the logs are kept.",
)
@click.option(
    "--groups",
    type=click.Path(path_type=Path),
    help=f"The queue groups [FOLDER/{GROUPS_FILE}, made with one group named local].",
)
@click.option(
    "--speed",
    type=FiniteRange(min=0.1, max=1000),
    default=1.0,
    show_default=True,
    help="How many seconds the run's clock counts in one second.",
)
@_port_option("--port", 8080, "The service's port.")
@_port_option("--emulator-port", 8123, "The emulator's gRPC port.")
@_port_option("--control-port", 8124, "The emulator's HTTP port: control, REST.")
@_port_option("--target-port", 8090, "The target's port.")
@click.option("--no-target", is_flag=True, help="Run no target; the tasks call your own.")
def command(  # noqa: PLR0913  (one for each option)
    *,
    folder: Path,
    groups: Path | None,
    speed: float,
    port: int,
    emulator_port: int,
    control_port: int,
    target_port: int,
    no_target: bool,
) -> None:
    """Run emulator, service, ticks and a target on this machine until Ctrl-C.

    The same folder started again goes on where it was.

    Example: injector up --speed 10
    """
    run = LocalRun(
        folder=folder.absolute(),
        groups=(groups or folder / GROUPS_FILE).absolute(),
        origin=origin_of(folder, speed=speed, now=time.time()),
        speed=speed,
        service_port=port,
        emulator_port=emulator_port,
        control_port=control_port,
        target_port=None if no_target else target_port,
    )
    up(run, announce=click.echo)
