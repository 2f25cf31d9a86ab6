"""Cut a stream into physical lines, whatever ends them and wherever its blocks are cut."""

from collections.abc import Iterator


def physical_lines(blocks: Iterator[bytes], *, limit: int) -> Iterator[tuple[list[bytes], int]]:
    """Yield lines with their endings, many at a time, and how much the first one lacks.

    LF, CR and CRLF end a line. Of a line larger than `limit` no more is kept than a beginning
    that is larger too, and what one block holds.
    """
    held, dropped = b"", 0
    for block in blocks:
        text = held + block
        end = _end_of_lines(text)
        if end:
            yield text[:end].splitlines(keepends=True), dropped
            dropped = 0
        held = text[end:]
        if len(held) > limit + 2:
            beginning = held[: limit + 1] + (b"\r" if held.endswith(b"\r") else b"")
            dropped += len(held) - len(beginning)
            held = beginning
    if held:
        yield [held], dropped


def _end_of_lines(text: bytes) -> int:
    """Return where the last whole line ends; a CR at the very end may yet be followed by LF."""
    return max(text.rfind(b"\n"), text.rfind(b"\r", 0, -1)) + 1
