"""The identity of a record by its content."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from injector.manifest.identity import canonical

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8"), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=12,
)


def shuffled(value):
    if isinstance(value, dict):
        return {key: shuffled(value[key]) for key in reversed(value)}
    return [shuffled(item) for item in value] if isinstance(value, list) else value


@given(JSON)
def test_order_of_fields_spaces_and_escapes_do_not_matter(value):
    compact = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    loose = json.dumps(shuffled(value), ensure_ascii=True, indent=2).encode()
    assert canonical(compact) == canonical(loose)


@given(JSON)
def test_canonical_text_is_json_of_the_same_value(value):
    assert json.loads(canonical(json.dumps(value).encode())) == value


@given(JSON, JSON)
def test_other_content_is_another_identity(one, other):
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (canonical(json.dumps(one).encode()) == canonical(json.dumps(other).encode())) is same


@pytest.mark.parametrize(("one", "other"), [("1.0", "1"), ("1e2", "100"), ("-0", "0")])
def test_numbers_are_their_source_text(one, other):
    assert canonical(f'{{"a": {one}}}'.encode()) != canonical(f'{{"a": {other}}}'.encode())


def test_composed_and_decomposed_letters_are_two_contents():
    assert canonical('"\u00e9"'.encode()) != canonical('"e\u0301"'.encode())
