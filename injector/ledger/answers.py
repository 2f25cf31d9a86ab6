"""Answers that were given to requests marked with a key, so that a repeat gets the same."""

from functools import partial

from sqlalchemy import Connection, delete, select, update

from injector.errors import Conflict
from injector.ledger.database import Database
from injector.ledger.statements import add_new
from injector.ledger.tables import answers
from injector.ledger.values import Given


class AnswerTable:
    """The answers of the last day."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, key: str, question: str, *, now: float, patience_s: float) -> Given | None:
        """Take the key for a question; return what there is for it, None when it is new.

        One begun over `patience_s` ago and never answered was lost with its process, and begins
        anew. Raises Conflict when the key was used for another question.
        """
        row = {"key": key, "question": question, "at": now, "status": None, "body": ""}
        return self._database.write(partial(_begin, row=row, lost_before=now - patience_s))

    def give(self, key: str, given: Given) -> None:
        """Keep the answer."""
        change = update(answers).where(answers.c.key == key)
        row = {"status": given.status, "body": given.body}
        self._database.write(lambda connection: connection.execute(change, row))

    def drop(self, key: str) -> None:
        """Forget the key: nothing was done, and the next try is a new one."""
        mine = delete(answers).where(answers.c.key == key, answers.c.status.is_(None))
        self._database.write(lambda connection: connection.execute(mine))

    def forget(self, *, before: float) -> None:
        """Remove the answers that were asked for before then."""
        old = delete(answers).where(answers.c.at < before)
        self._database.write(lambda connection: connection.execute(old))


def _begin(connection: Connection, *, row: dict[str, object], lost_before: float) -> Given | None:
    if add_new(connection, answers, row):
        return None
    here = answers.c.key == row["key"]
    kept = connection.execute(select(answers).where(here).with_for_update()).one()
    if kept.question != row["question"]:
        raise Conflict("this Idempotency-Key was used for another request; take a new one")
    if kept.status is None and kept.at < lost_before:
        connection.execute(update(answers).where(here), row)
        return None
    return Given(kept.status, kept.body)
