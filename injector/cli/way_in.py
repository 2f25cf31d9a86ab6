"""A way for a browser on this machine to a service elsewhere, which wants a token with each call.

Whoever can reach this address acts as the person who runs it. So it listens on loopback, and
answers neither to another name, under which a page elsewhere could reach it, nor to changes
that a page of another site asks for.
"""

from collections.abc import Callable
from urllib.parse import urlsplit

import requests
from flask import Flask, Response, request
from werkzeug.datastructures import Headers

from injector.errors import InjectorError
from injector.same_site import is_forged
from injector.settings import is_loopback

TIMEOUT_S = 60.0
METHODS = ("GET", "POST", "PATCH", "DELETE")
MAX_BODY = 1024 * 1024
ASKED = ("Accept", "Accept-Encoding", "Content-Type", "If-Match", "If-None-Match")
HOP_BY_HOP = frozenset({"Connection", "Keep-Alive", "Transfer-Encoding", "Content-Length"})

Identity = Callable[[], str]


def way_in(url: str, identity: Identity) -> Flask:
    """Return an application that passes each request on to the service, with a token of ours."""
    app = Flask("injector-dashboard", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = MAX_BODY
    session = requests.Session()
    session.trust_env = False

    @app.route("/", defaults={"path": ""}, methods=METHODS)
    @app.route("/<path:path>", methods=METHODS)
    def passed_on(path: str) -> Response:
        if problem := _problem():
            return Response(f"{problem}\n", 403, content_type="text/plain")
        try:
            return _answer(_asked(session, f"{url}/{path}", identity()), url)
        except (InjectorError, requests.RequestException) as error:
            return Response(f"{url} cannot be asked: {error}\n", 502, content_type="text/plain")

    return app


def _problem() -> str:
    """Say why the request is not passed on; empty when it is."""
    host = urlsplit(f"//{request.headers.get('Host', '')}").hostname
    if not is_loopback(host):
        return f"this is reached as 127.0.0.1, not as {host}"
    if is_forged(request.method, request.headers):
        return "a page of another site may not ask for changes here"
    return ""


def _asked(session: requests.Session, url: str, token: str) -> requests.Response:
    headers = {name: value for name in ASKED if (value := request.headers.get(name))}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    return session.request(
        request.method,
        url,
        params=request.query_string,
        data=request.get_data(),
        headers=headers,
        timeout=TIMEOUT_S,
        allow_redirects=False,
        stream=True,
    )


def _answer(answer: requests.Response, url: str) -> Response:
    """Give the answer as it is, compressed or not; what leads to the service leads here."""
    kept = ((name, value) for name, value in answer.headers.items() if name not in HOP_BY_HOP)
    headers = Headers(kept)
    if (place := headers.get("Location", "")).startswith(url):
        headers["Location"] = place.removeprefix(url) or "/"
    content = answer.raw.stream(decode_content=False)
    return Response(content, answer.status_code, headers, direct_passthrough=True)
