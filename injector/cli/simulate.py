"""`injector simulate`."""

from itertools import islice
from pathlib import Path

import click

from injector.cli.charts import Curve, draw, plot_option, stairs, write_svg
from injector.cli.options import json_option
from injector.cli.output import count, print_pairs, print_table, rate, span
from injector.cli.told import Told, told_options
from injector.cli.trouble import count_of
from injector.pacing.plan import Capacity, times
from injector.pacing.ramp import CHUNK
from injector.simulation import Row, Scenario, Simulation, simulate

TITLE = "creates/s"
TURNS_SHOWN = 40


@click.command()
@click.argument("records", type=count_of)
@told_options
@plot_option()
@json_option()
def command(records: int, told: Told, plot: Path | None, *, as_json: bool) -> int:
    """Run a job of RECORDS in virtual time: the real controller, a model of the service.

    Shows when the rate changed and why, and how long all took. Nothing is created, and a billion
    records take a moment. Exits with 1 when the job is not done within --days.

    Example: injector simulate 10M --faults 20m-30m:20% --plot ramp.svg
    """
    scenario = told.scenario(records)
    simulation = simulate(scenario)
    if as_json:
        click.echo(simulation.to_json())
    else:
        show(scenario, simulation)
    if plot:
        write_svg(plot, TITLE, curves_of(simulation))
    return 0 if simulation.finished_s is not None else 1


def show(scenario: Scenario, simulation: Simulation) -> None:
    """Show a simulation: figures, when the rate changed, chart."""
    print_pairs(_figures(scenario, simulation))
    turns = list(islice(simulation.turns(), TURNS_SHOWN + 1))
    title = "\ntick by tick, where something changed" + (
        "" if len(turns) <= TURNS_SHOWN else f", the first {TURNS_SHOWN}"
    )
    headings = (
        ">minute",
        ">injector/s from then",
        ">creates/s in the tick before",
        ">created",
        ">waiting",
        "decision",
        "reason",
    )
    print_table(headings, map(_row, turns[:TURNS_SHOWN]), title=title)
    draw(TITLE, curves_of(simulation))


def curves_of(simulation: Simulation) -> tuple[Curve, ...]:
    """Return what was allowed, what was created, and what was done, per second."""
    rows = simulation.rows
    allowed = stairs(((row.t_s, row.rate * CHUNK) for row in rows), until=rows[-1].t_s)
    created = [(row.t_s, row.create_rate) for row in rows[1:]]
    return Curve("allowed", tuple(allowed)), Curve("created", created)


def _figures(scenario: Scenario, simulation: Simulation) -> dict[str, str]:
    capacity = Capacity(
        scenario.queues,
        scenario.queue_rate,
        scenario.queue_concurrency,
        scenario.target.latency_s,
    )
    planned = times(scenario.records, scenario.ramp, capacity)
    return {
        "records": count(scenario.records),
        "created after": f"{span(simulation.created_s)}; planned {span(planned.created_s)}",
        "done after": f"{span(simulation.finished_s)}; planned {span(planned.finished_s)}",
        "peak": f"{rate(round(simulation.peak_create_rate))} creates/s",
        "calls": f"{count(simulation.calls)}, {_for_each(simulation)} for each task",
        **({"hedges": count(simulation.hedges)} if scenario.hedge_delay_s is not None else {}),
        **_fan_outs(simulation),
    }


def _for_each(simulation: Simulation) -> str:
    return f"{simulation.calls / max(1, simulation.rows[-1].created):.3g}"


def _fan_outs(simulation: Simulation) -> dict[str, str]:
    """Say how long a chunk's creates took; nothing where none were begun."""
    if simulation.fan_out_p99_s is None:
        return {}
    p99 = f"99 of 100 within {simulation.fan_out_p99_s:.3g} s"
    return {"fan-outs": f"{p99}; up to {count(simulation.concurrency)} are let run at once"}


def _row(row: Row) -> tuple[str, ...]:
    return (
        f"{row.t_s / 60:g}",
        rate(round(row.rate, 3)),
        rate(round(row.create_rate)),
        count(row.created),
        count(row.backlog),
        row.decision,
        row.reason,
    )
