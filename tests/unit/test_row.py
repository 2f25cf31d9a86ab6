"""The fields of a record."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from injector.errors import Rejected
from injector.manifest.row import row_reader

NAMES = st.text(st.characters(codec="utf-8"), max_size=5)
SCALARS = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(max_size=5)


@given(st.dictionaries(NAMES, SCALARS), st.lists(NAMES, unique=True, max_size=5), st.booleans())
def test_each_field_that_is_there_is_its_own_json_text(record, names, escape):
    raw = json.dumps(record, ensure_ascii=escape).encode()
    row = row_reader(tuple(names))(raw)
    found = [None if value is msgspec.UNSET else bytes(value) for value in row]
    texts = {key: json.dumps(value, ensure_ascii=escape).encode() for key, value in record.items()}
    assert found == [texts.get(name) for name in names]


@pytest.mark.parametrize("names", [("a",), ('a"b', "a"), ()])
@pytest.mark.parametrize("raw", [b"[]", b"null", b"", b'{"a":1', b'{"a":1}x', b'{"z":01}'])
def test_what_is_no_json_object_is_rejected_whatever_is_picked(names, raw):
    with pytest.raises(Rejected, match="is not a JSON object"):
        row_reader(names)(raw)


def test_last_of_two_fields_of_one_name_counts():
    assert [bytes(value) for value in row_reader(("a",))(b'{"a":1,"a":2}')] == [b"2"]
