"""What is staged for a job, and of no use once the job is not registered."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import msgspec

from injector.cli.client import Json, Service
from injector.cli.output import say
from injector.errors import InjectorError, Misused, Refused
from injector.manifest.schema import Manifest
from injector.staging import Before, Staged


@dataclass(slots=True)
class Registering:
    """A staging on its way to become a job's; it `stays` once it is one, or may be one."""

    service: Service
    staged: Staged
    stays: bool = False
    _unknown: int = 0

    def register(
        self, manifest: Manifest, *, parent: str = "", keeps_names: bool = False
    ) -> tuple[Json, bool]:
        """Register the job; return it, and whether it is new."""
        facts: Json = msgspec.to_builtins(self.staged)
        del facts["rejects"], facts["is_new"]  # each chunk's receipt lists its own rejects
        document = manifest.model_dump(mode="json")
        service = replace(self.service, announce=self._not_taken)
        self.stays = True
        try:
            job, is_new = service.register(document, facts, parent=parent, keeps_names=keeps_names)
        except (Misused, Refused):
            self.stays = self._unknown > 0
            if self.stays:
                say(
                    f"injector: its chunks stay at {self.staged.store}: an attempt before may yet "
                    "register the job",
                    stderr=True,
                )
            raise
        self.stays = job.get("store", self.staged.store) == self.staged.store
        return job, is_new

    def _not_taken(self, message: str) -> None:
        """Count an attempt that is made again: nobody knows what became of it."""
        self._unknown += 1
        self.service.announce(message)


@contextmanager
def registering(service: Service, staged: Staged, before: Before) -> Iterator[Registering]:
    """Give what registers the job; take back what was staged if it is refused, or not wished.

    So it is if anything else fails before the service is asked. Where nobody knows whether the
    job is registered, the chunks stay: it may be about to read them.
    """
    found = Registering(service, staged)
    try:
        yield found
    finally:
        if not found.stays:
            _take_back(found, before)


def _take_back(found: Registering, before: Before) -> None:
    store = found.staged.store
    jobs = found.service.jobs
    try:
        before.take_back(found.staged, is_named=lambda: any(jobs(staging=store.rpartition("/")[2])))
    except InjectorError as error:
        say(f"injector: its chunks stay at {store}: {error}", stderr=True)
