"""Run the emulator by itself: `python -m injector.emulator`, or `injector emulator`."""

import logging
from pathlib import Path
from typing import Unpack

import click

from injector.emulator.announcement import announce
from injector.emulator.api.service import Rules
from injector.emulator.asked import Asked, options_of
from injector.emulator.options import DEFAULT_PORT, Options
from injector.emulator.server import Running, run
from injector.emulator.state.dynamics import PRESETS
from injector.emulator.state.registry import Windows
from injector.errors import Misused, Retryable

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("emulator", context_settings={"show_default": True})
@click.option("--host", default="127.0.0.1", help="Address to listen on.")
@click.option("--port", default=DEFAULT_PORT, help="Port of gRPC; 0 takes a free one.")
@click.option(
    "--control-port", type=int, help="Port of REST, control, metrics and status; none by default."
)
@click.option("--tls-certificate", type=_FILE, help="PEM chain; with it gRPC is encrypted.")
@click.option("--tls-key", type=_FILE, help="PEM private key of the certificate.")
@click.option(
    "--app-engine",
    default="",
    envvar="APP_ENGINE_EMULATOR_HOST",
    metavar="URL",
    help="Where App Engine tasks go, whatever their app.",
)
@click.option(
    "--queue",
    "queues",
    multiple=True,
    metavar="NAME[=SETTINGS]",
    help="A queue to start with; settings in YAML or JSON, as the API has them.",
)
@click.option(
    "--queues-file",
    type=_FILE,
    help="A YAML list of queues to start with, or lists of queues, topics and subscriptions.",
)
@click.option(
    "--topic",
    "topics",
    multiple=True,
    metavar="NAME[=SETTINGS]",
    help="A Pub/Sub topic to start with.",
)
@click.option(
    "--subscription",
    "subscriptions",
    multiple=True,
    metavar="NAME=SETTINGS",
    help="A subscription to start with: NAME='{topic: TOPIC}', and what else the API has.",
)
@click.option("--auto-create", is_flag=True, help="Make a queue at the first task for it.")
@click.option(
    "--dynamics",
    default="gentle",
    type=click.Choice(sorted(PRESETS)),
    help="Cold starts, back-off: none, in seconds, or as told of production, with overload.",
)
@click.option("--speed", default=1.0, help="How many times as fast the clock runs.")
@click.option("--origin", type=float, help="Unix time from which the clock runs faster.")
@click.option("--frozen", is_flag=True, help="Start with a clock that stands still.")
@click.option("--state-file", type=_FILE, help="SQLite file that keeps the state.")
@click.option(
    "--task-window",
    default=Windows().task_s,
    metavar="SECONDS",
    help="How long the name of a task that is over stays reserved.",
)
@click.option(
    "--queue-window",
    default=Windows().queue_s,
    metavar="SECONDS",
    help="How long the name of a deleted queue stays reserved.",
)
@click.option(
    "--queue-delay",
    default=0.0,
    metavar="SECONDS",
    help="How long a new queue is not found yet; up to 60 in production.",
)
@click.option("--quotas", is_flag=True, help="Limit forced runs and lists, as production does.")
@click.option("--operation-time", default=0.0, metavar="SECONDS", help="How long a batch takes.")
@click.option(
    "--service-account",
    "accounts",
    multiple=True,
    metavar="EMAIL",
    help="A service account that exists; with any given, no other does.",
)
@click.option(
    "--location",
    "locations",
    multiple=True,
    help="A location that exists; with any given, no other does.",
)
@click.option("--max-queues", default=0, help="Most queues of a location; 0 sets no limit.")
@click.option(
    "--max-task-bytes",
    default=Rules().max_task_bytes,
    type=click.IntRange(1024),
    help="Largest stored task.",
)
@click.option("--issuer", default="", help="Issuer in OIDC tokens; the control port by default.")
@click.option("--seed", default=0, help="Seed of all chance: made-up ids and faults.")
@click.option("--quiet", is_flag=True, help="Do not say where it listens.")
@click.option("--json", "as_json", is_flag=True, help="Say it as a line of JSON, for scripts.")
@click.option(
    "--log-level",
    default="WARNING",
    type=click.Choice(("DEBUG", "INFO", "WARNING", "ERROR"), case_sensitive=False),
    help="Least level of what is logged.",
)
def main(**asked: Unpack[Asked]) -> None:
    """Run a local Cloud Tasks that behaves like the real one.

    Point clients at it with CLOUDTASKS_EMULATOR_HOST or CLOUD_TASKS_EMULATOR_HOST, or an
    insecure channel to HOST:PORT. On the control port are a status page, /metrics, the v2 JSON
    API under /v2, the keys of its tokens, and /control: clock, faults, reset, history.

    Pub/Sub is on the same port, for PUBSUB_EMULATOR_HOST, in memory only.

    Example: injector emulator --queue projects/p/locations/l/queues/q --control-port 8124

    Example: injector emulator --topic projects/p/topics/events
    """
    logging.basicConfig(
        level=asked["log_level"].upper(), format="%(levelname)s %(name)s %(message)s"
    )
    if asked["quiet"] and asked["as_json"]:
        raise click.UsageError("--quiet says nothing and --json says it as JSON; leave one out")
    try:
        options = options_of(asked)
        run(options, lambda emulator: _tell(asked, options, emulator))
    except Misused as error:
        raise click.UsageError(str(error)) from error
    except Retryable as error:
        raise click.ClickException(str(error)) from error


def _tell(asked: Asked, options: Options, emulator: Running) -> None:
    """Say where the emulator is, unless nobody wants to know."""
    said = announce(options, emulator.port, emulator.control_port)
    if asked["as_json"]:
        click.echo(said.json())
    elif not asked["quiet"]:
        click.echo(said.text())


if __name__ == "__main__":
    main()
