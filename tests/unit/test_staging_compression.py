import gzip
import tracemalloc
import zlib

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from injector.errors import Misused
from injector.staging.compression import cap, is_packed, unpack

SKIPPABLE = b"\x50\x2a\x4d\x18\x05\x00\x00\x00hello"


def zstd(content):
    return zstandard.ZstdCompressor().compress(content)


def blocks(content, size):
    return (content[start : start + size] for start in range(0, len(content), size))


def unpacked(content, size=1000):
    return b"".join(unpack(blocks(content, size), name="r.gz"))


@given(st.lists(st.binary(max_size=2000), max_size=3), st.sampled_from([1, 2, 3, 64, 4096]))
def test_members_and_frames_in_a_row_come_out_whole_wherever_blocks_are_cut(parts, size):
    for pack in (gzip.compress, zstd):
        assert unpacked(b"".join(map(pack, parts)), size) == b"".join(parts)


@pytest.mark.parametrize("content", [b"", b"i", b'{"a":1}\n', b"\x1f", b"id,name\n"])
def test_what_is_not_packed_passes_as_it_is(content):
    assert unpacked(content, 1) == content
    assert not is_packed(content)


def test_padding_after_a_gzip_member_and_a_skippable_frame_are_passed_over():
    assert unpacked(gzip.compress(b"a") + b"\0" * 5000 + gzip.compress(b"b"), 7) == b"ab"
    assert unpacked(SKIPPABLE + zstd(b"a") + SKIPPABLE + zstd(b"b"), 7) == b"ab"


def test_data_that_expands_more_than_a_piece_holds_comes_out_whole():
    content = b"\0" * 5_000_001

    assert unpacked(gzip.compress(content)) == content
    assert unpacked(zstd(content)) == content


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
@pytest.mark.parametrize("cut", [-4, -1, 20])
@pytest.mark.parametrize("before", [False, True])
def test_data_that_is_cut_off_is_a_fault_in_any_member(pack, cut, before):
    first = pack(b"whole") if before else b""

    with pytest.raises(Misused, match="is cut off before its end"):
        unpacked(first + pack(bytes(range(256)) * 20)[:cut])


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (gzip.compress(b"a" * 1000, mtime=0)[:-8] + b"\0" * 8, "incorrect data check"),
        (gzip.compress(b"a", mtime=0) + b"junk", "incorrect header check"),
        (zstd(b"a") + b"junk", "cannot be unpacked"),
        (b"\x28\xb5\x2f\xfd" + b"\xff" * 50, "cannot be unpacked"),
    ],
)
def test_damaged_data_is_a_fault_that_says_so(content, reason):
    with pytest.raises(Misused, match=reason):
        unpacked(content)


def test_a_window_that_would_fill_the_memory_is_refused():
    wide = zstandard.ZstdCompressionParameters(window_log=28, enable_ldm=True)
    packer = zstandard.ZstdCompressor(compression_params=wide).compressobj()

    with pytest.raises(Misused, match="too much memory"):
        unpacked(packer.compress(b"x" * 1000) + packer.flush())


@pytest.mark.parametrize("pack", [lambda content: zlib.compress(content, wbits=31), zstd])
def test_a_small_file_that_unpacks_without_end_is_stopped_in_bounded_memory(pack):
    bomb = pack(b"\0" * 300_000_000)
    tracemalloc.start()

    with pytest.raises(Misused, match="more than 200,000,000 bytes once unpacked"):
        for _ in cap(unpack(blocks(bomb, 1 << 20), name="r"), 200_000_000, name="r"):
            pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 100_000_000
