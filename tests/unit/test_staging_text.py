import pytest
from hypothesis import given
from hypothesis import strategies as st

from injector.errors import Misused
from injector.staging.text import LineCount, decode, to_utf8


def cut(content, size):
    return (content[start : start + size] for start in range(0, len(content), size))


def decoded(content, *, encoding=None, size=1000):
    """Decode both ways, which must not differ."""
    text = "".join(decode(cut(content, size), encoding=encoding, name="r.csv"))
    encoded = to_utf8(cut(content, size), encoding=encoding, name="r.csv")
    assert b"".join(encoded) == text.encode()
    return text


def fault(content, *, encoding=None, size=1000):
    with pytest.raises(Misused) as caught:
        decoded(content, encoding=encoding, size=size)
    return str(caught.value)


@given(st.text(max_size=30), st.sampled_from([1, 2, 3, 64]))
def test_utf_8_is_the_same_wherever_a_character_is_cut(text, size):
    content = b"id\n" + text.encode()

    assert decoded(content, size=size) == "id\n" + text


@pytest.mark.parametrize("size", [1, 2, 3, 64])
@pytest.mark.parametrize(
    ("encoding", "mark"),
    [
        (None, b"\xef\xbb\xbf"),
        ("utf-8", b"\xef\xbb\xbf"),
        ("utf-8-sig", b"\xef\xbb\xbf"),
        ("utf-16", b"\xff\xfe"),
        ("utf-16-le", b"\xff\xfe"),
        ("utf-16-be", b"\xfe\xff"),
        ("utf-32", b"\xff\xfe\0\0"),
        ("utf-16-le", b""),
        ("utf-16-be", b""),
    ],
)
def test_a_byte_order_mark_is_no_part_of_the_text(encoding, mark, size):
    codec = {"utf-16": "utf-16-le", "utf-32": "utf-32-le", "utf-8-sig": "utf-8"}.get(
        encoding or "utf-8", encoding or "utf-8"
    )

    assert decoded(mark + "id,é\n".encode(codec), encoding=encoding, size=size) == "id,é\n"


@pytest.mark.parametrize(
    ("encoding", "content", "text"),
    [
        ("latin-1", b"\xe1", "á"),
        ("cp1252", b"\x93quoted\x94", "“quoted”"),
        ("shift_jis", b"\x96\xbc\x91\x4f", "名前"),
    ],
)
def test_a_declared_encoding_is_used(encoding, content, text):
    assert decoded(content, encoding=encoding, size=1) == text


@pytest.mark.parametrize("size", [1, 3, 64, 100_000])
@pytest.mark.parametrize("ending", [b"\n", b"\r", b"\r\n"])
def test_a_byte_that_does_not_fit_is_named_with_its_line_and_offset(ending, size):
    before = (b"id,n\xc3\xa9" + ending) * 899

    message = fault(before + b"5,caf\xe9" + ending + b"6,x", size=size)

    assert f"r.csv line 900: byte {len(before) + 5:,} of the text (0xe9) is not UTF-8" in message
    assert "encoding" in message


def test_text_that_ends_within_a_character_is_a_fault():
    assert "line 2: byte 3 of the text (0xc3)" in fault(b"id\n\xc3")


def test_a_surrogate_written_as_utf_8_is_a_fault():
    assert "(0xed) is not UTF-8" in fault(b"\xed\xa0\x80")


@pytest.mark.parametrize(
    ("content", "encoding", "remedy"),
    [
        (b"\xff\xfei\0d\0", None, "`encoding: utf-16`"),
        (b"\xfe\xff\0i\0d", None, "`encoding: utf-16`"),
        (b"\xff\xfe\0\0i\0\0\0", None, "`encoding: utf-32`"),
        (b"i\0d\0\n\0", None, "`encoding: utf-16-le`"),
        (b"\0i\0d\0\n", None, "`encoding: utf-16-be`"),
        (b"\xef\xbb\xbfid", "latin-1", "`encoding: utf-8`"),
    ],
)
def test_text_that_begins_as_another_encoding_does_is_told_which(content, encoding, remedy):
    assert remedy in fault(content, encoding=encoding)


@pytest.mark.parametrize(
    "encoding", ["utf9", "base64", "rot13", "undefined", "unicode_escape", "IDNA"]
)
def test_what_is_no_text_encoding_is_refused(encoding):
    assert f"{encoding!r} is no text encoding" in fault(b"id", encoding=encoding)


@given(st.lists(st.text(alphabet="a\r\n", max_size=5), max_size=6))
def test_lines_are_counted_wherever_the_text_is_cut(pieces):
    count = LineCount()
    for piece in pieces:
        count.add(piece)

    text = "".join(pieces).replace("\r\n", "\n").replace("\r", "\n")
    assert count.line == text.count("\n") + 1
