"""App Engine's cron, which can only GET."""

from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment


def posted_cron(app: WSGIApplication) -> WSGIApplication:
    """Let cron's GET arrive as the POST that it stands for.

    Only where App Engine strips `X-Appengine-Cron` from requests of others. For all others a
    tick stays a POST, since it changes things.
    """

    def asked(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        if environ.get("HTTP_X_APPENGINE_CRON") == "true" and environ["REQUEST_METHOD"] == "GET":
            environ = environ | {"REQUEST_METHOD": "POST"}
        return app(environ, start)

    return asked
