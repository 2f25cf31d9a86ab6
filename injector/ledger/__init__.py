"""The durable record of jobs, chunks and decisions."""

from injector.ledger.opening import Ledger, open_ledger
from injector.ledger.schema import upgrade

__all__ = ["Ledger", "open_ledger", "upgrade"]
