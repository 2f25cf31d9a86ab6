"""What a job had in the store before it was staged, to take back what its staging has added."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from injector.staging.folder import Folder, remove_empty
from injector.staging.seal import Staged
from injector.staging.unstage import unstage


@dataclass(frozen=True, slots=True)
class Before:
    """The stagings that the job had, and which of the folders above them were not there yet."""

    stagings: frozenset[str]
    absent: tuple[Path, ...]

    @classmethod
    def staging(cls, job: str, store_url: str) -> "Before":
        """Look at the store before the job is staged."""
        folder = Folder.at(store_url) / job
        return cls(frozenset(folder.names()), tuple((folder / "staging").absent()))

    def take_back(self, staged: Staged, *, is_named: Callable[[], bool]) -> None:
        """Remove the staging if it is new and no job names it, and the folders made for it."""
        if staged.store.rpartition("/")[2] in self.stagings:
            return
        unstage(staged.store, is_named=is_named)
        remove_empty(self.absent)
