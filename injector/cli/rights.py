"""What `injector doctor` says of rights: who lacks which, and the command that gives it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from itertools import groupby

from injector.cli.client import Json
from injector.cli.finding import Finding, ok
from injector.delivery.ports import QueueAdmin
from injector.errors import InjectorError, NotFound
from injector.groups import Group
from injector.queues.rights import lacks_of
from injector.staging.rights import STAGES, lacking

STAGER = "roles/storage.objectUser"


def lacks_seen_by(admin: QueueAdmin, group: Group) -> Sequence[Json]:
    """Return what this machine's credentials lack, as the service shows what its own lack."""
    return [asdict(lack) for lack in lacks_of(group, admin)]


def judged(group: str, look: Callable[[], Sequence[Json]], who: str) -> Iterator[Finding]:
    """Judge what someone may do with a group's queues: a finding for each permission lacking."""
    name = f"rights on group {group}"
    try:
        lacks = look()
    except NotFound as error:
        yield Finding(name, "doubt", str(error), "the service is of an older version")
        return
    except InjectorError as error:
        yield Finding(name, "doubt", f"they could not be asked for: {error}", "see the message")
        return
    for permission, alike in groupby(sorted(lacks, key=_permission), key=_permission):
        yield _fault(name, who, permission, list(alike))
    if not lacks:
        yield ok(name, f"{who} may do all that it must")


def own_store(url: str) -> Iterator[Finding]:
    """Judge what this machine may do with the bucket of the chunks; other stores have no rights."""
    if not url.startswith(("gs://", "gcs://")):
        return
    name = "rights on the store"
    try:
        lacks = lacking(url, STAGES)
    except InjectorError as error:
        yield Finding(name, "doubt", f"they could not be asked for: {error}", "see the message")
        return
    if lacks:
        said = f"this machine lacks {', '.join(lacks)} on the bucket of {url}"
        yield Finding(name, "fault", said, f"run `{_command(url, STAGER)}`")
    else:
        yield ok(name, "this machine may do all that it must")


def _permission(lack: Json) -> str:
    return str(lack["permission"])


def _fault(name: str, who: str, permission: str, lacks: Sequence[Json]) -> Finding:
    first, role = str(lacks[0]["resource"]), str(lacks[0]["role"])
    others = "one other" if len(lacks) == 2 else f"{len(lacks) - 1} others"
    rest = f", and on {others}" if len(lacks) > 1 else ""
    mend = f"if it exists, run `{_command(first, role)}`"
    mend += " for each, or give the account the role on the project" if rest else ""
    return Finding(name, "fault", f"{who} lacks {permission} on {first}{rest}", mend)


def _command(resource: str, role: str) -> str:
    """Return the command that gives the role; whose account it is, only a person knows."""
    to = f"--member=serviceAccount:ACCOUNT --role={role}"
    _, is_url, path = resource.partition("://")
    if is_url:
        bucket = path.partition("/")[0]
        return f"gcloud storage buckets add-iam-policy-binding gs://{bucket} {to}"
    _, project, _, location, _, queue = resource.split("/")
    where = f"--location={location} --project={project}"
    return f"gcloud tasks queues add-iam-policy-binding {queue} {where} {to}"
