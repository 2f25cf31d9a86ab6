"""Time series brought to equal spans, and summed up over each other (Cloud Monitoring)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum
from statistics import fmean, pstdev

from injector.emulator.api.refusals import invalid
from injector.emulator.records.series import BOUNDS, MINUTE_S, Point, Spread

Number = float | Spread


class Aligner(IntEnum):
    """How the points of a span become one; numbered as in Aggregation.Aligner."""

    NONE = 0
    DELTA = 1
    RATE = 2
    NEXT_OLDER = 4
    MIN = 10
    MAX = 11
    MEAN = 12
    COUNT = 13
    SUM = 14
    STDDEV = 15
    PERCENTILE_99 = 18
    PERCENTILE_95 = 19
    PERCENTILE_50 = 20
    PERCENTILE_05 = 21


class Reducer(IntEnum):
    """How several series become one; numbered as in Aggregation.Reducer."""

    NONE = 0
    MEAN = 1
    MIN = 2
    MAX = 3
    SUM = 4
    STDDEV = 5
    COUNT = 6


@dataclass(frozen=True, slots=True)
class Reading:
    """A number and the span that it stands for, in Unix seconds."""

    start: float
    end: float
    value: Number


def raw(points: Iterable[Point], *, gauge: bool) -> list[Reading]:
    """Return a minute's number each."""
    return [
        Reading(
            (point.minute + (1 if gauge else 0)) * MINUTE_S,
            (point.minute + 1) * MINUTE_S,
            point.spread or float(point.number),
        )
        for point in points
    ]


def align(
    readings: list[Reading], aligner: Aligner, *, period_s: float, end: float
) -> list[Reading]:
    """Return one reading for each span of the period that has any, counted back from `end`."""
    if aligner is Aligner.NONE:
        return readings
    if period_s < MINUTE_S:
        raise invalid("aggregation.alignment_period must be at least 60 seconds.")
    spans: dict[int, list[Number]] = {}
    for reading in readings:
        spans.setdefault(int((end - reading.end) // period_s), []).append(reading.value)
    return [
        Reading(end - (back + 1) * period_s, end - back * period_s, _one(aligner, values, period_s))
        for back, values in sorted(spans.items(), reverse=True)
    ]


def reduce(many: list[list[Reading]], reducer: Reducer) -> list[Reading]:
    """Return one series of what several have at the same times."""
    at: dict[tuple[float, float], list[Number]] = {}
    for readings in many:
        for reading in readings:
            at.setdefault((reading.start, reading.end), []).append(reading.value)
    return [
        Reading(start, end, _reduced(reducer, values))
        for (start, end), values in sorted(at.items())
    ]


def percentile(spread: Spread, share: float) -> float:
    """Return an estimate of a percentile: linear within its bucket."""
    wanted = share * spread.count
    seen = 0.0
    for index, number in enumerate(spread.buckets):
        if number and seen + number >= wanted:
            low = BOUNDS[index - 1] if index else 0.0
            high = BOUNDS[index] if index < len(BOUNDS) else low
            return low + (high - low) * (wanted - seen) / number
        seen += number
    return 0.0


def _one(aligner: Aligner, values: list[Number], period_s: float) -> Number:
    spreads = [value for value in values if isinstance(value, Spread)]
    if spreads:
        return _one_of_spreads(aligner, spreads)
    numbers = [value for value in values if isinstance(value, float)]
    match aligner:
        case Aligner.RATE:
            return sum(numbers) / period_s
        case Aligner.DELTA | Aligner.SUM:
            return sum(numbers)
        case Aligner.NEXT_OLDER:
            return numbers[-1]
        case _:
            return _NUMBERS.get(aligner, _unsupported)(numbers)


def _one_of_spreads(aligner: Aligner, spreads: list[Spread]) -> Number:
    whole = _merged(spreads)
    if aligner in (Aligner.DELTA, Aligner.SUM):
        return whole
    if aligner is Aligner.MEAN:
        return whole.mean
    if aligner is Aligner.COUNT:
        return float(whole.count)
    return percentile(whole, _SHARES[aligner]) if aligner in _SHARES else _unsupported([])


def _merged(spreads: list[Spread]) -> Spread:
    count = sum(spread.count for spread in spreads)
    mean = sum(spread.mean * spread.count for spread in spreads) / max(1, count)
    deviation = sum(s.deviation + s.count * (s.mean - mean) ** 2 for s in spreads)
    buckets = [sum(column) for column in zip(*(s.buckets for s in spreads), strict=True)]
    return Spread(count, mean, deviation, buckets)


def _reduced(reducer: Reducer, values: list[Number]) -> Number:
    spreads = [value for value in values if isinstance(value, Spread)]
    numbers = [value for value in values if isinstance(value, float)]
    if spreads:
        return _merged(spreads) if reducer is Reducer.SUM else _unsupported([])
    return _REDUCERS[reducer](numbers)


def _unsupported(_: list[float]) -> float:
    raise invalid("This aggregation is not supported for this metric.")


_SHARES = {
    Aligner.PERCENTILE_99: 0.99,
    Aligner.PERCENTILE_95: 0.95,
    Aligner.PERCENTILE_50: 0.5,
    Aligner.PERCENTILE_05: 0.05,
}
_NUMBERS: dict[Aligner, Callable[[list[float]], float]] = {
    Aligner.MIN: min,
    Aligner.MAX: max,
    Aligner.MEAN: fmean,
    Aligner.COUNT: lambda numbers: float(len(numbers)),
    Aligner.STDDEV: pstdev,
}
_REDUCERS: dict[Reducer, Callable[[list[float]], float]] = {
    Reducer.MEAN: fmean,
    Reducer.MIN: min,
    Reducer.MAX: max,
    Reducer.SUM: sum,
    Reducer.STDDEV: pstdev,
    Reducer.COUNT: lambda numbers: float(len(numbers)),
}
