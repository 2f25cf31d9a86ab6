"""What a check of `injector doctor` found."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found: `verdict` is ok, doubt or fault; `mend` says what would help."""

    name: str
    verdict: str
    said: str
    mend: str = ""


def ok(name: str, said: str) -> Finding:
    """Make a finding without fault."""
    return Finding(name, "ok", said)
