"""The pages. Each is a whole page, and with `?part=live` only what changes, which it asks for.

All is written here, escaped by Jinja, so a page says the same before and after it is refreshed,
and without scripts. Figures are text, so no browser rounds an id (2^53).
"""

import hashlib
import time
from collections.abc import Callable
from typing import Literal

from flask import Blueprint, Flask, Response, current_app, json, render_template, request
from pydantic import Field

from handlers.asking import query
from handlers.context import parts
from handlers.dashboard import files, sights
from handlers.dashboard.glances import FRESH_S, Glances
from handlers.dashboard.words import FILTERS
from handlers.models import Asked, JobsQuery
from injector.errors import Misused, NotFound, Retryable

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
QUEUES_FRESH_S = 30.0
SHARE_OF_THREADS = 4

Source = Literal["glances", "queue_glances"]

dashboard = Blueprint("dashboard", __name__, template_folder="templates")


class PageQuery(Asked):
    """Whether only what changes is wanted."""

    part: Literal["", "live"] = ""


class IndexQuery(JobsQuery, PageQuery):
    """Which jobs."""


class FindQuery(PageQuery):
    """Which rejects."""

    contains: str = Field("", max_length=200)
    after: int = Field(-1, ge=-1, le=2**53)


class MinutesQuery(Asked):
    """How many minutes."""

    minutes: int = Field(60, ge=5, le=180)


def register(app: Flask, *, threads: int) -> None:
    """Add the dashboard; at most a quarter of the threads make its answers.

    One more may ask Cloud Tasks, which can take long, and must not keep the others waiting.
    """
    app.extensions["glances"] = Glances(max(1, threads // SHARE_OF_THREADS))
    app.extensions["queue_glances"] = Glances(1)
    app.jinja_env.filters.update(FILTERS)
    app.jinja_env.globals["address"] = files.address
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    app.register_blueprint(dashboard)


@dashboard.get("/")
def index() -> Response:
    """Show the jobs and the groups."""
    asked = query(IndexQuery)
    return _page(
        "jobs.html",
        lambda: sights.overview(parts(), state=asked.state, after=asked.after),
        asked,
    )


@dashboard.get("/dashboard/jobs/<job_id>")
def job(job_id: str) -> Response:
    """Show a job."""
    return _page("job.html", lambda: sights.of_job(parts(), job_id), query(PageQuery))


@dashboard.get("/dashboard/jobs/<job_id>/rejects")
def rejects(job_id: str) -> Response:
    """Show a job's rejects that hold a text."""
    asked = query(FindQuery)
    return _page(
        "rejects.html",
        lambda: sights.of_rejects(parts(), job_id, text=asked.contains, after=asked.after),
        asked,
    )


@dashboard.get("/dashboard/groups/<name>")
def group(name: str) -> Response:
    """Show a group."""
    return _page("group.html", lambda: sights.of_group(parts(), name), query(PageQuery))


@dashboard.get("/dashboard/operations/<operation_id>")
def operation(operation_id: str) -> Response:
    """Show an operation on a group."""
    return _page(
        "operation.html", lambda: sights.of_operation(parts(), operation_id), query(PageQuery)
    )


@dashboard.get("/dashboard/groups/<name>/queues")
def queues(name: str) -> Response:
    """Show a group's queues, as the service saw them within half a minute."""
    return _page(
        "queues.html", lambda: sights.of_queues(parts(), name), query(PageQuery), by="queue_glances"
    )


@dashboard.get("/dashboard/groups/<name>/minutes")
def minutes(name: str) -> Response:
    """Give the charts a group's last minutes; the cost grows with their number alone."""
    window = query(MinutesQuery).minutes
    return _answer(
        lambda: json.dumps(sights.of_minutes(parts(), name, window=window)), "application/json"
    )


@dashboard.get("/dashboard/files/<name>")
def file(name: str) -> Response:
    """Send a file of the dashboard."""
    return files.send(name)


@dashboard.after_request
def _secure(answer: Response) -> Response:
    """Let the pages run and load nothing but the dashboard's own files."""
    answer.headers["Content-Security-Policy"] = POLICY
    return answer


@dashboard.errorhandler(Misused)
def _failed(error: Misused) -> Response:
    """Say to a person what is wrong."""
    status = 404 if isinstance(error, NotFound) else 400
    return Response(render_template("error.html", busy=False, why=str(error)), status)


@dashboard.errorhandler(Retryable)
def _later(error: Retryable) -> Response:
    """Ask a person for a moment's patience; the page comes again by itself."""
    wait_s = f"{max(1, round(error.retry_after_s or 1))}"
    page = render_template("error.html", busy=True, why=str(error))
    return Response(page, 503, headers={"Retry-After": wait_s})


def _page(
    template: str,
    gather: Callable[[], sights.Sight],
    asked: PageQuery,
    *,
    by: Source = "glances",
) -> Response:
    layout = "live.html" if asked.part == "live" else "page.html"
    return _answer(
        lambda: render_template(template, layout=layout, **gather()),
        "text/html; charset=utf-8",
        by=by,
    )


def _answer(make: Callable[[], str], content_type: str, *, by: Source = "glances") -> Response:
    """Answer with what is there, or with 304 to whoever has it already."""
    glances: Glances = current_app.extensions[by]
    fresh_s = QUEUES_FRESH_S if by == "queue_glances" else FRESH_S
    body = glances.see(request.full_path, make, now=time.monotonic(), fresh_s=fresh_s)
    answer = Response(body, content_type=content_type)
    answer.set_etag(hashlib.sha256(body.encode()).hexdigest()[:32])
    answer.make_conditional(request)
    return answer
