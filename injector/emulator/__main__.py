"""Run the emulator by itself: `python -m injector.emulator`."""

from pathlib import Path

import click

from injector.emulator.options import DEFAULT_PORT, Options
from injector.emulator.server import run
from injector.emulator.state.dynamics import PRESETS


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=DEFAULT_PORT, show_default=True)
@click.option("--app-engine", default="", envvar="APP_ENGINE_EMULATOR_HOST")
@click.option("--queue", "queues", multiple=True)
@click.option("--queues-file", type=click.Path(path_type=Path))
@click.option("--speed", default=1.0, show_default=True)
@click.option("--dynamics", default="gentle", type=click.Choice(sorted(PRESETS)))
def main(  # noqa: PLR0913, PLR0917  # one for each option
    host: str,
    port: int,
    app_engine: str,
    queues: tuple[str, ...],
    queues_file: Path | None,
    speed: float,
    dynamics: str,
) -> None:
    """Run a local Cloud Tasks.

    Example: injector emulator --queue projects/p/locations/l/queues/q
    """
    run(
        Options(
            host=host,
            port=port,
            app_engine=app_engine,
            queues=queues,
            queues_file=queues_file,
            speed=speed,
            dynamics=PRESETS[dynamics],
        )
    )


if __name__ == "__main__":
    main()
