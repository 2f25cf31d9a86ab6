"""Counts in words, so that one thing is not told of as many."""


def counted(number: int, thing: str) -> str:
    """Write how many there are of a thing: 1 queue, 1,000 queues."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def are(number: int) -> str:
    """Return the verb of so many things."""
    return "is" if number == 1 else "are"
