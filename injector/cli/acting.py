"""What the commands that steer jobs have in common."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from injector.cli.output import print_lines, say

Found = TypeVar("Found", bound=Mapping[str, object])


def act_on(
    jobs: Sequence[str], act: Callable[[str], Found], told: Callable[[Found], str], *, as_json: bool
) -> None:
    """Do it to each job in turn, and say what became of it; stops at the first that refuses."""
    for job in jobs:
        found = act(job)
        if as_json:
            print_lines([found])
        else:
            say(told(found))
