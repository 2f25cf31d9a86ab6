"""The examples in the documentation."""

import re
import shlex
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

_COMMAND = re.compile(r"(?:\S*/)?injector (.*)")


@dataclass(frozen=True)
class Example:
    """A fenced block: where it is, what it is written in, and its text."""

    place: str
    language: str
    text: str


def examples(*languages: str) -> list[Example]:
    return [
        Example(f"{page.relative_to(ROOT)} #{number}", language, text)
        for page in PAGES
        if "reference" not in page.parts
        for number, (language, text) in enumerate(_FENCE.findall(page.read_text()), 1)
        if language in languages
    ]


def commands() -> list[tuple[str, list[str]]]:
    """Return each `injector …` of the shell examples, with its place."""
    lines = [
        (example.place, line)
        for example in examples("sh")
        for line in example.text.replace("\\\n", " ").splitlines()
    ]
    found = [(place, _COMMAND.match(line)) for place, line in lines]
    return [(place, _words(match[1])) for place, match in found if match]


def _words(line: str) -> list[str]:
    """Split as a shell does, up to where the output goes."""
    words = shlex.shlex(line, posix=True, punctuation_chars=True)
    words.whitespace_split = True
    return list(takewhile(lambda word: word[0] not in "><|&;", words))


def ids(found):
    return [getattr(one, "place", None) or f"{one[0]}: {' '.join(one[1])}" for one in found]
