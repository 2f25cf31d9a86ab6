"""How long the tests that fuzz the emulator try."""

import os

from hypothesis import HealthCheck, settings


def tried(cases: int) -> settings:
    """Return settings to try so many cases, or as many as the environment's FUZZ_CASES says."""
    return settings(
        max_examples=int(os.environ.get("FUZZ_CASES") or cases),
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
