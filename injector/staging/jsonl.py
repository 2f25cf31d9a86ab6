"""JSON Lines: a JSON object in each line that is not blank."""

from collections.abc import Iterable, Iterator
from itertools import chain

from injector.staging.item import Blank, Item, untold
from injector.staging.lines import physical_lines
from injector.staging.objects import faults_of

Checked = tuple[bytes, bytes, str | None]
_TOGETHER = 50
_SPACE = b" \t\r\n"


def read_jsonl(  # noqa: PLR0913  (where it begins, its bound, and who is told)
    blocks: Iterator[bytes],
    *,
    limit: int,
    file: int = 0,
    line: int = 1,
    offset: int = 0,
    blank: Blank = untold,
) -> Iterator[Item]:
    """Read the records, bad ones too, from UTF-8 that begins at this line and offset.

    The same function finds the records when a file is staged and when a slice of it is read
    again, so both see the same.
    """
    number, end = line - 1, offset
    for lines, dropped in physical_lines(blocks, limit=limit):
        end += dropped
        for text, raw, fault in chain.from_iterable(_checked(lines, limit)):
            number += 1
            size = len(text)
            end += size
            if size > limit:
                yield file, number, f"is longer than {limit:,} bytes", end
            elif raw:
                yield file, number, fault or raw, end
            else:
                blank()


def bare_lines(text: bytes) -> list[bytes]:
    """Return the lines of a text each of which is an object without a space around it.

    None of another text, and `read_jsonl` says what it holds. Whether what stands between the
    braces is JSON is not looked at.
    """
    lines = text.removesuffix(b"\n").split(b"\n")
    whole = text[:1] == b"{" and lines[-1][-1:] == b"}"
    bare = whole and b"\r" not in text and text.count(b"}\n{") == len(lines) - 1
    return lines if bare else []


def _checked(lines: list[bytes], limit: int) -> Iterator[Iterable[Checked]]:
    """Give each line, what is in it unless it is too long, and why that is no record."""
    for start in range(0, len(lines), _TOGETHER):
        some = lines[start : start + _TOGETHER]
        raws = [text.strip(_SPACE) if len(text) <= limit else b"" for text in some]
        yield zip(some, raws, faults_of(raws), strict=True)
