"""Turn bytes into text by the declared encoding, and say where that fails."""

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from injector.errors import Misused
from injector.staging.compression import peek

Piece = tuple[str, bytes]
_NO_ENCODINGS = {"idna", "punycode", "raw-unicode-escape", "unicode-escape"}
"""What Python calls encodings, though nobody saves a text so."""

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8"),
)


def decode(blocks: Iterator[bytes], *, encoding: str | None, name: str) -> Iterator[str]:
    """Decode block by block, without a byte order mark; None means UTF-8.

    Raises Misused with the line and the byte offset of the first byte that does not fit.
    """
    _, pieces = _opened(blocks, encoding or "utf-8", name=name)
    return _texts(pieces)


def to_utf8(blocks: Iterator[bytes], *, encoding: str | None, name: str) -> Iterator[bytes]:
    """Give the text as UTF-8, and the bytes as they are if that is what they were.

    Without a byte order mark; raises what `decode` raises.
    """
    codec, pieces = _opened(blocks, encoding or "utf-8", name=name)
    return _originals(pieces) if codec == "utf-8" else map(str.encode, _texts(pieces))


def _opened(blocks: Iterator[bytes], encoding: str, *, name: str) -> tuple[str, Iterator[Piece]]:
    codec = _codec(encoding, name=name)
    head, blocks = peek(blocks, 64)
    _check_start(head, codec, name=name)
    return codec, _decoded(blocks, codec, name=name)


def _texts(pieces: Iterator[Piece]) -> Iterator[str]:
    texts = (text for text, _ in pieces if text)
    yield next(texts, "").removeprefix("\ufeff")
    yield from texts


def _originals(pieces: Iterator[Piece]) -> Iterator[bytes]:
    blocks = (block for _, block in pieces)
    yield next(blocks, b"").removeprefix(codecs.BOM_UTF8)
    yield from blocks


def _codec(encoding: str, *, name: str) -> str:
    codec = _looked_up(encoding)
    if codec is None or codec in _NO_ENCODINGS:
        raise Misused(f"{name}: {encoding!r} is no text encoding; such as utf-8, cp1252 or utf-16")
    return codec


def _looked_up(encoding: str) -> str | None:
    """Return the name of an encoding that is read piece by piece; None if there is none."""
    try:
        "".encode(encoding)
        codecs.getincrementaldecoder(encoding)
        return codecs.lookup(encoding).name
    except (LookupError, UnicodeError):
        return None


def _check_start(head: bytes, codec: str, *, name: str) -> None:
    found = next((encoding for mark, encoding in _MARKS if head.startswith(mark)), None)
    found = found or _unmarked_utf16(head)
    if found and not codec.startswith(found):
        raise Misused(
            f"{name} line 1: begins as {found.upper()} text does, not as {codec.upper()};"
            f" say `encoding: {found}`"
        )


def _unmarked_utf16(head: bytes) -> str | None:
    """Tell Latin text in UTF-16 by every other byte being 0."""
    even, odd = (any(head[start : len(head) & ~1 : 2]) for start in (0, 1))
    if even == odd:
        return None
    return "utf-16-le" if even else "utf-16-be"


def _decoded(blocks: Iterator[bytes], codec: str, *, name: str) -> Iterator[Piece]:
    decoder = codecs.getincrementaldecoder(codec)()
    lines, read = LineCount(), 0
    for block in chain(blocks, [b""]):
        read += len(block)
        try:
            text = decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            raise Misused(f"{name} {_misfit(error, lines, read=read, codec=codec)}") from error
        except UnicodeError as error:
            raise Misused(f"{name} line 1: {error}; say `encoding: utf-16-le` or -be") from error
        lines.add(text)
        yield text, block


def _misfit(error: UnicodeDecodeError, lines: "LineCount", *, read: int, codec: str) -> str:
    offset = read - len(error.object) + error.start
    lines.add(error.object[: error.start].replace(b"\0", b"").decode("latin-1"))
    remedy = (
        "say `encoding:`, such as cp1252 or latin-1" if codec == "utf-8" else "save it as UTF-8"
    )
    return (
        f"line {lines.line}: byte {offset:,} of the text (0x{error.object[error.start]:02x})"
        f" is not {codec.upper()} ({error.reason}); {remedy}, or mend the file"
    )


@dataclass(slots=True)
class LineCount:
    """The number of the line that the next character is on; LF, CR and CRLF each end one."""

    line: int = 1
    after_cr: bool = False

    def add(self, text: str) -> None:
        """Go on by a piece of text, which may begin between CR and LF."""
        if text:
            self.line += text.count("\n") - (self.after_cr and text[0] == "\n")
            self.after_cr = text[-1] == "\r"
            if "\r" in text:
                self.line += text.count("\r") - text.count("\r\n")
