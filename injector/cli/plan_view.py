"""A plan on the screen."""

from collections.abc import Iterator
from dataclasses import asdict

from injector.cli.findings import Findings
from injector.cli.job_view import REJECT_HEADINGS, reject_row
from injector.cli.options import clock_note
from injector.cli.output import count, print_pairs, print_table, rate, say, span
from injector.cli.planning import Plan, sample_json
from injector.delivery.ports import Create
from injector.estimate import Step
from injector.pacing.plan import API_QUOTA
from injector.wording import counted

REJECTS_SHOWN = 20
STEPS_SHOWN = 20


def show_plan(plan: Plan) -> None:
    """Show the plan: figures, ramp, rejects, samples, warnings."""
    print_pairs(_figures(plan))
    _show_steps(plan.estimate.steps)
    show_rejects(plan)
    for create in plan.findings.samples:
        _show_sample(create)
    say("\nassuming that:", style="dim")
    for assumption in plan.assumptions:
        say(f"  {assumption}", style="dim")


def show_warnings(plan: Plan) -> None:
    """Show what speaks against the job, on the error stream."""
    for warning in plan.warnings:
        say(f"warning: {warning}", style="yellow", stderr=True)


def show_rejects(plan: Plan) -> None:
    """Show the first rejects, as the report shows them."""
    total = plan.findings.rejected
    if not total:
        return
    shown = plan.findings.rejects[:REJECTS_SHOWN]
    title = f"\nrejected: {count(total)}" + (
        f", the first {len(shown)}" if total > len(shown) else ""
    )
    named = ({"file": plan.manifest.records} | _set(asdict(bad)) for bad in shown)
    print_table(REJECT_HEADINGS, map(reject_row, named), title=title)


def _set(bad: dict[str, object]) -> dict[str, object]:
    """Leave the file out where there is but one, which the manifest names."""
    return {key: value for key, value in bad.items() if value != ""}


def _figures(plan: Plan) -> dict[str, str]:
    found, findings = plan.estimate, plan.findings
    return {
        "job": plan.manifest.job,
        "group": plan.group.name,
        "records": f"{count(findings.records)}, {count(findings.rejected)} of them rejected "
        f"({count(plan.rejects_allowed)} allowed)",
        **_blank(findings),
        **_repeats(findings),
        "chunks": f"{counted(found.chunks, 'injector task')} of up to 100 records",
        "time to create": span(found.seconds),
        "time to finish": span(plan.finished_s),
        "peak": f"{rate(found.peak_create_rate)} creates/s",
        **_destination(plan),
        **clock_note(),
    }


def _blank(findings: Findings) -> dict[str, str]:
    """Tell of lines that are no records since nothing is on them; nothing where there are none."""
    return {"empty lines": f"{count(findings.blank)}, passed over"} if findings.blank else {}


def _repeats(findings: Findings) -> dict[str, str]:
    """Tell of records that become no task of their own; nothing where there are none."""
    if not findings.repeated:
        return {}
    whole = findings.compared >= findings.records - findings.rejected
    among = "" if whole else f" among the first {count(findings.compared)}"
    return {"repeated": f"{count(findings.repeated)}{among}: their identity came before; existed"}


def _destination(plan: Plan) -> dict[str, str]:
    found, cost = plan.estimate, f"about USD {plan.estimate.cost_usd:,.2f}"
    if plan.manifest.message:
        return {
            "topic": plan.group.topic or "not known here",
            "published": f"{count(found.published_bytes)} bytes, {cost}",
        }
    queues = f"the group has {len(plan.group.queues)}" if plan.group.queues else "of 500/s each"
    return {
        "queues needed": f"{found.queues_needed}; {queues}",
        "API quota": f"{plan.quota_share:.1%} of {API_QUOTA:,.0f} requests/s at the peak",
        "operations": f"{count(found.operations)}, {cost}",
    }


def _show_steps(steps: tuple[Step, ...]) -> None:
    title = "\nramp" if len(steps) <= STEPS_SHOWN else f"\nramp, the first {STEPS_SHOWN} steps"
    headings = (">minute", ">injector/s", ">creates/s", ">records before")
    print_table(headings, map(_step_row, steps[:STEPS_SHOWN]), title=title)


def _step_row(step: Step) -> tuple[str, ...]:
    minute, injector_rate = f"{step.at_s / 60:g}", rate(round(step.injector_rate, 3))
    return minute, injector_rate, rate(round(step.create_rate)), count(step.records_before)


def _show_sample(create: Create) -> None:
    sample = sample_json(create)
    title = "message" if create.is_message else f"{sample['method']} {sample['url']}"
    say(f"\n{title}", style="bold")
    for line in _message_lines(sample) if create.is_message else _sample_lines(sample):
        say(f"  {line}", wraps=False)


def _sample_lines(sample: dict[str, object]) -> Iterator[str]:
    headers, token = sample["headers"], sample["token"]
    if isinstance(headers, dict):
        yield from (f"{name}: {value}" for name, value in headers.items())
    if isinstance(token, dict):
        yield f"({token['kind']} token of {token['service_account']} for {token['scope']})"
    if sample["body"]:
        yield str(sample["body"])
    yield f"as {sample['queue']}/tasks/{sample['task_id']}"


def _message_lines(sample: dict[str, object]) -> Iterator[str]:
    attributes = sample["attributes"]
    if isinstance(attributes, dict):
        yield from (f"{name}: {value}" for name, value in attributes.items())
    if sample["ordering_key"]:
        yield f"(ordering key {sample['ordering_key']})"
    if sample["data"]:
        yield str(sample["data"])
    yield f"to {sample['topic']}"
