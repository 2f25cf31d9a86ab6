"""How long a fault makes a call wait."""

from dataclasses import dataclass
from math import exp, log
from statistics import NormalDist


@dataclass(frozen=True, slots=True)
class Latency:
    """A distribution of seconds, of one of these kinds; none of them means no wait.

    `fixed_s` always; `uniform_s` between two bounds; `mean_s` exponential; `median_s` with
    `sigma` log-normal, where 99 of 100 waits stay below median · e^(2.33 sigma); `quantiles`
    as pairs of share and seconds, linear in between, such as ((0.5, 0.02), (0.99, 2.0)).
    """

    fixed_s: float = 0.0
    uniform_s: tuple[float, float] | None = None
    mean_s: float = 0.0
    median_s: float = 0.0
    sigma: float = 1.0
    quantiles: tuple[tuple[float, float], ...] = ()

    def draw(self, draw: float) -> float:
        """Return the seconds that a uniform number in [0, 1) stands for."""
        if self.quantiles:
            return _between(self.quantiles, draw)
        if self.uniform_s is not None:
            low, high = self.uniform_s
            return low + (high - low) * draw
        if self.mean_s:
            return -self.mean_s * log(1 - draw)
        if self.median_s:
            share = min(max(draw, 1e-9), 1 - 1e-9)
            return self.median_s * exp(self.sigma * NormalDist().inv_cdf(share))
        return self.fixed_s


def _between(quantiles: tuple[tuple[float, float], ...], draw: float) -> float:
    share, seconds = 0.0, 0.0
    for next_share, next_seconds in quantiles:
        if draw < next_share:
            part = (draw - share) / (next_share - share)
            return seconds + (next_seconds - seconds) * part
        share, seconds = next_share, next_seconds
    return seconds
