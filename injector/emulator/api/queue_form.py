"""A queue as callers write it, and as the service keeps it."""

from math import isnan

from injector.emulator.api import messages, retry_form, routing
from injector.emulator.api.paths import Location
from injector.emulator.api.refusals import invalid
from injector.emulator.state.limits import (
    MAX_CONCURRENT,
    MAX_RATE,
    Limits,
    RateLimits,
    burst_size,
)

_MAX_HEADERS = 80 * 1024


def complete(queue: messages.Queue, where: Location) -> Limits:
    """Check a queue's settings, fill in the defaults, and drop what is output only."""
    for field in ("state", "purge_time"):
        queue.ClearField(field)
    if queue.HasField("app_engine_routing_override"):
        override = queue.app_engine_routing_override
        routing.fill_host(override, project=where.project, location=where.location)
    if queue.HasField("http_target"):
        _check_target(queue.http_target)
    _check_logging(queue.stackdriver_logging_config)
    return Limits(_rate(queue.rate_limits), retry_form.complete(queue.retry_config))


def _rate(limits: messages.RateLimits) -> RateLimits:
    rate = limits.max_dispatches_per_second
    if rate < 0 or isnan(rate):
        raise invalid("RateLimits.maxDispatchesPerSecond cannot be negative.")
    if rate > MAX_RATE:
        raise invalid("RateLimits.maxDispatchesPerSecond must be less than or equal to 500.")
    if limits.max_concurrent_dispatches < 0:
        raise invalid("RateLimits.maxConcurrentDispatches cannot be negative.")
    if limits.max_concurrent_dispatches > MAX_CONCURRENT:
        raise invalid("RateLimits.maxConcurrentDispatches must be less than or equal to 5000.")
    defaults = RateLimits()
    limits.max_dispatches_per_second = rate or defaults.max_dispatches_per_second
    limits.max_concurrent_dispatches = (
        limits.max_concurrent_dispatches or defaults.max_concurrent_dispatches
    )
    limits.max_burst_size = burst_size(limits.max_dispatches_per_second)
    return RateLimits(limits.max_dispatches_per_second, limits.max_concurrent_dispatches)


def _check_logging(config: messages.StackdriverLoggingConfig) -> None:
    if not 0 <= config.sampling_ratio <= 1:
        raise invalid("StackdriverLoggingConfig.samplingRatio must be between 0.0 and 1.0.")


def _check_target(target: messages.HttpTarget) -> None:
    _check_uri(target.uri_override)
    if not 0 <= target.http_method <= messages.LAST_HTTP_METHOD:
        raise invalid("HttpTarget.httpMethod is not a known method.")
    headers = [override.header for override in target.header_overrides]
    if any(not header.key for header in headers):
        raise invalid("HttpTarget.headerOverrides need a key.")
    if sum(len(h.key.encode()) + len(h.value.encode()) for h in headers) >= _MAX_HEADERS:
        raise invalid("HttpTarget.headerOverrides must be less than 80KB.")
    _check_tokens(target)


def _check_uri(uri: messages.UriOverride) -> None:
    if uri.HasField("host") and not uri.host:
        raise invalid("UriOverride.host cannot be an empty string.")
    if uri.HasField("port") and not 0 <= uri.port <= 65535:
        raise invalid("UriOverride.port must be a positive integer, or 0 to clear it.")
    if not 0 <= uri.scheme <= messages.LAST_SCHEME:
        raise invalid("UriOverride.scheme is not a known scheme.")
    if not 0 <= uri.uri_override_enforce_mode <= messages.LAST_ENFORCE_MODE:
        raise invalid("UriOverride.uriOverrideEnforceMode is not a known mode.")


def _check_tokens(target: messages.HttpTarget) -> None:
    kind = target.WhichOneof("authorization_header")
    if kind == "oauth_token":
        token = target.oauth_token
        if not token.service_account_email or not token.scope:
            raise invalid("HttpTarget.oauthToken needs a service account email and a scope.")
    if kind == "oidc_token":
        oidc = target.oidc_token
        if not oidc.service_account_email or not oidc.audience:
            raise invalid("HttpTarget.oidcToken needs a service account email and an audience.")
