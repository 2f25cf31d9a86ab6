"""What is wrong in a file, and where."""

from dataclasses import dataclass

from injector.errors import Misused


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A line and a column, counted from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """What is wrong at a place, and what would do."""

    place: Place
    message: str


def complaint(source: str, problems: list[Problem]) -> Misused:
    """Gather the problems of a file, one line each, in the order of their places."""
    lines = (
        f"{source}:{problem.place.line}:{problem.place.column}: {problem.message}"
        for problem in sorted(set(problems))
    )
    return Misused("\n".join(lines))
