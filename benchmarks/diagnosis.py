"""How often a diagnosis names what is wrong, and only that, over the emulator in virtual time.

    python benchmarks/diagnosis.py [--drawn 110] [--seed 1]

Cases are staged: how a queue is set, how its tasks come, how the target answers, what is done to
it by hand, and what the emulator's dynamics make of it. Each cause alone, in pairs, in one queue
and in several, and queues that are well; then as many whose numbers are drawn. Counted is a case
whose verdicts are exactly the causes staged. The table shows for each cause staged which were
named.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from rows import Row

sys.path.insert(0, str(Path(__file__).parents[1]))

from injector.queues.diagnosis import Cause, diagnose
from injector.queues.gathering import gather
from tests.pace.drawn_cases import drawn_cases
from tests.pace.staged_cases import cases
from tests.pace.staged_queues import Staged, staged

NONE = "nothing"
Outcome = tuple[Staged, frozenset[Cause]]


def rows(*, full: bool) -> Iterator[Row]:
    """Diagnose the staged cases and the drawn ones."""
    found = list(outcomes(cases()))
    yield Row("staged cases diagnosed exactly", right(found), "cases", "tried", len(found))
    found = list(outcomes(drawn_cases(330 if full else 110, seed=1)))
    yield Row("drawn cases diagnosed exactly", right(found), "cases", "tried", len(found))


def outcomes(wanted: Iterable[Staged]) -> Iterator[Outcome]:
    """Yield each case with the causes that were named."""
    for case in wanted:
        with staged(case) as queues:
            queues.run()
            found = diagnose(gather(queues.names, queues.sources, now=queues.now))
        yield case, frozenset(verdict.cause for verdict in found.verdicts)


def right(found: Iterable[Outcome]) -> int:
    """Count the cases in which all that was staged was named, and nothing else."""
    return sum(named == case.causes for case, named in found)


def confusion(found: Iterable[Outcome]) -> Iterator[str]:
    """Yield the lines of a table: in each row a cause staged, in each column a cause named.

    A cause that was staged and named counts on the diagonal; one that was missed counts in the
    column of what was named without being staged, or of nothing.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for case, named in found:
        counts.update((cause, cause) for cause in case.causes & named)
        missed, wrong = case.causes - named, named - case.causes
        counts.update((cause, other) for cause in missed for other in wrong or {NONE})
        if not missed and (wrong or not case.causes):
            counts.update((NONE, other) for other in wrong or {NONE})
    labels = [*Cause, NONE]
    yield f"{'staged, named →':22}" + "".join(f"{label[:11]:>13}" for label in labels)
    for row in labels:
        yield f"{row:22}" + "".join(f"{counts[row, column] or '·':>13}" for column in labels)


def main() -> None:
    """Show the tables, and each case that was diagnosed otherwise than it was staged."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--drawn", type=int, default=110)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    for name, wanted in (("staged", cases()), ("drawn", drawn_cases(asked.drawn, asked.seed))):
        found = list(outcomes(wanted))
        print(f"\n{name}: {right(found)} of {len(found)} right")
        print("\n".join(confusion(found)))
        for case, named in found:
            if named != case.causes:
                print(f"{case.name}: staged {sorted(case.causes)}, named {sorted(named)}")


if __name__ == "__main__":
    main()
