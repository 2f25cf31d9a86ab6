"""A request's body is one message, or its call fails in a way that says why."""

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from injector.emulator.rpc import Code, RpcError
from injector.emulator.transport.messages import unpack
from tests.emulator.raw_client import framed


def packed(message: bytes) -> bytes:
    return b"\1" + framed(message)[1:]


@given(st.binary(max_size=100))
def test_a_message_is_what_was_framed(message):
    assert unpack(framed(message), "identity") == message


@pytest.mark.parametrize(
    ("body", "encoding"),
    [(packed(gzip.compress(b"abc", mtime=0)), "gzip"), (packed(zlib.compress(b"abc")), "deflate")],
)
def test_a_compressed_message_is_unpacked(body, encoding):
    assert unpack(body, encoding) == b"abc"


@pytest.mark.parametrize(
    ("body", "encoding", "code"),
    [
        (b"", "identity", Code.UNIMPLEMENTED),
        (b"\0\0\0", "identity", Code.UNIMPLEMENTED),
        (framed(b"abc")[:-1], "identity", Code.UNIMPLEMENTED),
        (framed(b"a") + framed(b"b"), "identity", Code.UNIMPLEMENTED),
        (packed(b"abc"), "snappy", Code.UNIMPLEMENTED),
        (packed(b"abc"), "identity", Code.UNIMPLEMENTED),
        (packed(b"not gzip"), "gzip", Code.INVALID_ARGUMENT),
    ],
)
def test_what_is_not_one_message_is_refused(body, encoding, code):
    with pytest.raises(RpcError) as raised:
        unpack(body, encoding)
    assert raised.value.code is code


def test_a_bomb_is_refused_before_it_is_unpacked():
    bomb = gzip.compress(bytes(200 * 1024 * 1024), 1)
    with pytest.raises(RpcError) as raised:
        unpack(packed(bomb), "gzip")
    assert raised.value.code is Code.RESOURCE_EXHAUSTED
