"""Over how many rows a count is spread, so that workers rarely wait for the same one; pure."""

TOTAL_SHARDS = 64
"""Rows to a job: what a status query adds up."""

SIGNAL_SHARDS = 16
"""Rows to a group and minute, until the minute is over."""


def shard_of(chunk: int, shards: int) -> int:
    """Return the row for a chunk.

    Neighbouring chunks, and those a round number apart, are settled at the same time; a
    multiplicative hash (Knuth, 6.4) parts them.
    """
    return (chunk * 2_654_435_761 % 2**32) * shards >> 32
