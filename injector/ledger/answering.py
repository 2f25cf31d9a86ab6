"""What the ledger can be asked of answers that were given before."""

from typing import Protocol

from injector.ledger.values import Given


class Answers(Protocol):
    """Answers that were given to requests marked with a key."""

    def begin(self, key: str, question: str, *, now: float, patience_s: float) -> Given | None:
        """Take the key for a question; return what there is for it, None when it is new.

        One begun over `patience_s` ago and never answered was lost with its process, and begins
        anew. Raises `Conflict` when the key was used for another question.
        """

    def give(self, key: str, given: Given) -> None:
        """Keep the answer."""

    def drop(self, key: str) -> None:
        """Forget the key: nothing was done, and the next try is a new one."""

    def forget(self, *, before: float) -> None:
        """Remove the answers that were asked for before then."""
