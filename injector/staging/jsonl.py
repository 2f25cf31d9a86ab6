"""JSON Lines: a JSON object in each line that is not blank."""

from collections.abc import Iterator

from injector.staging.item import Item
from injector.staging.lines import physical_lines
from injector.staging.objects import fault_of


def read_jsonl(
    blocks: Iterator[bytes], *, limit: int, file: int = 0, line: int = 1, offset: int = 0
) -> Iterator[Item]:
    """Read the records, bad ones too, from UTF-8 that begins at this line and offset.

    The same function finds the records when a file is staged and when a slice of it is read
    again, so both see the same.
    """
    end = offset
    for number, (text, size) in enumerate(physical_lines(blocks, limit=limit), line):
        end += size
        raw = text.strip()
        if size > limit:
            yield file, number, f"is longer than {limit:,} bytes", end
        elif raw:
            yield file, number, fault_of(raw) or raw, end
