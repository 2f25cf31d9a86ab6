"""What a job had in the store before it was staged, to take back what its staging has added."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from injector.staging.folder import Folder, remove_empty
from injector.staging.seal import Staged
from injector.staging.unstage import unstage


@dataclass(frozen=True, slots=True)
class Before:
    """Which of the folders above the job's stagings were not there yet."""

    absent: tuple[Path, ...]

    @classmethod
    def staging(cls, job: str, store_url: str) -> "Before":
        """Look at the store before the job is staged."""
        folder = Folder.at(store_url) / job
        return cls(tuple((folder / "staging").absent()))

    def take_back(self, staged: Staged, *, is_named: Callable[[], bool]) -> None:
        """Remove the staging if this run made it and no job names it, and the folders made for it.

        One that another run has made stays: its job may be with a service that nobody asks here.
        """
        if not staged.is_new:
            return
        unstage(staged.store, is_named=is_named)
        remove_empty(self.absent)
