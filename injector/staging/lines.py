"""Cut a stream into physical lines, whatever ends them and wherever its blocks are cut."""

from collections.abc import Iterator


def physical_lines(blocks: Iterator[bytes], *, limit: int) -> Iterator[tuple[bytes, int]]:
    """Yield each line with its ending, and its size in bytes.

    LF, CR and CRLF end a line. Of a line larger than `limit` no more than a beginning and what
    one block holds is kept.
    """
    held, dropped = b"", 0
    for block in blocks:
        text = held + block
        end = _end_of_lines(text)
        if end:
            lines = text[:end].splitlines(keepends=True)
            yield lines[0], len(lines[0]) + dropped
            dropped = 0
            for line in lines[1:]:
                yield line, len(line)
        held = text[end:]
        if len(held) > limit + 2:
            beginning = held[: limit + 1] + (b"\r" if held.endswith(b"\r") else b"")
            dropped += len(held) - len(beginning)
            held = beginning
    if held:
        yield held, len(held) + dropped


def _end_of_lines(text: bytes) -> int:
    """Return where the last whole line ends; a CR at the very end may yet be followed by LF."""
    return max(text.rfind(b"\n"), text.rfind(b"\r", 0, -1)) + 1
