"""What is staged for a job, and of no use once the job is not registered."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import click
import msgspec

from injector.cli.client import Json, Service
from injector.cli.output import say
from injector.errors import InjectorError, Misused
from injector.manifest.schema import Manifest
from injector.staging import Before, Staged


@dataclass(slots=True)
class Registering:
    """A staging on its way to become a job's; `is_taken` once it is."""

    service: Service
    staged: Staged
    is_taken: bool = False

    def register(
        self, manifest: Manifest, *, parent: str = "", keeps_names: bool = False
    ) -> tuple[Json, bool]:
        """Register the job; return it, and whether it is new."""
        facts: Json = msgspec.to_builtins(self.staged)
        del facts["rejects"], facts["is_new"]  # each chunk's receipt lists its own rejects
        document = manifest.model_dump(mode="json")
        job, is_new = self.service.register(document, facts, parent=parent, keeps_names=keeps_names)
        self.is_taken = job.get("store", self.staged.store) == self.staged.store
        return job, is_new


@contextmanager
def registering(service: Service, staged: Staged, before: Before) -> Iterator[Registering]:
    """Give what registers the job; take back what was staged if it is refused, or not wished.

    Where nobody knows whether it is registered, the chunks stay: a job may be about to read them.
    """
    found = Registering(service, staged)
    try:
        yield found
    except (Misused, click.Abort):
        _take_back(found, before)
        raise
    if not found.is_taken:
        _take_back(found, before)


def _take_back(found: Registering, before: Before) -> None:
    store = found.staged.store
    jobs = found.service.jobs
    try:
        before.take_back(found.staged, is_named=lambda: any(jobs(staging=store.rpartition("/")[2])))
    except InjectorError as error:
        say(f"injector: its chunks stay at {store}: {error}", stderr=True)
