"""What the tests of the ledger run in processes of their own: `ledger_workers.py WHAT URL …`."""

import os
import sys
from collections.abc import Iterable

from injector.ledger import Ledger, open_ledger
from injector.ledger.ports import Receipt

FULL = (1 << 100) - 1


def main(what: str, url: str, *numbers: str) -> None:
    """Run one of the functions below."""
    ledger = open_ledger(url, patience_s=60.0)
    {"merge": merge, "fork": fork}[what](ledger, *map(int, numbers))
    ledger.close()


def merge(ledger: Ledger, first: int, count: int) -> None:
    """Settle chunks, each in two parts of which the second comes twice, and look in between."""
    for chunk in range(first, first + count):
        first = Receipt("job", chunk, 100, created_mask=1)
        ledger.receipts.merge(first, now=60.0, counts={"accepted": 1})
        for _ in range(2):
            full = Receipt("job", chunk, 100, created_mask=FULL)
            ledger.receipts.merge(full, now=60.0, counts={"accepted": 1})
        ledger.jobs.totals("job")


def fork(ledger: Ledger, workers: int, count: int) -> None:
    """Connect, then fork workers that settle chunks beside their parent."""
    merge(ledger, 0, 1)
    children = [_forked(ledger, 1 + number * count, count) for number in range(workers)]
    merge(ledger, 1 + workers * count, count)
    if any(_exit_codes(children)):
        sys.exit("a worker failed")


def _forked(ledger: Ledger, first: int, count: int) -> int:
    pid = os.fork()
    if pid == 0:
        merge(ledger, first, count)
        ledger.close()
        sys.exit(0)
    return pid


def _exit_codes(pids: Iterable[int]) -> list[int]:
    return [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]


if __name__ == "__main__":
    main(*sys.argv[1:])
