"""`injector dashboard`."""

import webbrowser
from dataclasses import replace

import click
from werkzeug.serving import make_server

from injector.cli.options import service_at, service_option
from injector.cli.ranges import WholeRange
from injector.cli.way_in import way_in
from injector.errors import Misused

LOOPBACK = "127.0.0.1"


@click.command()
@service_option()
@click.option("--port", type=WholeRange(1, 65_535), default=8081, show_default=True)
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def command(url: str | None, *, port: int, no_browser: bool) -> None:
    """Open the service's dashboard in a browser, as you, until Ctrl-C.

    Passes what the browser asks on to the service, with the token that the other commands use,
    once it is seen that the service is there and lets you in.

    Example: injector dashboard --service https://injector.example
    """
    service = service_at(url)
    next(replace(service, attempts=1).jobs(), None)  # raises what keeps it from being asked
    try:
        server = make_server(LOOPBACK, port, way_in(service.url, service.identity), threaded=True)
    except (OSError, SystemExit) as error:
        raise Misused(f"port {port} is taken; stop what uses it, or give another --port") from error
    here = f"http://{LOOPBACK}:{port}/"
    click.echo(f"The dashboard of {service.url} is at {here} until Ctrl-C.")
    if not no_browser:
        webbrowser.open(here)
    server.serve_forever()
