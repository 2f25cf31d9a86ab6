"""What Cloud Scheduler does for a deployed service: a tick every minute."""

from collections.abc import Callable

import requests

from injector.clock import Clock

TICK_EVERY_S = 60.0
LOOK_EVERY_S = 0.5


class Ticks:
    """Ticks when a minute of the run's clock has passed.

    A tick that fails is said once and not caught up: the next one does the same work.
    """

    def __init__(self, service_url: str, clock: Clock, announce: Callable[[str], None]) -> None:
        self._url = f"{service_url}/control/tick"
        self._clock = clock
        self._announce = announce
        self._due = clock.monotonic()

    def due(self) -> bool:
        """Tell whether it is time for the next tick."""
        return self._clock.monotonic() >= self._due

    def tick(self) -> None:
        """Call the service's tick."""
        self._due = self._clock.monotonic() + TICK_EVERY_S
        try:
            answer = requests.post(self._url, timeout=30)
        except requests.RequestException as error:
            self._announce(f"a tick failed, the next one follows: {error}")
            return
        if not answer.ok:
            self._announce(f"a tick failed, the next one follows: {_reason(answer)}")


def _reason(answer: requests.Response) -> str:
    """Return what the service says is wrong, or its status where it says nothing."""
    try:
        return str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return f"{answer.status_code} {answer.reason}"
