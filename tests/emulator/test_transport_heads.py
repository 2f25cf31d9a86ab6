"""Request headers mean what they say, however often they are repeated."""

import pytest
from hpack import Decoder, Encoder, HPACKError
from hypothesis import given
from hypothesis import strategies as st

from injector.emulator.transport.deadline import seconds
from injector.emulator.transport.heads import head_reader
from injector.http2.frames import Broken
from tests.emulator.raw_client import HEADERS

EXTRA = st.lists(
    st.tuples(st.sampled_from(["x-a", "x-b", "grpc-timeout"]), st.sampled_from("123456")),
    max_size=3,
    unique_by=lambda pair: pair[0],
)
CALLS = st.lists(st.tuples(EXTRA, st.sampled_from([None, 0, 40, 100, 4096])), max_size=40)


@given(CALLS)
def test_remembered_headers_are_those_that_decoding_anew_would_give(calls):
    encoder, reader, decoder = Encoder(), head_reader(), Decoder()
    for extra, resize in calls:
        if resize is not None:
            encoder.header_table_size = resize
        block = encoder.encode([*HEADERS, *extra])
        meant = {k: v for k, v in decoder.decode(block) if not k.startswith(":")}
        assert dict(reader.read(block).metadata) == meant


PIECES = (
    st.integers(0x80, 0xFF).map(lambda byte: bytes((byte,)))
    | st.builds(
        lambda first, value, huffman: bytes((first, len(value) | huffman)) + value,
        st.integers(0, 0x7F),
        st.sampled_from([b"", b"1", b"\x07", b"\x10\x5f", b"a" * 40]),
        st.sampled_from([0, 0x80]),
    )
    | st.builds(lambda first: bytes((first,)), st.integers(0x20, 0x3F))
    | st.binary(max_size=3)
)


@given(st.lists(st.lists(PIECES, max_size=8).map(b"".join), max_size=6))
def test_any_blocks_mean_what_the_library_takes_them_for(blocks):
    reader, decoder = head_reader(), Decoder()
    for block in blocks:
        try:
            fields = decoder.decode(block, raw=True)
        except (HPACKError, IndexError):
            with pytest.raises(Broken):
                reader.read(block)
            return
        meant = {str(k, "latin-1"): str(v, "latin-1") for k, v in fields}
        expected = {k: v for k, v in meant.items() if not k.startswith(":")}
        assert dict(reader.read(block).metadata) == expected


def test_a_repeated_block_is_decoded_once():
    encoder, reader = Encoder(), head_reader()
    reader.read(encoder.encode(HEADERS))
    block = encoder.encode(HEADERS)
    assert reader.read(block) is reader.read(block)


@pytest.mark.parametrize(
    ("timeout", "expected"),
    [
        ("20S", 20.0),
        ("1H", 3600.0),
        ("2M", 120.0),
        ("1500m", 1.5),
        ("5u", 5e-6),
        ("7n", 7e-9),
        ("", None),
        ("S", None),
        ("20", None),
        ("20X", None),
        ("-1S", None),
        ("1.5S", None),
        ("123456789S", None),
    ],
)
def test_deadlines_are_read_in_every_unit(timeout, expected):
    assert seconds(timeout) == (expected if expected is None else pytest.approx(expected))


@given(st.text(max_size=12))
def test_any_text_is_a_deadline_or_none(timeout):
    assert seconds(timeout) is None or seconds(timeout) >= 0
