"""How the service is asked: over HTTP, again while it does not take what is sent.

Apart from what it is asked, since most commands load HTTP for that alone, and some never ask.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import requests
import tenacity

from injector.errors import Conflict, InjectorError, Misused, NotFound, Refused, Retryable

Json = dict[str, object]

TIMEOUT_S = 30.0
MOST_ASKED_S = 60.0
_GROWING = tenacity.wait_exponential(multiplier=0.5, max=8)
_JITTER = tenacity.wait_random(0, 0.5)
_WAY_IN = "set INJECTOR_TOKEN, or INJECTOR_IMPERSONATE to a service account that it lets in"


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the service at a base URL. None for a body or a query means that it has none."""

    url: str
    method: str
    path: str
    headers: Mapping[str, str]
    json: Json | None = None
    params: Mapping[str, str] | None = None


def ask(
    call: Call, *, attempts: int, sleep: Callable[[float], None], announce: Callable[[str], None]
) -> requests.Response:
    """Send the call, `attempts` times at most while it is not taken; tell each wait by `announce`.

    Raises the verdict of the last answer.
    """

    def tell(state: tenacity.RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        wait_s = state.next_action.sleep if state.next_action else 0.0
        announce(f"{error} Trying again in {wait_s:.1f} s")

    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(Retryable),
        stop=tenacity.stop_after_attempt(attempts),
        wait=_wait,
        sleep=sleep,
        before_sleep=tell,
        reraise=True,
    )
    return retrying(_send, call)


def health(url: str, headers: Mapping[str, str]) -> requests.Response:
    """Ask once whether the service is ready, and return what it says, whatever that is."""
    return _answer(Call(url, "GET", "/ready", headers))


def object_of(answer: requests.Response) -> Json:
    """Return the JSON object of an answer; raise Misused where it is none."""
    try:
        found = answer.json()
    except ValueError as error:
        raise Misused(f"{answer.url} did not answer in JSON; is it an injector service?") from error
    if not isinstance(found, dict):
        raise Misused(f"{answer.url} did not answer as an injector service does")
    return found


def _send(call: Call) -> requests.Response:
    answer = _answer(call)
    if not answer.ok or answer.is_redirect:
        raise _verdict(answer, call.url)
    return answer


def _answer(call: Call) -> requests.Response:
    try:
        return requests.request(
            call.method,
            call.url + call.path,
            json=call.json,
            params=call.params,
            headers=dict(call.headers),
            timeout=TIMEOUT_S,
            allow_redirects=False,
        )
    except requests.exceptions.InvalidURL as error:
        raise Misused(f"{call.url} is not a service's URL: {error}") from error
    except requests.RequestException as error:
        raise Retryable(
            f"the service at {call.url} cannot be reached; is it up (injector up, injector serve)? "
            "--service names another."
        ) from error


def _wait(state: tenacity.RetryCallState) -> float:
    """Wait longer each time, and no shorter than the service asks."""
    return max(_GROWING(state), _asked(state)) + _JITTER(state)


def _verdict(answer: requests.Response, url: str) -> InjectorError:
    """Turn an error's status into the product's own verdict."""
    status, detail = answer.status_code, _detail(answer)
    if status in {401, 403}:
        return Refused(f"the service at {url} does not let you in: {detail}; {_WAY_IN}")
    if status == 429 or status >= 500:
        return Retryable(
            f"the service at {url} answered {status}: {detail}",
            retry_after_s=_asked_to_wait(answer),
        )
    if status < 400:
        return Misused(f"{url} answered {status}; it does not seem to be an injector service")
    kinds: dict[int, type[Misused]] = {404: NotFound, 409: Conflict}
    return kinds.get(status, Misused)(detail)


def _asked_to_wait(answer: requests.Response) -> float | None:
    """Return the seconds of Retry-After, within reason; None where it says nothing, or a date."""
    text = answer.headers.get("Retry-After", "")
    return min(float(text), MOST_ASKED_S) if re.fullmatch("[0-9]{1,9}", text) else None


def _asked(state: tenacity.RetryCallState) -> float:
    """Wait as long as the service asks to be left alone."""
    error = state.outcome.exception() if state.outcome else None
    return (error.retry_after_s or 0.0) if isinstance(error, Retryable) else 0.0


def _detail(answer: requests.Response) -> str:
    """Return the detail of a problem document (RFC 9457), or the status line's words."""
    try:
        found = answer.json()
    except ValueError:
        return answer.reason or str(answer.status_code)
    detail = found.get("detail") or found.get("title") if isinstance(found, dict) else None
    return str(detail or answer.reason)
