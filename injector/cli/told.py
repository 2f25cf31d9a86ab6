"""What `injector simulate` is told: the group, and what goes wrong with it when."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import wraps
from math import inf
from pathlib import Path

import click

from injector.cli.known_group import unknown_group
from injector.cli.ranges import FiniteRange, WholeRange
from injector.cli.trouble import burst_of, seconds_of, slowness_of, span_of
from injector.emulator.state.dynamics import FAITHFUL, OFF
from injector.groups import Group
from injector.manifest import load_groups
from injector.pacing.ramp import Ramp
from injector.settings import read_settings
from injector.simulation import Burst, Scenario, Slowness, Span, Target

USUAL_QUEUES = 40
DAY_S = 86_400.0

Command = Callable[..., object]


@dataclass(frozen=True, slots=True)
class Told:
    """The options. None for a number leaves it to the group, else to the usual."""

    group: str | None
    groups_file: Path | None
    queues: int | None
    injector_queues: int | None
    max_rate: float | None
    concurrency: int
    cold: bool
    create_latency: float
    target_latency: float
    target_capacity: float | None
    faults: tuple[Burst, ...]
    target_faults: tuple[Burst, ...]
    slow_creates: tuple[Slowness, ...]
    no_ticks: tuple[Span, ...]
    hedge: float | None
    tick: float
    days: float

    def scenario(self, records: int) -> Scenario:
        """Return what is to be simulated."""
        group = _group(self.group, self.groups_file) if self.group else None
        injector_queues = self.injector_queues or (len(group.injector_queues) if group else 1)
        return Scenario(
            records,
            self._ramp(group, injector_queues),
            injector_queues=injector_queues,
            queues=self.queues or (len(group.queues) if group else 0) or USUAL_QUEUES,
            queue_concurrency=self.concurrency,
            create_latency_s=self.create_latency,
            bursts=self.faults,
            slow=self.slow_creates,
            target=Target(self.target_latency, self.target_capacity or inf, self.target_faults),
            missed=self.no_ticks,
            hedge_delay_s=self.hedge,
            dynamics=FAITHFUL if self.cold else OFF,
            tick_s=self.tick,
            until_s=self.days * DAY_S,
        )

    def _ramp(self, group: Group | None, injector_queues: int) -> Ramp:
        ramp = group.ramp if group else Ramp(max_rate=inf)
        ramp = replace(ramp, max_rate=min(ramp.max_rate, self.max_rate or inf))
        return ramp.within(injector_queues)


def told_options(function: Command) -> Command:
    """Let a command be told; it is given a Told."""

    @wraps(function)
    def wrapper(*args: object, **options: object) -> object:
        names = [field.name for field in fields(Told)]
        told = Told(**{name: options.pop(name) for name in names})  # type: ignore[arg-type]
        return function(*args, told=told, **options)

    decorated: Command = wrapper
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated


def _group(name: str, groups_file: Path | None) -> Group:
    groups = (
        load_groups(groups_file.read_text(encoding="utf-8"), source=str(groups_file))
        if groups_file
        else read_settings().groups
    )
    if name not in groups:
        raise unknown_group(name, groups)
    return groups[name]


def _positive(most: float | None = None) -> FiniteRange:
    return FiniteRange(min=0, min_open=True, max=most)


_OPTIONS: tuple[Callable[[Command], Command], ...] = (
    click.option("--group", metavar="NAME", help="Run in this group; else in a cold, usual one."),
    click.option(
        "--groups",
        "groups_file",
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
        help="The groups' configuration [INJECTOR_GROUPS].",
    ),
    click.option("--queues", type=WholeRange(1, 10_000), help="Queues of the group [40]."),
    click.option("--injector-queues", type=WholeRange(1, 1000), help="Queues that feed it [1]."),
    click.option("--max-rate", type=_positive(), help="Highest rate in injector tasks/s."),
    click.option(
        "--concurrency",
        type=WholeRange(1, 5000),
        default=1000,
        show_default=True,
        help="Dispatches at once of a queue.",
    ),
    click.option("--cold", is_flag=True, help="Let cold and congested queues ramp up slowly."),
    click.option(
        "--create-latency",
        type=seconds_of,
        metavar="DURATION",
        default="50ms",
        show_default=True,
        help="How long a create takes.",
    ),
    click.option(
        "--target-latency",
        type=seconds_of,
        metavar="DURATION",
        default="200ms",
        show_default=True,
        help="How long a task takes.",
    ),
    click.option(
        "--target-capacity",
        type=_positive(),
        help="Tasks/s that the target bears before it answers 429.",
    ),
    click.option(
        "--faults",
        type=burst_of,
        multiple=True,
        metavar="SPAN:SHARE[:CODE]",
        help="Creates fail: 20m-30m:20%:UNAVAILABLE.",
    ),
    click.option(
        "--target-faults",
        type=burst_of,
        multiple=True,
        metavar="SPAN:SHARE[:CODE]",
        help="Tasks fail at the target.",
    ),
    click.option(
        "--slow-creates",
        type=slowness_of,
        multiple=True,
        metavar="SPAN:SHARE:LATENCY",
        help="Creates are slow: 20m-30m:1%:2s.",
    ),
    click.option(
        "--no-ticks",
        type=span_of,
        multiple=True,
        metavar="SPAN",
        help="The controller is away: 1h-2h.",
    ),
    click.option(
        "--hedge", type=seconds_of, metavar="DELAY", help="Hedge creates after this long."
    ),
    click.option(
        "--tick",
        type=seconds_of,
        metavar="DURATION",
        default="60s",
        show_default=True,
        help="Time between ticks.",
    ),
    click.option(
        "--days", type=_positive(3650), default=30, show_default=True, help="When to give up."
    ),
)
