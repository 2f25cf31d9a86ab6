"""What to do about a cause (Cloud Tasks, Manage scaling risks)."""

from injector.pacing.limiter import concurrency_needed
from injector.pacing.plan import QUEUE_MAX_CONCURRENCY
from injector.pacing.ramp import QUEUE_MAX_RATE
from injector.queues.diagnosis.figures import Figures
from injector.queues.diagnosis.verdict import Cause


def advice(cause: Cause, figures: Figures, *, queues: int) -> str:
    """Say what would do; the numbers are those of that many queues together."""
    if cause is Cause.CONCURRENCY:
        return _more_at_once(figures, queues)
    if cause is Cause.OWN_LIMIT:
        return _a_higher_rate(figures, queues)
    return _PLAIN[cause]


def _more_at_once(figures: Figures, queues: int) -> str:
    shorter = "else add instances or make its handler faster: more at once would overload it"
    if figures.latency_s is None:
        return (
            "turn on attempt logs to see the target's latency; if the target has capacity to "
            f"spare, raise max_concurrent_dispatches, {shorter}"
        )
    needed = concurrency_needed(figures.limit / queues, figures.latency_s)
    enough = (
        f"raise max_concurrent_dispatches to {needed:,}"
        if needed <= QUEUE_MAX_CONCURRENCY
        else f"raise max_concurrent_dispatches to {QUEUE_MAX_CONCURRENCY:,} and add queues"
    )
    return f"if the target has capacity to spare, {enough} a queue; {shorter}"


def _a_higher_rate(figures: Figures, queues: int) -> str:
    if figures.limit / queues >= QUEUE_MAX_RATE:
        return (
            f"{QUEUE_MAX_RATE:g}/s is the most that a queue can do: spread the tasks over more "
            "queues, which take their share by 500/50/5"
        )
    return (
        "raise max_dispatches_per_second if the target can take it: above 500/s in all by at most "
        "50 % each 5 minutes"
    )


_PLAIN = {
    Cause.COLD: (
        "wait: the rate goes up by itself while tasks wait and the target answers 2xx; next time "
        "keep a small steady traffic on the queue, reuse queues instead of making new ones, and "
        "have enough target capacity that no 429 or 5xx starts it again"
    ),
    Cause.CONGESTION: (
        "add instances or concurrency to the target before anything is raised on the queue: each "
        "429 or 5xx makes the queue back off and begin again from a cold rate"
    ),
    Cause.PAUSED: (
        "resume it (gcloud tasks queues resume); with a large backlog lower "
        "max_dispatches_per_second first and raise it by 50 % each 5 minutes, and stagger several "
        "queues; a disabled queue is enabled in queue.yaml"
    ),
    Cause.STARVED: (
        "nothing holds the queue back: look at who creates its tasks, at the share that the queue "
        "gets of its group, and at their schedule times"
    ),
    Cause.CREATES: (
        "create more slowly: begin at 500/s for all queues together and add at most 50 % each 5 "
        "minutes, throttle by what is refused instead of repeating it at once, and give tasks "
        "well-spread names or none"
    ),
}
