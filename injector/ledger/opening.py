"""The ledger as a whole."""

from dataclasses import dataclass

from sqlalchemy import text

from injector.ledger.answers import AnswerTable
from injector.ledger.database import Database
from injector.ledger.engines import parse_url
from injector.ledger.event_marks import EventMarkTable
from injector.ledger.groups import GroupTable
from injector.ledger.jobs import JobTable
from injector.ledger.leases import LeaseTable
from injector.ledger.notices import NoticeTable
from injector.ledger.operations import OperationTable
from injector.ledger.receipts import ReceiptTable
from injector.ledger.signals import SignalTable
from injector.ledger.takebacks import TakeBackTable


@dataclass(frozen=True, slots=True)
class Ledger:
    """The ledger's parts over one database, as `injector.ledger.ports` describes them."""

    database: Database
    jobs: JobTable
    receipts: ReceiptTable
    signals: SignalTable
    groups: GroupTable
    leases: LeaseTable
    takebacks: TakeBackTable
    notices: NoticeTable
    answers: AnswerTable
    operations: OperationTable
    event_marks: EventMarkTable

    def ping(self) -> None:
        """Ask the database for an answer; raises what any call may."""
        self.database.read(lambda connection: connection.scalar(text("SELECT 1")))

    def close(self) -> None:
        """Close this process's connections; the next call opens new ones."""
        self.database.close()


def open_ledger(url: str, *, patience_s: float = 20.0) -> Ledger:
    """Return the ledger at sqlite:///PATH, sqlite:// (in memory) or postgresql://….

    Nothing is opened before the first call, and then anew in each process. A SQLite ledger is
    made, or led to the present tables, by that call; one in PostgreSQL must be there already.
    `patience_s` bounds how long a call tries again while the database is busy or away. Raises
    Misused for a URL that it cannot use.
    """
    database = Database(parse_url(url), patience_s=patience_s)
    return Ledger(
        database,
        JobTable(database),
        ReceiptTable(database),
        SignalTable(database),
        GroupTable(database),
        LeaseTable(database),
        TakeBackTable(database),
        NoticeTable(database),
        AnswerTable(database),
        OperationTable(database),
        EventMarkTable(database),
    )
