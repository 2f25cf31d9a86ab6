"""Jobs accounted for: as a whole, and record by record."""

from dataclasses import asdict

from flask import Blueprint, Response

from handlers.asking import query
from handlers.context import parts
from handlers.models import ReportQuery, Summary
from handlers.views import answer, decision_view, viewer
from injector.control.report import Span, report_lines
from injector.control.summary import account

reports = Blueprint("reports", __name__)


@reports.get("/jobs/<job_id>/summary")
def summary(job_id: str) -> Response:
    """Account for a job as a whole: sums, times, price, and how its ramp went."""
    job = parts().ledger.jobs.get(job_id)
    found = account(parts().ledger, job)
    history = [decision_view(decision) for decision in found.ramp_history]
    rest = asdict(found) | {"ramp_history": history}
    return answer(Summary(job=viewer(parts()).job(job), **rest))


@reports.get("/jobs/<job_id>/report")
def report(job_id: str) -> Response:
    """Stream what became of records, as JSON lines: those not plainly created, or all.

    A report of many chunks can be had in parts, by `first` and `chunks`.
    """
    asked = query(ReportQuery)
    job = parts().ledger.jobs.get(job_id)
    opened = parts().open_job(job)
    past = min(job.chunks, asked.first + asked.chunks)
    span = Span(asked.first, past, every=asked.all == "true")
    lines = report_lines(parts().ledger, job, span, read=opened.read, name=opened.renderer.name)
    return Response(lines, content_type="application/x-ndjson")
