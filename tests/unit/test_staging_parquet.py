import datetime as dt
import json
from decimal import Decimal

import pyarrow as pa
import pytest
from pyarrow import parquet

from injector.errors import Misused
from tests.stagings import bad, bodies, manifest, stage_path

WHEN = dt.datetime(2026, 12, 1, 9, tzinfo=dt.UTC)


def write(folder, columns, name="r.parquet"):
    parquet.write_table(pa.table(columns), folder / name)


def test_rows_become_objects_in_the_order_of_the_columns(tmp_path):
    write(
        tmp_path,
        {
            "z": pa.array([9007199254740993, None], pa.int64()),
            "u": pa.array([2**64 - 1, 0], pa.uint64()),
            "text": ["é\0", ""],
            "price": pa.array([Decimal("1.10"), Decimal("99999999999999999999.99")]),
            "at": pa.array([WHEN, None], pa.timestamp("us", tz="UTC")),
            "ns": pa.array([WHEN, None], pa.timestamp("ns", tz="UTC")),
            "day": [WHEN.date(), None],
            "tags": [["a", "b"], []],
            "inner": [{"x": 1.5}, {"x": None}],
            "kind": pa.array(["a", "b"]).dictionary_encode(),
            "ok": [True, None],
        },
    )

    first, second = bodies(stage_path(tmp_path, "r.parquet"))

    assert (
        first
        == (
            '{"z":9007199254740993,"u":18446744073709551615,"text":"é\\u0000","price":1.10,'
            '"at":"2026-12-01T09:00:00+00:00","ns":"2026-12-01T09:00:00+00:00","day":"2026-12-01",'
            '"tags":["a","b"],"inner":{"x":1.5},"kind":"a","ok":true}'
        ).encode()
    )
    assert b'"price":99999999999999999999.99' in second
    assert json.loads(second)["z"] is None


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: [x], lambda x: {"y": [x]}])
def test_a_row_with_a_number_that_json_lacks_is_bad(tmp_path, value, wrap):
    write(tmp_path, {"x": [wrap(1.0), wrap(value), wrap(2.0)]})

    staged = stage_path(tmp_path, "r.parquet")

    assert bad(staged) == [(2, "column 'x' is NaN or infinite, which JSON cannot hold")]
    assert len(bodies(staged)) == 2


def test_rows_of_many_batches_are_numbered_through(tmp_path):
    write(tmp_path, {"n": list(range(2500))})

    staged = stage_path(tmp_path, "r.parquet")

    assert [json.loads(body)["n"] for body in bodies(staged)] == list(range(2500))
    assert staged.chunks == 25


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pa.array([b"x"]), "binary"),
        (pa.array([dt.timedelta(1)]), "duration"),
        (pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())), "map"),
        (pa.array([[{"x": b"y"}]]), "list"),
    ],
)
def test_a_column_that_json_has_no_form_for_is_refused_by_name(tmp_path, column, kind):
    write(tmp_path, {"c": column})

    with pytest.raises(Misused, match=f"r.parquet: column 'c' is {kind}"):
        stage_path(tmp_path, "r.parquet")


@pytest.mark.parametrize(
    ("value", "kind", "reason"),
    [
        (1, pa.timestamp("ns"), "would lose data"),
        (2**62, pa.timestamp("us"), "date value out of range"),
        (-(2**62), pa.timestamp("ms", tz="UTC"), "too large"),
        (900_000_000, pa.date32(), "out of range"),
    ],
)
def test_a_row_with_a_time_that_cannot_be_written_is_bad(tmp_path, value, kind, reason):
    write(tmp_path, {"n": [1, 2, 3], "c": pa.array([0, value, 0], kind)})

    staged = stage_path(tmp_path, "r.parquet")

    [(line, why)] = bad(staged)
    assert line == 2
    assert why.startswith("column 'c' cannot be read: ")
    assert reason in why
    assert [json.loads(body)["n"] for body in bodies(staged)] == [1, 3]


def test_a_row_whose_text_is_not_utf8_is_bad(tmp_path):
    texts = pa.Array.from_buffers(pa.string(), 2, pa.array([b"\xff", b"ok"], pa.binary()).buffers())
    write(tmp_path, {"c": texts})

    staged = stage_path(tmp_path, "r.parquet")

    [(line, why)] = bad(staged)
    assert (line, why[:26]) == (1, "column 'c' cannot be read:")
    assert bodies(staged) == [b'{"c":"ok"}']


def test_a_column_that_the_manifest_uses_must_be_there(tmp_path):
    write(tmp_path, {"id": [1]})

    with pytest.raises(Misused, match="has no column 'user_id'"):
        stage_path(tmp_path, "r.parquet", manifest(url="https://w.example/{user_id}"))


def test_two_columns_of_one_name_are_refused(tmp_path):
    parquet.write_table(pa.table([pa.array([1]), pa.array([2])], ["id", "ID"]), tmp_path / "r.pq")

    with pytest.raises(Misused, match="would be one field"):
        stage_path(tmp_path, "r.pq")


def test_what_is_no_parquet_is_refused(tmp_path):
    write(tmp_path, {"n": [1, 2, 3]})
    whole = (tmp_path / "r.parquet").read_bytes()
    (tmp_path / "r.parquet").write_bytes(whole[:-20])

    with pytest.raises(Misused, match=r"r\.parquet: cannot be read as Parquet"):
        stage_path(tmp_path, "r.parquet")
