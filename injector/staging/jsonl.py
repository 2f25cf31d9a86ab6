"""JSON Lines: a JSON object in each line that is not blank."""

from collections.abc import Iterator

from injector.staging.item import Item
from injector.staging.lines import physical_lines
from injector.staging.objects import fault_of

_SPACE = b" \t\r\n"


def read_jsonl(
    blocks: Iterator[bytes], *, limit: int, file: int = 0, line: int = 1, offset: int = 0
) -> Iterator[Item]:
    """Read the records, bad ones too, from UTF-8 that begins at this line and offset.

    The same function finds the records when a file is staged and when a slice of it is read
    again, so both see the same.
    """
    number, end = line - 1, offset
    for lines, dropped in physical_lines(blocks, limit=limit):
        end += dropped
        for text in lines:
            number += 1
            end += len(text)
            raw = text.strip(_SPACE)
            if len(text) > limit:
                yield file, number, f"is longer than {limit:,} bytes", end
            elif raw:
                yield file, number, fault_of(raw) or raw, end
