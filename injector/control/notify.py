"""Telling a webhook or a topic that a job has ended: signed, tried again for a day, told once.

The form is that of Standard Webhooks (https://www.standardwebhooks.com): `webhook-id` stays the
same over all tries, so that a receiver can tell a repeat. What is said of a URL is its host
alone, for the rest may be a secret.
"""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from injector.clock import Clock
from injector.delivery.ports import Create, Creator, Outcome
from injector.errors import Retryable
from injector.groups import Group
from injector.ledger.ports import Job, LedgerPort, Notice

FIRST_WAIT_S = 60.0
MOST_WAIT_S = 3600.0
MOST_TRIES = 30
_EVENT = ("injector-event", "job.ended")
RESERVE_S = 12.0

Post = Callable[[str, bytes, Mapping[str, str]], None]
"""Posts a body to a URL with headers; raises Retryable unless it was answered 2xx."""

PUBLISH_S = 10.0


@dataclass(frozen=True, slots=True)
class Notifies:
    """Tells webhooks; with a secret, receivers can verify by whom they are told."""

    ledger: LedgerPort
    clock: Clock
    post: Post
    secret: str = ""

    def run(self, group: Group, *, rate: float, time_left: Callable[[], float]) -> Iterator[str]:
        """Give the notices of the group that are due, and say to whom."""
        del rate
        for notice in self.ledger.notices.due(group.name, now=self.clock.now()):
            if time_left() > RESERVE_S:
                yield self._give(notice)

    def _give(self, notice: Notice) -> str:
        job, host = self.ledger.jobs.get(notice.job), _spoken(notice.url)
        body = json.dumps(_event(job, self.ledger)).encode()
        headers = signed(f"{job.id}-{job.version}", body, secret=self.secret, now=self.clock.now())
        try:
            self.post(notice.url, body, headers)
        except Retryable as error:
            until = next_try(notice.tries, now=self.clock.now())
            self.ledger.notices.put_off(notice, until=until)
            rest = "it is tried again" if until else "that was the last try"
            return f"{host} could not be told of job {job.id}: {error}; {rest}"
        self.ledger.notices.put_off(notice, until=None)
        return f"{host} was told of job {job.id}"


def post_or_publish(post: Post, publisher: Creator) -> Post:
    """Make the function that tells a topic by a message, and all else by a POST.

    The message's `injector-id` is what a webhook gets as `webhook-id`.
    """

    def tell(address: str, body: bytes, headers: Mapping[str, str]) -> None:
        if not is_topic(address):
            post(address, body, headers)
            return
        message = Create(address, headers["webhook-id"], "", body, headers=(_EVENT,))
        (end,) = publisher.create_all([message], budget_s=PUBLISH_S)
        if end.outcome is not Outcome.CREATED:
            raise Retryable(end.reason or end.code)

    return tell


def is_topic(address: str) -> bool:
    """Tell a topic's full name from a URL."""
    return address.startswith("projects/")


def _spoken(address: str) -> str:
    return address if is_topic(address) else urlsplit(address).hostname or ""


def next_try(tries: int, *, now: float) -> float | None:
    """Return when to try again after so many tries before this one; None for never."""
    if tries + 1 >= MOST_TRIES:
        return None
    return now + min(MOST_WAIT_S, FIRST_WAIT_S * 2.0**tries)


def signed(message_id: str, body: bytes, *, secret: str, now: float) -> dict[str, str]:
    """Return the headers that go with a body; without a secret there is no signature."""
    at = str(int(now))
    headers = {
        "Content-Type": "application/json",
        "webhook-id": message_id,
        "webhook-timestamp": at,
    }
    if secret:
        text = b".".join((message_id.encode(), at.encode(), body))
        digest = hmac.new(_key(secret), text, hashlib.sha256).digest()
        headers["webhook-signature"] = f"v1,{base64.b64encode(digest).decode()}"
    return headers


def _key(secret: str) -> bytes:
    """Read a secret as Standard Webhooks writes it, or take it as it is."""
    if secret.startswith("whsec_"):
        return base64.b64decode(secret.removeprefix("whsec_"))
    return secret.encode()


def _event(job: Job, ledger: LedgerPort) -> dict[str, object]:
    totals = ledger.jobs.totals(job.id)
    return {
        "type": f"job.{job.state.value}",
        "timestamp": job.finished_at,
        "data": {
            "job": job.id,
            "group": job.group,
            "state": job.state.value,
            "reason": job.reason,
            "records": job.records,
            "created": totals.created,
            "existed": totals.existed,
            "rejected": totals.rejected,
            "open": job.records - totals.settled,
            "digest": job.digest,
            "started_at": job.started_at,
            "finished_at": job.finished_at,
        },
    }
