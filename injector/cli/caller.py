"""Who the command line is to the service."""

from collections.abc import Callable
from urllib.parse import urlsplit

from injector.settings import Settings, is_loopback


def identity_of(settings: Settings, url: str) -> Callable[[], str]:
    """Return what gives the token to call the service at a URL with, when it is first needed.

    A token in the environment comes first. A service on this machine is shown none: it has no
    audience that Google would know. Elsewhere it is one of the caller's own, or of the service
    account that the caller impersonates; never over plain HTTP, where others can read it.
    """
    place = urlsplit(url)
    if settings.token or is_loopback(place.hostname) or place.scheme != "https":
        return lambda: settings.token
    from injector.delivery.identity import id_token  # noqa: PLC0415  (slow, and seldom needed)

    return id_token(url, settings.impersonate)
