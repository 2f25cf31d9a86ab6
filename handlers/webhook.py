"""Posting to webhooks, which a job names and so may lead anywhere.

What the service can reach and the world cannot (a metadata server, a neighbour in its network)
is not called: the name is looked up once, and that address is judged and called.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

import requests
from requests_hardened import Config, Manager
from requests_hardened.ip_filter import InvalidIPAddress

from injector.errors import Misused, Retryable
from injector.settings import is_loopback

TIMEOUT_S = 10.0
_INSIDE = (".internal", ".local", ".localhost", "localhost")


@dataclass(frozen=True, slots=True)
class Webhooks:
    """Webhooks over https; in a `local` run those of this machine too, over http as well."""

    local: bool = False

    def check(self, url: str) -> None:
        """Raise Misused for a URL that would never be called, told from its words alone."""
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".")
        if self.local and is_loopback(host):
            return
        if parts.scheme != "https" or _is_inside(host):
            raise Misused(
                f"notify.webhook: this service does not call {parts.scheme}://{host}; give a URL"
                " over https at a public host, such as https://hooks.example/injector"
            )

    def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> None:
        """Post the body; raise Retryable, with no URL in its words, unless it is answered 2xx."""
        try:
            self.check(url)
            answer = self._client.send_request("POST", url, data=body, headers=dict(headers))
        except Misused as error:
            raise Retryable("it is not at a public host, or not over https") from error
        except InvalidIPAddress as error:
            raise Retryable("its name leads to an address that is not public") from error
        except requests.RequestException as error:
            raise Retryable(f"no answer ({type(error).__name__})") from error
        if not 200 <= answer.status_code < 300:
            raise Retryable(f"it answered {answer.status_code}")

    @property
    def _client(self) -> Manager:
        return Manager(
            Config(
                ip_filter_enable=True,
                ip_filter_allow_loopback_ips=self.local,
                never_redirect=True,
                default_timeout=(TIMEOUT_S, TIMEOUT_S),
            )
        )


def _is_inside(host: str) -> bool:
    """Tell what is no public host, by its name or its number."""
    try:
        return not ip_address(host).is_global
    except ValueError:
        return "." not in host or host.endswith(_INSIDE)
