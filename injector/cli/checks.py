"""What `injector doctor` looks at, each check with what would mend it."""

import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import cached_property, partial
from pathlib import Path
from shutil import rmtree

import requests
from google.auth.exceptions import GoogleAuthError
from google.auth.transport.requests import Request

from injector.cli.client import Json, Service
from injector.cli.finding import Finding, ok
from injector.cli.rights import judged, lacks_seen_by, own_store
from injector.cli.seen import seen_by
from injector.delivery.credentials import application_default
from injector.errors import InjectorError, Misused, NotFound, Refused
from injector.ledger.schema import version_of
from injector.ledger.tables import REVISION
from injector.queue_names import so_many
from injector.queues.access import admin_at, topics_at
from injector.settings import Settings
from injector.staging.folder import Folder, remove_empty

SKEW_S = 5.0
ROLES = (
    "grant its account roles/cloudtasks.queueAdmin on the injector queues, and "
    "roles/cloudtasks.enqueuer, roles/cloudtasks.taskDeleter and roles/cloudtasks.viewer on the "
    "group's, or roles/pubsub.publisher on the group's topic"
)
PUBLISHER = "roles/pubsub.publisher on the topic that INJECTOR_EVENTS_TOPIC names"


@dataclass
class Checks:
    """The checks of one machine against one service, in the order in which they build up."""

    settings: Settings
    service: Service

    def run(self) -> Iterator[Finding]:
        """Run all of them; what one cannot see, it says."""
        steps = (
            self._credentials,
            self._service,
            self._caller,
            self._clock,
            self._ledger,
            self._store,
            self._queues,
            self._rights,
            self._events,
        )
        for step in steps:
            yield from step()

    @cached_property
    def _health(self) -> requests.Response | None:
        with suppress(InjectorError):
            return self.service.health()
        return None

    @cached_property
    def _without_token(self) -> str:
        """Return why there is no token to call the service with; empty where one is at hand."""
        try:
            self.service.identity()
        except Misused as error:
            return str(error)
        return ""

    @cached_property
    def _groups(self) -> Sequence[Json]:
        """Return the groups as the service knows them; none where it does not say."""
        with suppress(InjectorError):
            return self.service.groups()
        return ()

    def _credentials(self) -> Iterator[Finding]:
        name, emulator = "credentials", self.settings.emulator_host
        if emulator:
            yield ok(name, f"none are needed for the emulator at {emulator}")
            yield from (Finding(name, "doubt", words) for words in self.settings.warnings())
            return
        try:
            application_default().refresh(Request())
        except Misused as error:
            yield Finding(name, "doubt", "none on this machine", str(error))
        except GoogleAuthError as error:
            yield Finding(
                name,
                "fault",
                f"they cannot be refreshed: {error}",
                "run `gcloud auth application-default login`",
            )
        else:
            yield ok(name, "application default credentials are found and fresh")

    def _service(self) -> Iterator[Finding]:
        name, url = "service", self.service.url
        if self._without_token:
            yield Finding(name, "doubt", f"{url} is not asked without a token", "see caller")
        elif self._health is None:
            mend = "start it (injector up, injector serve), or name another: INJECTOR_SERVICE_URL"
            yield Finding(name, "fault", f"{url} cannot be reached", mend)
        elif not self._health.ok:
            said = f"{url} is not ready: {_detail(self._health)}"
            yield Finding(name, "fault", said, "look at its log")
        else:
            yield ok(name, f"{url} is ready, and its ledger answers")

    def _caller(self) -> Iterator[Finding]:
        if self._without_token:
            yield Finding("caller", "fault", self._without_token, self._token_remedy)
            return
        if self._health is None:
            return
        try:
            next(self.service.jobs(), None)
        except Refused as error:
            yield Finding("caller", "fault", str(error), self._token_remedy)
        except InjectorError as error:
            yield Finding("caller", "fault", str(error), "look at the service's log")
        else:
            yield ok("caller", "the service lets you in")

    @property
    def _token_remedy(self) -> str:
        return (
            "set INJECTOR_IMPERSONATE=ACCOUNT, or export INJECTOR_TOKEN=$(gcloud auth "
            "print-identity-token --impersonate-service-account=ACCOUNT --include-email "
            f"--audiences={self.service.url}); ACCOUNT is a service account that is named in the "
            "service's INJECTOR_PEOPLE, for which you have roles/iam.serviceAccountTokenCreator"
        )

    def _clock(self) -> Iterator[Finding]:
        date = self._health.headers.get("Date") if self._health is not None else None
        if date is None:
            return
        skew_s = abs(parsedate_to_datetime(date).timestamp() - time.time())
        if skew_s > SKEW_S:
            said = f"this clock and the service's are {skew_s:.0f} s apart"
            yield Finding("clock", "fault", said, "set both by NTP, since schedules go by them")
        else:
            yield ok("clock", "it agrees with the service's")

    def _ledger(self) -> Iterator[Finding]:
        """Look at the ledger from here only where this machine is told of one."""
        if "ledger_url" not in self.settings.model_fields_set:
            return
        try:
            found = version_of(self.settings.ledger_url)
        except InjectorError as error:
            yield Finding("ledger", "fault", str(error), "see the message")
            return
        if found == REVISION:
            yield ok("ledger", f"its tables are of version {found}")
        else:
            said = f"its tables are of version {found or 'none'}; this program wants {REVISION}"
            yield Finding("ledger", "fault", said, "run `injector db upgrade`")

    def _store(self) -> Iterator[Finding]:
        url, name = self.settings.store_url, f".doctor-{secrets.token_hex(4)}"
        try:
            whole = _gives_back(Folder.at(url) / name)
        except (InjectorError, OSError, ImportError) as error:
            mend = (
                "give it in INJECTOR_STORE_URL; a bucket needs the extra gcs, and "
                "roles/storage.objectAdmin for you and the service"
            )
            yield Finding("store", "fault", f"{url} cannot be written: {error}", mend)
            return
        if whole:
            yield ok("store", f"{url} can be written, read and cleared")
        else:
            said = f"{url} does not give back what was written"
            yield Finding("store", "fault", said, "look at the storage")

    def _queues(self) -> Iterator[Finding]:
        if self._groups:
            for group in self._groups:
                name = str(group["name"])
                yield from self._queues_of(name, partial(self.service.queues, name))
        elif self.settings.groups:
            yield from self._queues_from_here()
        else:
            mend = "set INJECTOR_GROUPS for the service, or start it"
            yield Finding("queues", "doubt", "no groups are known here", mend)

    def _queues_from_here(self) -> Iterator[Finding]:
        """Look at the queues with the credentials of this machine."""
        own, pubsub = self.settings.emulator_host or "", self.settings.pubsub_host
        with admin_at(own) as admin, topics_at(pubsub) as topics:
            for name, group in self.settings.groups.items():
                yield from self._queues_of(name, partial(seen_by, admin, group, topics))

    def _queues_of(self, name: str, look: Callable[[], Sequence[Json]]) -> Iterator[Finding]:
        """Judge the queues of a group: there, running, and how fast they may go."""
        place = f"group {name}"
        try:
            queues = look()
        except NotFound as error:
            yield Finding(place, "doubt", str(error), "the service is of an older version")
            return
        except InjectorError as error:
            yield Finding(place, "fault", str(error), "")
            return
        wrong = [queue for queue in queues if queue["problem"]]
        for queue in wrong:
            said = str(queue["problem"])
            mend = ROLES if "PERMISSION_DENIED" in said else "see the message"
            yield Finding(place, "fault", said, mend)
        if not wrong:
            yield ok(place, _limits(queues))

    def _rights(self) -> Iterator[Finding]:
        """Ask what the service may not do, or where there is none, what this machine may not."""
        store = self.settings.store_url
        yield from own_store(store)
        if self._groups:
            for group in self._groups:
                name = str(group["name"])
                yield from judged(name, partial(self.service.rights, name), "the service")
        elif self.settings.groups:
            with admin_at(self.settings.emulator_host or "") as admin:
                for name, known in self.settings.groups.items():
                    look = partial(lacks_seen_by, admin, known)
                    yield from judged(name, look, "this machine")

    def _events(self) -> Iterator[Finding]:
        """Look at the topic of events, with the credentials of this machine."""
        if not (topic := self.settings.events_topic):
            return
        try:
            with topics_at(self.settings.pubsub_host) as topics:
                topics.look(topic)
        except InjectorError as error:
            mend = f"see the message; the service's account needs {PUBLISHER}"
            yield Finding("events", "fault", str(error), mend)
        else:
            yield ok("events", f"topic {topic} can be published to")


