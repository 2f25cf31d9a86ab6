"""Retry settings: what may be asked for, and what the service makes of it."""

from math import floor

from injector.emulator.api import instants, messages
from injector.emulator.api.refusals import invalid
from injector.emulator.state.limits import RetryConfig

_DEFAULTS = RetryConfig()
_LONGEST_S = 315_576_000_000.0
"""The most seconds that a Duration may hold."""


def complete(config: messages.RetryConfig) -> RetryConfig:
    """Check the settings, fill in and round what the service would; return them as a value."""
    _check(config)
    config.max_attempts = config.max_attempts or _DEFAULTS.max_attempts
    config.max_doublings = config.max_doublings or _DEFAULTS.max_doublings
    retry = RetryConfig(
        max_attempts=config.max_attempts,
        max_retry_duration_s=float(floor(instants.span_s(config.max_retry_duration))),
        min_backoff_s=_whole_s(config.min_backoff) or _least(config),
        max_backoff_s=_whole_s(config.max_backoff) or _DEFAULTS.max_backoff_s,
        max_doublings=config.max_doublings,
    )
    if retry.min_backoff_s > retry.max_backoff_s:
        raise invalid(
            "RetryConfig.minBackoff must be less than or equal to RetryConfig.maxBackoff."
        )
    _write(config, retry)
    return retry


def _least(config: messages.RetryConfig) -> float:
    return min(_DEFAULTS.min_backoff_s, _whole_s(config.max_backoff) or _DEFAULTS.max_backoff_s)


def _whole_s(duration: messages.Duration) -> float:
    """Return a span cut to whole seconds, as documented.

    One below a second is kept: the default itself is 0.1 s, and must survive being read and
    written back.
    """
    seconds = instants.span_s(duration)
    return float(floor(seconds)) if seconds >= 1 else round(seconds, 3)


def _check(config: messages.RetryConfig) -> None:
    if config.max_attempts < -1:
        raise invalid("RetryConfig.maxAttempts must be greater or equal to -1.")
    if config.max_doublings < 0:
        raise invalid("RetryConfig.maxDoublings cannot be negative.")
    _check_span("maxRetryDuration", config.max_retry_duration)
    _check_span("minBackoff", config.min_backoff)
    _check_span("maxBackoff", config.max_backoff)


def _check_span(name: str, duration: messages.Duration) -> None:
    if duration.seconds < 0 or duration.nanos < 0:
        raise invalid(f"RetryConfig.{name} cannot be negative.")
    if instants.span_s(duration) > _LONGEST_S or duration.nanos >= 1_000_000_000:
        raise invalid(f"RetryConfig.{name} is out of range.")


def _write(config: messages.RetryConfig, retry: RetryConfig) -> None:
    instants.write_span(config.min_backoff, retry.min_backoff_s)
    instants.write_span(config.max_backoff, retry.max_backoff_s)
    if config.HasField("max_retry_duration"):
        instants.write_span(config.max_retry_duration, retry.max_retry_duration_s)
