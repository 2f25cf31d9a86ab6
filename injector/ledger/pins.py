"""Which layout of its group's queues each chunk was first fed under.

A pin is a row, a range of chunks, so there are as many as the layout has changed while a job was
fed. Pins go by the job that the tasks are named after: a job that sends another's records again
finds them in the queues that they had.
"""

from sqlalchemy import Connection, and_, delete, insert, or_, select, update

from injector.ledger.lookup import clean
from injector.ledger.tables import jobs, pins
from injector.ledger.values import Pin


def pin(connection: Connection, names: str, past: int, layout: str) -> None:
    """Pin the chunks up to `past` that have no layout yet, in turn with whoever does the same."""
    connection.execute(select(jobs.c.key).where(jobs.c.id == names).with_for_update())
    last = next(reversed(load_pins(connection, names)), None)
    first = last.past if last else 0
    if first >= past:
        return
    if last and last.layout == layout:
        here = (pins.c.names == names) & (pins.c.first == last.first)
        connection.execute(update(pins).where(here).values(past=past))
    else:
        row = {"names": names, "first": first, "past": past, "layout": layout}
        connection.execute(insert(pins), row)


def load_pins(connection: Connection, names: str) -> list[Pin]:
    """Return the pins in the order of their chunks."""
    c = pins.c
    query = select(c.first, c.past, c.layout).where(c.names == clean(names)).order_by(c.first)
    return [Pin(*row) for row in connection.execute(query)]


def unpin(connection: Connection, *names: str) -> None:
    """Forget the pins of these jobs, unless some job's tasks still go by their names."""
    for name in names:
        by_it = or_(jobs.c.id == name, and_(jobs.c.named_after == name, jobs.c.id.is_not(None)))
        if connection.scalar(select(jobs.c.key).where(by_it).limit(1)) is None:
            connection.execute(delete(pins).where(pins.c.names == name))
