"""Why queues dispatch less than they could: rules over what was measured and logged of them."""

from injector.queues.diagnosis.evidence import Calls, Evidence, Latency, Minute, QueueEvidence
from injector.queues.diagnosis.figures import Bounds, Figures
from injector.queues.diagnosis.history import History, Peak, history
from injector.queues.diagnosis.rules import diagnose
from injector.queues.diagnosis.verdict import Cause, Confidence, Diagnosis, Verdict

__all__ = [
    "Bounds",
    "Calls",
    "Cause",
    "Confidence",
    "Diagnosis",
    "Evidence",
    "Figures",
    "History",
    "Latency",
    "Minute",
    "Peak",
    "QueueEvidence",
    "Verdict",
    "diagnose",
    "history",
]
