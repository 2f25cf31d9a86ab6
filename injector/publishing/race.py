"""One slow batch: the original with its retries, its hedges, and who is first."""

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from math import inf
from queue import Empty, SimpleQueue

import grpc
from google.pubsub_v1.types import PublishResponse

from injector.pacing.hedge import Action, Cancel, Chain, Finish, Hedging, Wake
from injector.pacing.hedge import Send as SendHedge
from injector.publishing.calls import Call, Send


class Over(Exception):
    """The batch has ended without this attempt."""


class Original:
    """The original's RPCs: goes on with the first one as it stands, and makes the retries.

    `error` is the first one's end if it has failed.
    """

    def __init__(self, call: Call | None, error: Exception | None = None) -> None:
        self._lock = threading.Lock()
        self._first = None if error else call
        self._call: Call | None = None
        self._error = error
        self._over = False

    def __call__(self, send: Send, timeout: float | None) -> PublishResponse:
        """Answer the RPC; raises Over once the batch has ended."""
        error, self._error = self._error, None
        if error:
            raise error
        with self._lock:
            if self._over:
                raise Over
            call = self._call = self._first or send(timeout=timeout)
            self._first = None
        try:
            return call.result()
        except grpc.FutureCancelledError as error:
            raise Over from error

    def cancel(self) -> None:
        """Cancel the RPC that is on its way; there will be no other."""
        with self._lock:
            self._over = True
            call = self._call or self._first
        if call:
            call.cancel()


Ended = tuple[int, PublishResponse | None, BaseException | None]
"""Which attempt has ended, with its answer or its error."""


class Race:
    """Carries out the rule's actions until the first success, or the original's end.

    It waits in the batch's own thread, the original goes on in another: a hedge's answer is
    taken even while the original waits to be sent again.
    """

    def __init__(
        self,
        rule: Callable[[], AbstractContextManager[Hedging]],
        send: Send,
        original: Original,
        *,
        clock: Callable[[], float],
    ) -> None:
        self._rule = rule
        self._send = send
        self._original = original
        self._clock = clock
        self._ends: SimpleQueue[Ended] = SimpleQueue()
        self._hedges: dict[int, Call] = {}
        self._wake_at = inf

    def run(
        self, go_on: Callable[[Original], PublishResponse], *, since: float, total_s: float
    ) -> PublishResponse:
        """Return the first answer; raises the original's error if that comes before any."""
        with self._rule() as rule:
            chain = rule.begin(now=since, timeout_s=total_s)
            self._wake_at = since + rule.delay_s
        threading.Thread(
            target=self._go_on, args=(go_on,), name="Thread-HedgedOriginal", daemon=True
        ).start()
        while True:
            attempt, response, error = self._next()
            finish = self._act(self._told(chain, attempt, failed=error is not None))
            if finish and response is not None:
                return response
            if finish and error is not None:
                raise error

    def _go_on(self, go_on: Callable[[Original], PublishResponse]) -> None:
        try:
            self._ends.put((0, go_on(self._original), None))
        except Over:
            return
        except Exception as error:  # noqa: BLE001  # raised in the batch's thread
            self._ends.put((0, None, error))

    def _next(self) -> Ended:
        """Wait for an attempt's end, or until it is time to hedge: that is attempt -1."""
        left = self._wake_at - self._clock()
        try:
            return self._ends.get(timeout=max(0.0, left) if left < inf else None)
        except Empty:
            self._wake_at = inf
            return -1, None, None

    def _told(self, chain: Chain, attempt: int, *, failed: bool) -> Sequence[Action]:
        with self._rule():
            if attempt < 0:
                return chain.woke(now=self._clock())
            return chain.failed(attempt) if failed else chain.succeeded(attempt)

    def _act(self, actions: Sequence[Action]) -> bool:
        """Do what the rule says; tell whether the batch has ended."""
        finished = False
        for action in actions:
            if isinstance(action, SendHedge):
                self._hedge(action)
            elif isinstance(action, Wake):
                self._wake_at = action.at
            elif isinstance(action, Cancel):
                self._cancel(action.attempts)
            finished = finished or isinstance(action, Finish)
        return finished

    def _hedge(self, hedge: SendHedge) -> None:
        try:
            call = self._send(timeout=hedge.timeout_s)
        except (ValueError, grpc.RpcError) as error:  # the channel is closed
            self._ends.put((hedge.attempt, None, error))
        else:
            self._hedges[hedge.attempt] = call
            call.add_done_callback(partial(self._hedge_ended, hedge.attempt))

    def _hedge_ended(self, attempt: int, call: Call) -> None:
        try:
            self._ends.put((attempt, call.result(), None))
        except (grpc.RpcError, grpc.FutureCancelledError) as error:
            self._ends.put((attempt, None, error))

    def _cancel(self, attempts: Sequence[int]) -> None:
        for attempt in attempts:
            if attempt:
                self._hedges[attempt].cancel()
            else:
                self._original.cancel()
