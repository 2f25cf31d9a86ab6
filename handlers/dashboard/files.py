"""The files that the pages load: the dashboard's own, and Chart.js as chartkick ships it.

They are compressed once for each process, and their addresses change with their content, so a
browser loads each of them once.
"""

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from flask import Response, request, url_for
from werkzeug.exceptions import NotFound

TYPES = {
    "chart.js": "text/javascript",
    "charts.js": "text/javascript",
    "dashboard.css": "text/css",
    "icon.svg": "image/svg+xml",
    "live.js": "text/javascript",
    "steer.js": "text/javascript",
}
FOR_GOOD = "private, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class Asset:
    """A file, as it is and compressed; `version` is a digest of it."""

    content: bytes
    compressed: bytes
    version: str


@cache
def asset(name: str) -> Asset:
    """Read a file; raise NotFound for one that is not the dashboard's."""
    if name not in TYPES:
        raise NotFound
    content = _read(name)
    packed = gzip.compress(content, 6, mtime=0)
    return Asset(content, packed, hashlib.sha256(content).hexdigest()[:16])


def address(name: str) -> str:
    """Return where the browser finds this version of a file."""
    return url_for("dashboard.file", name=name, v=asset(name).version)


def send(name: str) -> Response:
    """Answer with a file; one asked for by another version is not to be kept."""
    found = asset(name)
    squeezed = request.accept_encodings.quality("gzip") > 0
    answer = Response(found.compressed if squeezed else found.content, content_type=TYPES[name])
    if squeezed:
        answer.headers["Content-Encoding"] = "gzip"
    answer.headers["Vary"] = "Accept-Encoding"
    if request.args.get("v") == found.version:
        answer.headers["Cache-Control"] = FOR_GOOD
    return answer


def _read(name: str) -> bytes:
    if name == "chart.js":
        return (files("chartkick") / "django/static/chartkick/Chart.bundle.js").read_bytes()
    return (files("handlers.dashboard") / "static" / name).read_bytes()
