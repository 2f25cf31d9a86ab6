"""Turns that one process at a time may hold."""

from sqlalchemy import Connection, delete, or_, update

from injector.ledger.database import Database
from injector.ledger.statements import add_new
from injector.ledger.tables import leases


class LeaseTable:
    """The turns."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def acquire(self, name: str, owner: str, *, now: float, ttl_s: float) -> bool:
        """Take or renew the turn until now + ttl_s; False while another owner holds it."""
        return self._database.write(
            lambda connection: _acquire(connection, name, owner, now=now, ttl_s=ttl_s)
        )

    def release(self, name: str, owner: str) -> None:
        """Give the turn back; nothing happens when another owner holds it."""
        own = delete(leases).where(leases.c.name == name, leases.c.owner == owner)
        self._database.write(lambda connection: connection.execute(own))


def _acquire(connection: Connection, name: str, owner: str, *, now: float, ttl_s: float) -> bool:
    turn = {"owner": owner, "until": now + ttl_s}
    if add_new(connection, leases, turn | {"name": name}):
        return True
    free = or_(
        leases.c.owner == owner,
        leases.c.until <= now,
        leases.c.until > now + 2 * ttl_s,  # granted by a clock that was set back since
    )
    take = update(leases).where(leases.c.name == name, free)
    return connection.execute(take, turn).rowcount == 1
