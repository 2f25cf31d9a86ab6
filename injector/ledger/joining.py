"""How receipts of one chunk become one, and how they are packed; pure."""

from dataclasses import replace

from injector.errors import Rejected
from injector.ledger.values import Receipt


def join(kept: Receipt, more: Receipt) -> Receipt:
    """Add to what is kept those outcomes of `more` whose records have none yet.

    So an outcome once kept stands, whatever a later delivery claims. The rejects and message
    ids returned are the new ones alone. Raises Rejected when the two cannot be of the same chunk.
    """
    if more.records != kept.records:
        raise Rejected(
            f"job {kept.job} chunk {kept.chunk}: a receipt of {more.records} records, "
            f"the one before had {kept.records}"
        )
    created = more.created_mask & kept.open_mask
    existed = more.existed_mask & kept.open_mask & ~created
    rejected = more.rejected_mask & kept.open_mask & ~created & ~existed
    return replace(
        kept,
        created_mask=kept.created_mask | created,
        existed_mask=kept.existed_mask | existed,
        rejected_mask=kept.rejected_mask | rejected,
        rejects=tuple(reject for reject in more.rejects if rejected >> reject.position & 1),
        message_ids=_new_ids(more.message_ids, created),
    )


def _new_ids(ids: tuple[str, ...], created: int) -> tuple[str, ...]:
    if not (ids and created):
        return ()
    return tuple(each if created >> place & 1 else "" for place, each in enumerate(ids))


def empty(receipt: Receipt) -> Receipt:
    """Return the chunk's receipt before anything was settled."""
    return Receipt(receipt.job, receipt.chunk, receipt.records)


def pack(receipt: Receipt) -> bytes | None:
    """Lay the three masks out one after the other; None when every record was created."""
    if receipt.created_mask == (1 << receipt.records) - 1:
        return None
    size = (receipt.records + 7) // 8
    masks = (receipt.created_mask, receipt.existed_mask, receipt.rejected_mask)
    return b"".join(mask.to_bytes(size, "little") for mask in masks)


def unpack(job: str, chunk: int, records: int, masks: bytes | None) -> Receipt:
    """Read what `pack` laid out."""
    if masks is None:
        return Receipt(job, chunk, records, created_mask=(1 << records) - 1)
    size = (records + 7) // 8
    created, existed, rejected = (
        int.from_bytes(masks[start : start + size], "little") for start in (0, size, 2 * size)
    )
    return Receipt(job, chunk, records, created, existed, rejected)
