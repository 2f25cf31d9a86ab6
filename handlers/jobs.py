"""The jobs: registered, listed and shown."""

import json
from collections.abc import Mapping
from contextlib import suppress

from flask import Blueprint, Response
from pydantic import JsonValue

from handlers.access import caller
from handlers.asking import body, query
from handlers.context import parts
from handlers.logs import event
from handlers.models import (
    AuditList,
    AuditQuery,
    AuditShown,
    JobList,
    JobsQuery,
    RejectList,
    RejectShown,
    RejectsQuery,
    StagedAs,
    Submission,
)
from handlers.once import once
from handlers.parts import group_of
from handlers.views import answer, audit_view, viewer
from injector.errors import Misused, NotFound, Retryable
from injector.ledger.ports import Job, JobState, NewJob
from injector.manifest import Manifest, check_destination, parse_manifest
from injector.manifest.schema import Notify
from injector.queues.preflight import look_at_topic
from injector.staging import is_below, read_staged

MAX_BODY = 1024 * 1024
_SHOWN = 200

jobs = Blueprint("jobs", __name__)


@jobs.post("/jobs")
@once
def register() -> Response:
    """Register a job: 201 when it is new, 200 when it is there already, 409 with other content."""
    submission = body(Submission, limit=MAX_BODY, name="a job")
    manifest = _manifest(submission.manifest)
    check_destination(manifest, group_of(parts().settings, manifest.group))
    if manifest.notify and not _is_known(manifest.job):
        _check_notify(manifest.notify)
    job = _new_job(manifest, submission)
    _check_store(submission.staged)  # last: whoever takes chunks back removes their seal first
    now, ledger = parts().clock.now(), parts().ledger
    is_new = ledger.jobs.register(job, now=now, who=caller().name)
    if is_new:
        event("job.registered", job=job.id, group=job.group, records=job.records)
    shown = viewer(parts()).job(ledger.jobs.get(job.id))
    return answer(shown, 201 if is_new else 200, Location=f"/jobs/{job.id}")


@jobs.get("/jobs")
def listed() -> Response:
    """List jobs, newest first."""
    asked = query(JobsQuery)
    found = parts().ledger.jobs.list(
        after=asked.after,
        limit=asked.limit,
        state=JobState(asked.state) if asked.state else None,
        staging=asked.staging,
    )
    view = viewer(parts())
    following = found[-1].id if len(found) == asked.limit else None
    return answer(JobList(jobs=[view.job(job) for job in found], next=following))


@jobs.get("/jobs/<job_id>")
def shown(job_id: str) -> Response:
    """Show a job."""
    return answer(viewer(parts()).job(parts().ledger.jobs.get(job_id)))


@jobs.get("/jobs/<job_id>/manifest")
def manifest(job_id: str) -> Response:
    """Show the manifest that a job was submitted with."""
    text = parts().ledger.jobs.get(job_id).manifest_json
    return Response(text, content_type="application/json")


@jobs.get("/jobs/<job_id>/rejects")
def rejects(job_id: str) -> Response:
    """List the records that were refused for good, in the source's order."""
    asked = query(RejectsQuery)
    found = parts().ledger.jobs.rejects(job_id, after=asked.after, limit=asked.limit)
    following = found[-1].ordinal if len(found) == asked.limit else None
    shown = [RejectShown.model_validate(reject, from_attributes=True) for reject in found]
    return answer(RejectList(rejects=shown, next=following))


@jobs.get("/jobs/<job_id>/audit")
def audit(job_id: str) -> Response:
    """List who changed what of a job, newest first; it outlives the job."""
    asked = query(AuditQuery)
    found = parts().ledger.jobs.audit(job_id, limit=asked.limit, before=asked.after or None)
    if not (found or asked.after):
        raise NotFound(f"there is, and was, no job {job_id!r}")
    shown = [AuditShown.model_validate(audit_view(line), from_attributes=True) for line in found]
    following = found[-1].id if len(found) == asked.limit else None
    return answer(AuditList(changes=shown, next=following))


def _manifest(value: Mapping[str, JsonValue]) -> Manifest:
    return parse_manifest(json.dumps(value))


def _is_known(job_id: str) -> bool:
    """Tell whether the job is there: then to submit it again changes nothing, whatever is gone."""
    with suppress(NotFound):
        return bool(parts().ledger.jobs.get(job_id))
    return False


def _check_notify(notify: Notify) -> None:
    """Refuse a webhook that is never called, and a topic that cannot be published to."""
    if notify.webhook:
        parts().webhooks.check(notify.webhook)
    if notify.topic:
        with suppress(Retryable):  # nobody can say now: the notice is tried for a day
            seen = look_at_topic(notify.topic, parts().topics)
            if seen.problem:
                raise Misused(f"notify.topic: {seen.problem}")


def _check_store(claimed: StagedAs) -> None:
    """Refuse a staging that this service cannot read, or that is not what the caller says.

    Only its own store is looked into: a caller could else have it read any file or address.
    """
    own = parts().settings.store_url
    if not is_below(claimed.store, own):
        raise Misused(
            f"{claimed.store[:_SHOWN]} is not below this service's store {own}; stage the records "
            f"there: set --store or INJECTOR_STORE_URL to {own}"
        )
    try:
        found = read_staged(claimed.store, parts().reach)
    except NotFound as error:
        raise Misused(f"the service cannot read the chunks: {error}") from error
    for name in ("records", "chunks", "rejected", "digest"):
        if (said := getattr(claimed, name)) != (is_there := getattr(found, name)):
            raise Misused(
                f"{claimed.store} has {name} {is_there!r}, not {said!r}; stage the records again"
            )


def _new_job(manifest: Manifest, submission: Submission) -> NewJob:
    staged = submission.staged
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
        parent=submission.parent,
        named_after=_named_after(manifest, submission),
        notify=manifest.notify.address if manifest.notify else "",
    )


def _named_after(manifest: Manifest, submission: Submission) -> str:
    """Return the job by which the tasks are named; empty for the job itself."""
    parent = _parent(submission)
    if not (parent and submission.keeps_names):
        return ""
    if parent.group != manifest.group:
        raise Misused(
            f"job {parent.id} is in group {parent.group}; a name is one task only in its own "
            f"queues, so keep the group, or give the tasks new names"
        )
    return parent.names


def _parent(submission: Submission) -> Job | None:
    if not submission.parent:
        return None
    try:
        return parts().ledger.jobs.get(submission.parent)
    except NotFound as error:
        raise Misused(f"the parent is missing: {error}") from error
