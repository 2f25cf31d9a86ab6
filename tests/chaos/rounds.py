"""Random kills, round after round: `make chaos ROUNDS=20 SEED=1`.

Each round is a job of 3,000 records on a local run of its own, in which processes are killed at
random moments, sometimes two at once, sometimes the one that was just started again. A seed
repeats the choices, not the timing. Exits with 1 when a record was lost or doubled.
"""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos.account import Account
from tests.chaos.local_world import LocalWorld, local_world

KINDS = ("worker", "master", "emulator", "target", "up", "lifeline")
MOST_KILLS = 5
AT_ONCE = 0.25


@dataclass
class Figures:
    """What is reported in the end."""

    rounds: int = 0
    records: int = 0
    created: int = 0
    existed: int = 0
    redelivered: int = 0
    lost: int = 0
    doubled: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def add(self, account: Account) -> None:
        self.rounds += 1
        self.records += len(account.wanted)
        self.created += int(account.totals["created"])
        self.existed += int(account.totals["existed"])
        self.redelivered += account.redelivered
        self.lost += len(account.lost)
        self.doubled += account.doubled


def main() -> int:
    """Run the rounds, and print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    asked = parser.parse_args()
    print(f"seed {asked.seed}", flush=True)
    began, figures = time.monotonic(), Figures()
    for number in range(asked.rounds):
        chance = random.Random(f"{asked.seed} {number}")
        faults = play(chance, figures)
        figures.faults += [f"round {number}: {fault}" for fault in faults]
        print(f"round {number}: {', '.join(faults) or 'all well'}", flush=True)
    show(figures, minutes=(time.monotonic() - began) / 60)
    return 1 if figures.faults else 0


def play(chance: random.Random, figures: Figures) -> list[str]:
    """Run one job to its end through kills, and return what is wrong then."""
    with tempfile.TemporaryDirectory(prefix="injector-chaos-") as folder:
        try:
            account = run(Path(folder), chance, figures)
        except AssertionError as error:
            return [f"it did not come to an end: {error}"]
    figures.add(account)
    return account.faults()


def run(folder: Path, chance: random.Random, figures: Figures) -> Account:
    with local_world(folder) as world:
        world.submit().check_returncode()
        for share in sorted(chance.random() for _ in range(chance.randint(1, MOST_KILLS))):
            world.await_settled(share)
            time.sleep(chance.random() / 2)
            kill(world, chance, figures)
        world.await_end()
        return world.account()


def kill(world: LocalWorld, chance: random.Random, figures: Figures) -> None:
    """Kill one process, or two at once."""
    kinds = chance.sample(KINDS, 2 if chance.random() < AT_ONCE else 1)
    world.kill(*kinds)
    figures.kills.update(kinds)


def show(figures: Figures, *, minutes: float) -> None:
    """Print the figures."""
    by_kind = ", ".join(f"{kind} {figures.kills[kind]}" for kind in KINDS)
    print(f"{figures.rounds} rounds in {minutes:.1f} min, {figures.kills.total()} kills: {by_kind}")
    print(
        f"{figures.records:,} records: {figures.created:,} created, {figures.existed:,} existed,"
        f" {figures.redelivered:,} delivered again, {figures.lost} lost, {figures.doubled} doubled"
    )
    for fault in figures.faults:
        print(fault)


if __name__ == "__main__":
    sys.exit(main())
