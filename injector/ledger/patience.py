"""Doing it again while a database is busy or away."""

from collections.abc import Callable
from typing import TypeVar

from tenacity import (
    Retrying,
    retry_if_exception_type,
    stop_after_delay,
    wait_random_exponential,
)

from injector.errors import Retryable

T = TypeVar("T")


def patiently(work: Callable[[], T], patience_s: float) -> T:
    """Do it, and as long as it is not taken do it again, for `patience_s` at most.

    The first time costs no more than the call: it is nearly always the last.
    """
    try:
        return work()
    except Retryable:
        attempts = Retrying(
            retry=retry_if_exception_type(Retryable),
            wait=wait_random_exponential(multiplier=0.02, max=1.0),
            stop=stop_after_delay(patience_s),
            reraise=True,
        )
        return attempts(work)