def _gives_back(folder: Folder) -> bool:
    """Say whether the folder keeps what is written there; nothing of it is left, come what may."""
    made = (folder / "probe").absent()
    try:
        folder.put("probe", b"x")
        try:
            return folder.read("probe") == b"x"
        finally:
            folder.remove()
    finally:
        _take_away(made)


def _take_away(made: Sequence[Path]) -> None:
    """Remove the probe's folder, the first, and those above that nothing else is in meanwhile."""
    for probe in made[:1]:
        rmtree(probe, ignore_errors=True)
    remove_empty(made[1:])


def _limits(seen: Sequence[Mapping[str, object]]) -> str:
    queues = [queue for queue in seen if queue["rate"] is not None]
    topic = "; its topic can be published to" if len(queues) < len(seen) else ""
    rates = sorted({float(str(queue["rate"])) for queue in queues})
    most = sorted({int(str(queue["concurrency"])) for queue in queues})
    return (
        f"{so_many(len(queues))} running, with {_span(rates)} dispatches/s and "
        f"{_span(most)} at once{topic}"
    )


def _span(values: Sequence[float]) -> str:
    first, last = values[0], values[-1]
    return f"{first:g}" if first == last else f"{first:g} to {last:g}"


def _detail(answer: requests.Response) -> str:
    try:
        return str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return str(answer.status_code)
