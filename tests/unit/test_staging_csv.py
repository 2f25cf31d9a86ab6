import csv
import io
import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from injector.errors import Misused
from injector.staging.delimited import Columns, read_csv

ENDINGS = ["\n", "\r\n", "\r"]


def items(text, *, size=1000, limit=10_000, needed=(), types=None):
    texts = (text[start : start + size] for start in range(0, len(text), size))
    columns = Columns(needed, types or {})
    found = read_csv(texts, columns, limit=limit, name="r.csv")
    return [(line, body) for _, line, body, _ in found]


def records(text, *, size=1000):
    return [(line, json.loads(body)) for line, body in items(text, size=size)]


def fault(text, *, size=1000, limit=10_000, needed=(), types=None):
    with pytest.raises(Misused) as caught:
        items(text, size=size, limit=limit, needed=needed, types=types)
    return str(caught.value)


cells = st.text(alphabet='a",; é😀\u2028\n\x0b', max_size=6)
tables = st.integers(1, 3).flatmap(
    lambda width: st.lists(
        st.lists(cells, min_size=width, max_size=width).filter(lambda row: row != [""]), max_size=5
    )
)


@given(tables, st.sampled_from(ENDINGS), st.sampled_from([1, 2, 3, 64]))
def test_rows_are_the_same_wherever_the_text_is_cut_and_whatever_ends_lines(rows, ending, size):
    names = ["a", "b", "c"][: len(rows[0]) if rows else 1]
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator=ending).writerows([names, *rows])

    found = [body for _, body in records(out.getvalue(), size=size)]

    assert found == [dict(zip(names, row, strict=True)) for row in rows]


@pytest.mark.parametrize("size", [1, 2, 3, 64])
def test_mixed_line_endings_count_as_one_line_each(size):
    text = 'id,name\r1,a\r\n2,"b\r\nc"\n3,"d\re"\r\r\n4,f'

    assert records(text, size=size) == [
        (2, {"id": "1", "name": "a"}),
        (3, {"id": "2", "name": "b\r\nc"}),
        (5, {"id": "3", "name": "d\re"}),
        (8, {"id": "4", "name": "f"}),
    ]


@pytest.mark.parametrize("ending", ENDINGS)
def test_blank_lines_are_no_records_but_are_counted(ending):
    text = ending.join(["", "id,name", "", "1,a", "   ", "2,b", "", ""])

    assert records(text) == [(4, {"id": "1", "name": "a"}), (6, {"id": "2", "name": "b"})]


def test_a_record_keeps_the_order_of_the_header_and_every_cell_stays_text():
    [(_, body)] = items("z,a,n,b,e,nan\n007,1e3,nan,true,,9007199254740993\n")

    assert body == (b'{"z":"007","a":"1e3","n":"nan","b":"true","e":"","nan":"9007199254740993"}')


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
def test_the_delimiter_is_told_from_the_header(delimiter):
    text = delimiter.join(["id", '"na,me"']) + "\n" + delimiter.join(["1", "a b"]) + "\n"

    assert records(text) == [(2, {"id": "1", "na,me": "a b"})]


def test_a_comma_in_the_header_is_the_delimiter_whatever_else_is_there():
    assert records("id;x,name\n1,a;b\n") == [(2, {"id;x": "1", "name": "a;b"})]


@pytest.mark.parametrize("name", ["2026", "2026q1", "e1", "a@b", "true?", "http", "x-2026-11-30"])
def test_a_name_that_only_looks_a_little_like_a_value_is_a_name(name):
    assert records(f"id,{name}\n1,2\n") == [(2, {"id": "1", name: "2"})]


def test_space_around_a_column_name_is_not_part_of_it():
    assert records("id , name\n1, a\n") == [(2, {"id": "1", "name": " a"})]


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("id,name,id", "'id' (column 1) and 'id' (column 3) would be one field"),
        ("id, id", "'id' (column 1) and 'id' (column 2) would be one field"),
        ("ID,id", "'ID' (column 1) and 'id' (column 2) would be one field"),
        ("id,,x", "column 2 has no name"),
        ("17,Ann,x", "column 1 would be called '17'; the first line must name the columns"),
        ("Ann,3.50", "column 2 would be called '3.50'"),
        ("Ann,2026-11-30", "column 2 would be called '2026-11-30'"),
        ("Ann,ann@w.example", "column 2 would be called 'ann@w.example'"),
        ("Ann,https://w.example/", "column 2 would be called 'https://w.example/'"),
        ("Ann,TRUE", "column 2 would be called 'TRUE'"),
        ('id,"na"me', "the header is not CSV"),
    ],
)
def test_a_header_that_would_lose_a_column_is_refused(header, message):
    assert fault(f"{header}\n1,2,3\n").startswith(f"r.csv line 1: {message}")


