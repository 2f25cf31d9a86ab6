"""When a local run's clock began, kept so that a run that is started again goes on in time."""

import json
from pathlib import Path


def origin_of(folder: Path, *, speed: float, now: float) -> float:
    """Return the origin of the folder's clock in Unix seconds, and remember it.

    A clock with another speed than before begins anew at `now`.
    """
    path = folder / "clock.json"
    kept = json.loads(path.read_text()) if path.exists() else {}
    if kept.get("speed") == speed:
        return float(kept["origin"])
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"speed": speed, "origin": now}))
    return now
