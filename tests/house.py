"""A whole service in one process: jobs staged on disk, callers with tokens, queues in memory."""

import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from handlers.app import create_app
from handlers.keys import Fetched, KeySet
from handlers.parts import Parts, job_opener
from injector.delivery.memory_topics import MemoryTopics
from injector.errors import Retryable
from injector.ledger import Ledger, open_ledger
from injector.manifest import load_manifest
from injector.queues.ports import LateTraffic
from injector.settings import Settings
from injector.staging import Source, stage
from tests.bench import GROUP, MANIFEST, ScriptedCreator, queues_of
from tests.moving_clock import MovingClock
from tests.tokens import SERVICE, Signer

QUEUE, SCHEDULER, PERSON = "queue@p.example", "clock@p.example", "ann@p.example"


class Away:
    """A ledger that does not answer."""

    def close(self):
        pass

    def __getattr__(self, name) -> object:
        raise Retryable("the database does not answer")


@dataclass
class House:
    """A service with a job store on disk, callers whose tokens verify, and queues in memory."""

    folder: Path
    signer: Signer
    settings: Settings
    clock: MovingClock = field(default_factory=MovingClock)
    ledger: Ledger = field(default_factory=lambda: open_ledger("sqlite://"))
    creator: ScriptedCreator = field(default_factory=lambda: ScriptedCreator(queues_of(GROUP)))
    topics: MemoryTopics = field(default_factory=MemoryTopics)
    closed: int = 0

    def __post_init__(self) -> None:
        own = {"store_url": str(self.folder / "chunks"), "sources": (str(self.folder),)}
        self.settings = self.settings.model_copy(update=own)

    @cached_property
    def app(self):
        def close():
            self.closed += 1

        parts = Parts(
            settings=self.settings,
            clock=self.clock,
            ledger=self.ledger,
            queues=self.creator.queues,
            open_job=job_opener(self.settings, self.creator_of, self.ledger),
            publisher=self.topics,
            topics=self.topics,
            traffic=LateTraffic(self.settings.platforms_host or "", self.settings.traffic_services),
            close=close,
        )
        keys = KeySet(lambda: Fetched(self.signer.certificates(), 3600), self.clock.monotonic)
        return create_app(self.settings, parts, keys)

    def creator_of(self, _group, manifest):
        return self.topics if manifest.message else self.creator

    def stage(self, records=250, *, bad=(), manifest=MANIFEST):
        """Stage records; return what is POSTed to /jobs."""
        lines = ["?" if n in set(bad) else json.dumps({"n": n}) for n in range(records)]
        source = self.folder / f"users-{records}.jsonl"
        source.write_text("\n".join(lines) + "\n")
        loaded = load_manifest(manifest, source="test")
        staged = stage(Source(str(source)), loaded, str(self.folder / "chunks"), clock=self.clock)
        names = ("store", "records", "chunks", "rejected", "digest")
        return {
            "manifest": loaded.model_dump(mode="json"),
            "staged": {name: getattr(staged, name) for name in names},
        }

    def ask(self, method, path, *, email=PERSON, token=None, headers=(), **request: object):
        token = token or self.signer.token(email)
        all_headers = {"Authorization": f"Bearer {token}"} | dict(headers)
        return self.app.test_client().open(path, method=method, headers=all_headers, **request)

    def get(self, path):
        return self.ask("GET", path)

    def submit(self, submission):
        return self.ask("POST", "/jobs", json=submission)

    def inject(self, body, **request: object):
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.ask("POST", "/inject", email=QUEUE, data=content, **request)

    def tick(self):
        return self.ask("POST", "/control/tick", email=SCHEDULER)

    def dispatch_all(self):
        """Deliver every injector task that is waiting; return the answers."""
        queues = self.creator.queues
        waiting = [c for c in queues.created.values() if c.url == f"{SERVICE}/inject"]
        return [self.inject(create.body) for create in waiting]


def settings_of(**changes: object) -> Settings:
    """Return the settings of a service that verifies its callers."""
    usual = {
        "groups": {"welcome": GROUP},
        "service_url": SERVICE,
        "queue_callers": (QUEUE,),
        "scheduler_callers": (SCHEDULER,),
        "people": (PERSON,),
    }
    return Settings(**(usual | changes))