def test_a_column_that_the_manifest_uses_must_be_there():
    message = fault("id,name\n1,a\n", needed=("user_id",))

    assert "r.csv line 1: has no column 'user_id'" in message
    assert "the columns are id, name" in message


def test_a_type_for_a_column_that_is_not_there_is_refused():
    assert "has no column 'age'" in fault("id,name\n1,a\n", types={"age": "integer"})


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("1", "the cells are 1, not 2 as in the header"),
        ("1,2,3", "the cells are 3, not 2"),
        ('"a"b,2', "is not CSV: ',' expected after '\"'"),
        ("1,x\0y", "column 2 holds a NUL byte"),
        ("\ufeffid,name", "starts with a byte order mark"),
    ],
)
def test_a_bad_row_is_listed_and_the_others_stay(row, reason):
    found = items(f"id,name\n1,a\n{row}\n3,c\n")

    assert [(line, isinstance(body, bytes)) for line, body in found] == [
        (2, True),
        (3, False),
        (4, True),
    ]
    assert reason in found[1][1]


def test_a_quote_left_open_on_the_last_line_is_a_bad_record():
    assert [line for line, body in items('id,name\n1,a\n2,"b') if isinstance(body, str)] == [3]


@pytest.mark.parametrize("size", [7, 100, 100_000])
@pytest.mark.parametrize("ending", ENDINGS)
def test_an_unclosed_quote_is_named_by_the_line_where_its_record_begins(ending, size):
    lines = ["id,name", '1,"a', *(f"{number},b" for number in range(2, 1001))]

    message = fault(ending.join(lines) + ending, size=size, limit=1_000_000)

    assert message.startswith("r.csv line 2: a quote that this record opens is not closed")


def test_a_stray_quote_that_meets_another_one_is_named_by_its_first_line():
    lines = ["id,name", "1,a", '2,"b', "3,c", '4,"d"', "5,e"]

    assert "r.csv line 3: a quote" in fault("\n".join(lines))


@pytest.mark.parametrize("row", ['1,"a\n', '1,"a\n"","', "x" * 100])
def test_a_record_without_end_is_stopped_in_bounded_memory(row):
    texts = (text for part in ("id,name\n2,b\n", row * 1000) for text in [part] * 2000)
    tracemalloc.start()

    with pytest.raises(Misused, match=r"does not end within 1,000,000 characters|not closed"):
        list(read_csv(texts, Columns((), {}), limit=1_000_000, name="r.csv"))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 50_000_000


@pytest.mark.parametrize(
    ("kind", "text", "json_text"),
    [
        ("text", "", '""'),
        ("integer", "9007199254740993", "9007199254740993"),
        ("integer", "-0", "-0"),
        ("integer", "", "null"),
        ("number", "1.0", "1.0"),
        ("number", "1e2", "1e2"),
        ("number", "12345678901234567890.10", "12345678901234567890.10"),
        ("boolean", "TRUE", "true"),
        ("boolean", "false", "false"),
        ("boolean", "", "null"),
        ("json", '{""a"":[1.0,null]}', '{"a":[1.0,null]}'),
        ("json", "null", "null"),
        ("json", "[1,\r\n 2]", "[1,   2]"),
    ],
)
def test_a_declared_type_makes_json_of_the_cell_with_its_own_digits(kind, text, json_text):
    [(_, body)] = items(f'id,v\n1,"{text}"\n', types={"v": kind})

    assert body == f'{{"id":"1","v":{json_text}}}'.encode()


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("integer", "1.5"),
        ("integer", "007"),
        ("integer", " 1"),
        ("integer", "1_000"),
        ("integer", "9" * 5000),
        ("integer", "٣"),
        ("number", "nan"),
        ("number", "inf"),
        ("number", "1e999"),
        ("number", "1,5"),
        ("number", "+1"),
        ("number", ".5"),
        ("boolean", "yes"),
        ("json", "{a:1}"),
        ("json", '{""a"":1,""a"":2}'),
        ("json", '1,""x"":2'),
    ],
)
def test_a_cell_that_is_not_of_its_type_is_a_bad_record_naming_line_and_column(kind, text):
    found = items(f'id,v\n1,"{text}"\n2,\n', types={"v": kind})

    assert [line for line, _ in found] == [2, 3]
    assert str(found[0][1]).startswith("column 'v': ")
    assert found[1][1] == b'{"id":"2","v":null}'
