"""Which chunks of a range are not settled, found in the index without reading the settled ones."""

from sqlalchemy import Connection, bindparam, func, select, union_all

from injector.ledger.tables import receipts

_SETTLED_IN_RANGE = (
    (receipts.c.job == bindparam("key"))
    & (receipts.c.chunk >= bindparam("first"))
    & (receipts.c.chunk < bindparam("past"))
    & receipts.c.settled
)
_COUNT = select(func.count()).select_from(receipts).where(_SETTLED_IN_RANGE)

# A gap is what lies between a settled chunk and the next one; the range's edges count as such.
_edges = union_all(
    select((bindparam("first", type_=receipts.c.chunk.type) - 1).label("chunk")),
    select(receipts.c.chunk).where(_SETTLED_IN_RANGE),
).subquery()
_pairs = select(
    _edges.c.chunk,
    func.lead(_edges.c.chunk, 1, bindparam("past", type_=receipts.c.chunk.type))
    .over(order_by=_edges.c.chunk)
    .label("next"),
).subquery()
_GAPS = (
    select((_pairs.c.chunk + 1).label("first"), _pairs.c.next.label("past"))
    .where(_pairs.c.next > _pairs.c.chunk + 1)
    .order_by(_pairs.c.chunk)
    .limit(bindparam("limit"))
)


def gaps(
    connection: Connection, key: int, first: int, past: int, *, limit: int
) -> list[tuple[int, int]]:
    """Return the first `limit` ranges of chunks in first … past - 1 that are not settled.

    Counting is ten times as cheap as looking for the gaps, and mostly there are none.
    """
    place = {"key": key, "first": first, "past": past}
    if connection.scalar(_COUNT, place) == past - first:
        return []
    rows = connection.execute(_GAPS, place | {"limit": limit})
    return [(row.first, row.past) for row in rows]
