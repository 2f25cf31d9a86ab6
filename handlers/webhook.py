"""Posting to webhooks."""

from collections.abc import Mapping

import requests

from injector.errors import Retryable

TIMEOUT_S = 10.0


def post(url: str, body: bytes, headers: Mapping[str, str]) -> None:
    """Post the body; raise Retryable, without the URL in its words, unless it is answered 2xx."""
    try:
        answer = requests.post(
            url, data=body, headers=dict(headers), timeout=TIMEOUT_S, allow_redirects=False
        )
    except requests.RequestException as error:
        raise Retryable(f"no answer ({type(error).__name__})") from error
    if not 200 <= answer.status_code < 300:
        raise Retryable(f"it answered {answer.status_code}")
