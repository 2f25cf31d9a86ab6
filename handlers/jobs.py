"""The jobs: registered, listed, shown, and accounted for record by record."""

import msgspec
from flask import Blueprint, Response, jsonify, make_response, request

from handlers.access import caller
from handlers.context import parts, read_body
from handlers.logs import event
from handlers.paging import MAX_LIMIT, limit, whole_number
from handlers.parts import group_of
from handlers.views import viewer
from injector.control.report import report_lines
from injector.errors import Misused, NotFound
from injector.ledger.ports import JobState, NewJob
from injector.manifest import Manifest, parse_manifest
from injector.staging import read_staged

MAX_BODY = 1024 * 1024
MOST = 2**53

jobs = Blueprint("jobs", __name__)


class StagedAs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the caller says of the staging: where it is, and what is in it."""

    store: str
    records: int
    chunks: int
    rejected: int
    digest: str


class Submission(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A job to register."""

    manifest: msgspec.Raw
    staged: StagedAs


@jobs.post("/jobs")
def register() -> Response:
    """Register a job: 201 when it is new, 200 when it is there already, 409 with other content."""
    submission = _submission(read_body(MAX_BODY))
    manifest = parse_manifest(bytes(submission.manifest))
    _check_group(manifest.group)
    _check_store(submission.staged)
    job = _new_job(manifest, submission.staged)
    now, ledger = parts().clock.now(), parts().ledger
    is_new = ledger.jobs.register(job, now=now, who=caller().name)
    if is_new:
        event("job.registered", job=job.id, group=job.group, records=job.records)
    body = jsonify(viewer(parts()).job(ledger.jobs.get(job.id)))
    return make_response(body, 201 if is_new else 200, {"Location": f"/jobs/{job.id}"})


@jobs.get("/jobs")
def listed() -> Response:
    """List jobs, newest first."""
    state = request.args.get("state", "")
    if state and state not in set(JobState):
        raise Misused(f"state={state!r}: needs one of {', '.join(JobState)}")
    most = limit()
    found = parts().ledger.jobs.list(
        after=request.args.get("after", ""), limit=most, state=JobState(state) if state else None
    )
    view = viewer(parts())
    following = found[-1].id if len(found) == most else None
    return jsonify(jobs=[view.job(job) for job in found], next=following)


@jobs.get("/jobs/<job_id>")
def shown(job_id: str) -> Response:
    """Show a job."""
    return jsonify(viewer(parts()).job(parts().ledger.jobs.get(job_id)))


@jobs.get("/jobs/<job_id>/rejects")
def rejects(job_id: str) -> Response:
    """List the records that were refused for good, in the source's order."""
    after = whole_number("after", default=-1, least=-1, most=MOST)
    most = limit(MAX_LIMIT)
    found = parts().ledger.jobs.rejects(job_id, after=after, limit=most)
    following = found[-1].ordinal if len(found) == most else None
    return jsonify(rejects=[msgspec.to_builtins(reject) for reject in found], next=following)


@jobs.get("/jobs/<job_id>/report")
def report(job_id: str) -> Response:
    """Stream what became of each record, as JSON lines."""
    job = parts().ledger.jobs.get(job_id)
    return Response(report_lines(parts().ledger, job), content_type="application/x-ndjson")


def _submission(body: bytes) -> Submission:
    try:
        return msgspec.json.decode(body, type=Submission)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Misused(f"the body is not a job: {error}") from error


def _check_group(name: str) -> None:
    if group_of(parts().settings, name).topic:
        raise Misused(f"group {name} is a topic, to which this version does not publish")


def _check_store(claimed: StagedAs) -> None:
    """Refuse a staging that this service cannot read, or that is not what the caller says."""
    try:
        found = read_staged(claimed.store)
    except NotFound as error:
        raise Misused(f"the service cannot read the chunks: {error}") from error
    for name in ("records", "chunks", "rejected", "digest"):
        if (said := getattr(claimed, name)) != (is_there := getattr(found, name)):
            raise Misused(
                f"{claimed.store} has {name} {is_there!r}, not {said!r}; stage the records again"
            )


def _new_job(manifest: Manifest, staged: StagedAs) -> NewJob:
    return NewJob(
        id=manifest.job,
        group=manifest.group,
        manifest_json=manifest.model_dump_json(),
        store=staged.store,
        records=staged.records,
        chunks=staged.chunks,
        digest=staged.digest,
        rejected=staged.rejected,
        weight=manifest.weight,
        priority=manifest.priority,
    )
