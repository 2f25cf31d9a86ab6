"""A clock for tests of what waits."""

T0 = 1_800_000_000.0


class MovingClock:
    """A clock that whoever waits moves on."""

    def __init__(self) -> None:
        self.at = T0

    def now(self) -> float:
        return self.at

    monotonic = now

    def sleep(self, seconds: float) -> None:
        self.at += seconds
