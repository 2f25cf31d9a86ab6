"""When a local run's clock began, kept so that a run that is started again goes on in time."""

import json
from pathlib import Path

from injector.errors import Misused

CLOCK = "clock.json"


def origin_of(folder: Path, *, speed: float, now: float) -> float:
    """Return the origin of the folder's clock in Unix seconds.

    A clock with another speed than before begins anew at `now`. Raises Misused when what is
    kept is no clock.
    """
    path = folder / CLOCK
    if path.exists():
        kept_speed, origin = _kept(path)
        if kept_speed == speed:
            return origin
    return now


def keep_origin(folder: Path, *, speed: float, origin: float) -> None:
    """Remember the folder's clock; only for who owns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    written = json.dumps({"speed": speed, "origin": origin})
    (folder / CLOCK).write_text(written, encoding="utf-8")


def _kept(path: Path) -> tuple[float, float]:
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        speed, origin = float(kept["speed"]), float(kept["origin"])
    except (ValueError, KeyError, TypeError) as error:
        raise Misused(f"{path}: is not a clock of injector up; remove it to begin anew") from error
    return speed, origin
