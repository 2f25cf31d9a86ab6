from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from injector.errors import Rejected
from injector.ledger.joining import empty, join, pack, unpack
from injector.ledger.values import Receipt

sizes = st.integers(1, 100)


@st.composite
def receipts(draw: st.DrawFn, records: int) -> Receipt:
    masks = st.integers(0, (1 << records) - 1)
    claimed = Receipt("job", 7, records, draw(masks), draw(masks), draw(masks))
    return join(empty(claimed), claimed)


pairs = sizes.flatmap(lambda size: st.tuples(receipts(size), receipts(size)))


@given(pairs)
def test_each_record_has_at_most_one_outcome(pair):
    whole = join(*pair)

    masks = (whole.created_mask, whole.existed_mask, whole.rejected_mask)
    assert sum(mask.bit_count() for mask in masks) == whole.settled_mask.bit_count()


@given(pairs)
def test_what_is_kept_stands_and_what_is_new_is_added(pair):
    kept, more = pair

    whole = join(kept, more)

    assert whole.created_mask & kept.settled_mask == kept.created_mask
    assert whole.existed_mask & kept.settled_mask == kept.existed_mask
    assert whole.rejected_mask & kept.settled_mask == kept.rejected_mask
    assert whole.settled_mask == kept.settled_mask | more.settled_mask


@given(pairs)
def test_joining_again_changes_nothing(pair):
    whole = join(*pair)

    assert join(whole, pair[1]) == join(whole, pair[0]) == whole


@given(pairs)
def test_receipts_that_agree_join_in_any_order(pair):
    one, other = pair
    both = one.settled_mask & other.settled_mask
    assume(all(getattr(one, m) & both == getattr(other, m) & both for m in MASKS))

    assert join(one, other) == join(other, one)


MASKS = ("created_mask", "existed_mask", "rejected_mask")


@given(sizes.flatmap(receipts))
def test_packed_masks_come_back(receipt: Receipt):
    assert unpack("job", 7, receipt.records, pack(receipt)) == receipt


@given(sizes)
def test_plain_receipt_takes_no_space(records: int):
    plain = Receipt("job", 7, records, created_mask=(1 << records) - 1)

    assert pack(plain) is None
    assert len(pack(replace(plain, created_mask=0)) or b"") <= 3 * 13


def test_receipts_of_different_sizes_do_not_join():
    with pytest.raises(Rejected, match="job job chunk 7: a receipt of 3 records"):
        join(Receipt("job", 7, 2), Receipt("job", 7, 3))
