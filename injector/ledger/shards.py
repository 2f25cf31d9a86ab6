"""Over how many rows a count is spread, so that workers rarely wait for the same one; pure."""

SHARDS = 64
"""Rows to a job's totals, and to a group's minute until it is over: cheap to add up, and more
than there are transactions in flight at the API's quota of 1,000 chunks a second."""


def shard_of(chunk: int) -> int:
    """Return the row for a chunk.

    Neighbouring chunks, and those a round number apart, are settled at the same time; a
    multiplicative hash (Knuth, 6.4) parts them.
    """
    return (chunk * 2_654_435_761 % 2**32) * SHARDS >> 32
