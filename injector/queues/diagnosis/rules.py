"""From evidence to verdicts."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from injector.queues.diagnosis.advice import advice
from injector.queues.diagnosis.causes import Case, case_of, findings, unexplained
from injector.queues.diagnosis.codes import OK, OVERLOAD, in_words
from injector.queues.diagnosis.creates import overload
from injector.queues.diagnosis.evidence import Evidence
from injector.queues.diagnosis.figures import Bounds, Figures, together
from injector.queues.diagnosis.verdict import Cause, Confidence, Diagnosis, Finding, Verdict

_DEFAULT = Bounds()
_SURE = list(Confidence)
_SHOWN = 3


def diagnose(evidence: Evidence, bounds: Bounds = _DEFAULT) -> Diagnosis:
    """Return what holds the queues back, the cause of most queues first; nothing if nothing does.

    A cause that several queues share is one verdict with the numbers of all of them together.
    Queues that are idle are starved only where there is work: others have some, or creates are
    refused. Else they are at rest, which is no fault and gets a note.
    """
    cases = [case_of(queue, bounds) for queue in evidence.queues]
    found: dict[Cause, list[tuple[Case, Finding]]] = defaultdict(list)
    for case in cases:
        for finding in findings(case):
            found[finding.cause].append((case, finding))
    refused = overload(evidence.creates, bounds)
    idle = [] if refused or _works(cases) else found.pop(Cause.STARVED, [])
    verdicts = [_verdict(cause, held) for cause, held in found.items()]
    verdicts.sort(key=lambda verdict: -len(verdict.queues))
    whole = together([case.figures for case in cases])
    if refused:
        verdicts.append(_of_all(refused, whole, len(cases)))
    notes = (*_at_rest(idle), *_notes(cases, whole, bounds))
    return Diagnosis(tuple(verdicts), whole, notes, evidence.unseen)


def _works(cases: Sequence[Case]) -> bool:
    """Tell whether one of the queues has something to do."""
    return any(case.figures.rate or case.waits for case in cases)


def _at_rest(idle: Sequence[tuple[Case, Finding]]) -> Iterator[str]:
    if idle:
        count = f"{len(idle)} queue{'s are' if len(idle) > 1 else ' is'}"
        yield (
            f"{count} idle, which is no fault: {idle[0][1].why}; after some minutes without a task "
            "a queue begins cold again (injector group keep-warm)"
        )


def _verdict(cause: Cause, held: Sequence[tuple[Case, Finding]]) -> Verdict:
    """Make one verdict of a cause's findings, in the words of the queue with the most tasks."""
    figures = together([case.figures for case, _ in held])
    worst, said = max(held, key=lambda each: each[0].figures.depth or 0.0)
    why = said.why if len(held) == 1 else f"{worst.queue.name.rpartition('/')[2]}: {said.why}"
    sure = max((finding.confidence for _, finding in held), key=_SURE.index)
    queues = tuple(case.queue.name for case, _ in held)
    return Verdict(cause, sure, why, advice(cause, figures, queues=len(held)), queues, figures)


def _of_all(finding: Finding, figures: Figures, queues: int) -> Verdict:
    said = advice(finding.cause, figures, queues=queues)
    return Verdict(finding.cause, finding.confidence, finding.why, said, (), figures)


def _notes(cases: Sequence[Case], whole: Figures, bounds: Bounds) -> Iterator[str]:
    """Yield what is none of the causes and yet worth knowing."""
    others = {code for code in whole.attempts if code not in OVERLOAD | {OK}}
    for code in sorted(others):
        share = whole.share(frozenset({code}))
        if share >= bounds.failing:
            yield (
                f"{100 * share:.2g} % of the attempts end in {in_words(code)}: the target refuses "
                "them, and they are tried again until max_attempts"
            )
    odd = [case.queue.name.rpartition("/")[2] for case in cases if unexplained(case)]
    if odd:
        named = ", ".join(odd[:_SHOWN]) + (", …" if len(odd) > _SHOWN else "")
        yield f"tasks wait in {named}, and no cause that is known here explains it; look again soon"
