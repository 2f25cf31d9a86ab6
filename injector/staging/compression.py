"""Unpack gzip and Zstandard as they stream in; what is packed is told by its first bytes."""

import zlib
from collections.abc import Iterator
from itertools import chain

import zstandard

from injector.errors import Misused

_GZIP = b"\x1f\x8b"
_ZSTD = (b"\x28\xb5\x2f\xfd", *(b"%c\x2a\x4d\x18" % low for low in range(0x50, 0x60)))
_OUTPUT = 1 << 20
_ZSTD_INPUT = 1 << 10
_ZSTD_WINDOW = 1 << 27


def unpack(blocks: Iterator[bytes], *, name: str) -> Iterator[bytes]:
    """Return the plain bytes of what may be packed, several members or frames in a row too.

    Raises Misused where the data is damaged or ends before its end.
    """
    head, blocks = peek(blocks, 4)
    if head.startswith(_GZIP):
        return _gunzipped(blocks, name=name)
    if head.startswith(_ZSTD):
        return _gathered(_unzstd(_pieces(blocks), name=name))
    return blocks


def is_packed(head: bytes) -> bool:
    """Tell by the first bytes whether `unpack` would do anything."""
    return head.startswith((_GZIP, *_ZSTD))


def cap(blocks: Iterator[bytes], limit: int, *, name: str) -> Iterator[bytes]:
    """Let at most `limit` bytes through. Raises Misused at the block that goes beyond."""
    size = 0
    for block in blocks:
        size += len(block)
        if size > limit:
            raise Misused(f"{name}: holds more than {limit:,} bytes once unpacked; raise max_bytes")
        yield block


def peek(blocks: Iterator[bytes], size: int) -> tuple[bytes, Iterator[bytes]]:
    """Return at least so many first bytes, if there are, and an iterator over all blocks."""
    head = b""
    for block in blocks:
        head += block
        if len(head) >= size:
            break
    return head, chain([head], blocks) if head else blocks


def _gunzipped(blocks: Iterator[bytes], *, name: str) -> Iterator[bytes]:
    member = zlib.decompressobj(wbits=31)
    for block in blocks:
        rest = block.lstrip(b"\0") if member.eof else block
        while rest:
            if member.eof:
                member = zlib.decompressobj(wbits=31)
            try:
                yield from _inflated(member, rest)
            except zlib.error as error:
                raise Misused(f"{name}: the gzip data is damaged: {error}") from error
            rest = member.unused_data.lstrip(b"\0")
    if not member.eof:
        raise Misused(f"{name}: the gzip data is cut off before its end; copy the file again")


def _inflated(member: "zlib._Decompress", packed: bytes) -> Iterator[bytes]:
    """Unpack in bounded pieces, so that a small input cannot fill the memory."""
    full = True
    while (packed or full) and not member.eof:
        out = member.decompress(packed, _OUTPUT)
        packed, full = member.unconsumed_tail, len(out) == _OUTPUT
        if out:
            yield out


def _unzstd(pieces: Iterator[bytes], *, name: str) -> Iterator[bytes]:
    context = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
    frame = context.decompressobj()
    for piece in pieces:
        rest = piece
        while rest:
            if frame.eof:
                frame = context.decompressobj()
            try:
                yield frame.decompress(rest)
            except zstandard.ZstdError as error:
                raise Misused(f"{name}: the Zstandard data cannot be unpacked: {error}") from error
            rest = frame.unused_data
    if not frame.eof:
        raise Misused(f"{name}: the Zstandard data is cut off before its end; copy the file again")


def _pieces(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Cut the input small: a frame's output is not bounded, but 1 KiB gives 32 MiB at most."""
    for block in blocks:
        for start in range(0, len(block), _ZSTD_INPUT):
            yield block[start : start + _ZSTD_INPUT]


def _gathered(pieces: Iterator[bytes]) -> Iterator[bytes]:
    held: list[bytes] = []
    room = _OUTPUT
    for piece in pieces:
        held.append(piece)
        room -= len(piece)
        if room <= 0:
            yield b"".join(held)
            held, room = [], _OUTPUT
    if held:
        yield b"".join(held)
