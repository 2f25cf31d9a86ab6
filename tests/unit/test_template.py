"""URL templates against the reference library, and plain text templates."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from uritemplate import URITemplate

from injector.errors import Rejected
from injector.manifest.row import row_reader
from injector.manifest.template import (
    compile_text,
    compile_url,
    fields_of,
    text_pieces,
    url_pieces,
)

NAMES = ("a", "b_1", "c.d")
TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
SCALARS = TEXT | st.integers() | st.booleans()
VALUES = (
    SCALARS
    | st.lists(TEXT, min_size=1, max_size=3)
    | st.dictionaries(TEXT, TEXT, min_size=1, max_size=3)
)
EXPRESSIONS = st.builds(
    lambda operator, names, modifier: f"{{{operator}{','.join(n + modifier for n in names)}}}",
    st.sampled_from(["", "", "", "+", "#", ".", "/", ";", "?", "&"]),
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True),
    st.sampled_from(["", "", "*", ":3"]),
)
TEMPLATES = st.lists(EXPRESSIONS | st.sampled_from(["/x", "?y=", "%41", "-"]), max_size=5).map(
    "".join
)


def fill_url(template, record):
    pieces = url_pieces(template)
    fields = fields_of(pieces)
    fill = compile_url(pieces, {name: index for index, name in enumerate(fields)})
    return fill(row_reader(fields)(json.dumps(record).encode()))


def fill_text(template, raw):
    pieces = text_pieces(template)
    fields = fields_of(pieces)
    fill = compile_text(pieces, {name: index for index, name in enumerate(fields)})
    return fill(row_reader(fields)(raw))


def as_the_library_wants(value):
    return json.dumps(value) if isinstance(value, bool | int) else value


@given(template=TEMPLATES, record=st.fixed_dictionaries(dict.fromkeys(NAMES, VALUES)))
def test_every_template_fills_as_the_reference_library_fills_it(template, record):
    expected = URITemplate(template).expand(
        {name: as_the_library_wants(value) for name, value in record.items()}
    )
    assert fill_url("https://t.example" + template, record) == "https://t.example" + expected


@given(st.dictionaries(st.sampled_from(NAMES), SCALARS, min_size=3))
def test_simple_expansion_fills_as_the_reference_library_fills_it(record):
    template = "https://t.example/{a}/x/{b_1}?q={c.d}"
    expected = URITemplate(template).expand(
        {name: as_the_library_wants(value) for name, value in record.items()}
    )
    assert fill_url(template, record) == expected


@pytest.mark.parametrize(
    ("number", "written"),
    [
        ("9007199254740993", "9007199254740993"),
        ("653247040368672768", "653247040368672768"),
        ("1.0", "1.0"),
        ("1e2", "1e2"),
        ("1e+2", "1e%2B2"),
        ("-0.10", "-0.10"),
        ("1" * 1000, "1" * 1000),
        ('"\\u00e9"', "%C3%A9"),
        ('"a\\/b"', "a%2Fb"),
        ("true", "true"),
        ('"a+b c~d"', "a%2Bb%20c~d"),
    ],
)
def test_value_keeps_its_exact_text(number, written):
    pieces = url_pieces("https://t.example/{id}")
    fill = compile_url(pieces, {"id": 0})
    assert fill([msgspec.Raw(number.encode())]) == f"https://t.example/{written}"


@pytest.mark.parametrize("template", ["https://t/{id}", "https://t/{+id}", "https://t{/id,x}"])
@pytest.mark.parametrize("record", [{}, {"id": None}, {"x": 1}, {"id": []}, {"id": {}}])
def test_missing_field_rejects_the_record_by_the_fields_name(template, record):
    with pytest.raises(Rejected, match="needs a value in 'id'"):
        fill_url(template, record)


def test_empty_field_in_the_path_rejects_the_record_and_in_the_query_does_not():
    with pytest.raises(Rejected, match="needs a value in 'id'"):
        fill_url("https://t/{id}", {"id": ""})
    assert fill_url("https://t/?id={id}", {"id": ""}) == "https://t/?id="


def test_form_style_leaves_missing_fields_out():
    assert fill_url("https://t/{?id,x}", {"x": 1}) == "https://t/?x=1"
    assert fill_url("https://t/{?id}", {"id": None}) == "https://t/"


def test_field_with_a_space_is_named_percent_encoded():
    assert fill_url("https://t/{User%20Id}", {"User Id": "7"}) == "https://t/7"


@given(st.text("{}ab,.?+:*", max_size=12))
def test_braces_are_either_understood_or_refused(template):
    try:
        pieces = url_pieces(template)
    except ValueError:
        return
    assert "".join(piece.text for piece in pieces) == template
    assert not any(set(piece.text) & set("{}") for piece in pieces if not piece.fields)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("Hello {name}!", 'Hello A "B" é!'),
        ('{"id": {id}}', '{"id": 1.0}'),
        ("no hole", "no hole"),
        ("{ name }{}", "{ name }{}"),
        ("{list}", "[1, 2]"),
        ("", ""),
    ],
)
def test_text_template_fills_names_with_exact_text_and_leaves_other_braces(template, text):
    raw = '{"name": "A \\"B\\" é", "id": 1.0, "list": [1, 2]}'.encode()
    assert fill_text(template, raw) == text


def test_missing_field_in_a_text_rejects_the_record():
    with pytest.raises(Rejected, match="needs a value in 'nobody'"):
        fill_text("{nobody}", b"{}")
