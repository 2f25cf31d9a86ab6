"""One batch: the original, its hedges once it is slow, and who is first."""

import threading
from collections.abc import Callable, Sequence
from contextvars import Context, copy_context
from functools import partial
from queue import Empty, SimpleQueue

import grpc
from google.pubsub_v1.types import PublishResponse

from injector.pacing.hedge import Action, Cancel, Chain, Finish, Wake
from injector.pacing.hedge import Send as SendHedge
from injector.publishing import calls
from injector.publishing.calls import Send


class Race:
    """Carries out the rule's actions until the first success, or the original's end.

    The original runs in the batch's own thread with the client's layers around it, each hedge
    in a thread of its own. A hedge that is first ends the original, be it on its way or waiting
    to be sent again: the layers around it get the hedge's answer as the original's.
    """

    def __init__(self, chain: Chain, lock: threading.Lock, watch: "Callable[[Race], None]") -> None:
        """Run with a chain of the publisher's rule, which is used under the lock."""
        self._chain = chain
        self._lock = lock
        self._watch = watch
        self._send: Send | None = None
        self._context = Context()
        self._cancels: dict[int, calls.Cancel] = {}
        self._answers: list[PublishResponse] = []
        self._woken: SimpleQueue[None] = SimpleQueue()
        self.over = False

    def original(self, send: Send, timeout: float | None) -> PublishResponse:
        """Make an RPC of the original, or take the answer that a hedge has got."""
        if self._send is None:
            self._send, self._context = send, copy_context()
            self._watch(self)
        try:
            if not self._answers:
                return send(timeout=timeout, begun=partial(self._begun, 0))
        except (grpc.RpcError, grpc.FutureCancelledError):
            if not self._answers:
                raise
        return self._answers[0]

    def wait(self, seconds: float) -> None:
        """Wait to send the original again, no longer than until a hedge has an answer."""
        try:
            self._woken.get(timeout=seconds)
        except Empty:
            return

    def slow(self, *, now: float) -> float | None:
        """Hedge, now that one more delay has passed; return when to do so again, if at all."""
        with self._lock:
            actions = self._chain.woke(now=now)
        again = None
        for action in actions:
            if isinstance(action, SendHedge):
                self._start(action)
            elif isinstance(action, Wake):
                again = action.at
        return again

    def succeeded(self, attempt: int, answer: PublishResponse) -> None:
        """Take an attempt's answer; the first one is the batch's."""
        with self._lock:
            actions = self._chain.succeeded(attempt)
            if any(isinstance(action, Finish) for action in actions):
                self._answers.append(answer)
        self._act(actions)

    def ended(self) -> PublishResponse | None:
        """Take the original's last error; return the answer of a hedge that was first, if any.

        One may come in while the error is on its way up through the client's layers.
        """
        self._failed(0)
        return self._answers[0] if self._answers else None

    def _failed(self, attempt: int) -> None:
        with self._lock:
            actions = self._chain.failed(attempt)
        self._act(actions)

    def _start(self, hedge: SendHedge) -> None:
        """Send a hedge in a thread with the batch's context, so that its trace goes on."""
        run, work = self._context.copy().run, partial(self._hedge, hedge)
        threading.Thread(target=run, args=(work,), name="Thread-Hedge", daemon=True).start()

    def _hedge(self, hedge: SendHedge) -> None:
        assert self._send
        begun = partial(self._begun, hedge.attempt)
        try:
            answer = self._send(timeout=hedge.timeout_s, begun=begun)
        except Exception:  # noqa: BLE001  # nobody's, whatever it is
            self._failed(hedge.attempt)
        else:
            self.succeeded(hedge.attempt, answer)

    def _begun(self, attempt: int, cancel: calls.Cancel) -> None:
        self._cancels[attempt] = cancel
        if self.over:
            cancel()

    def _act(self, actions: Sequence[Action]) -> None:
        """End the batch where the rule says so."""
        for action in actions:
            if isinstance(action, Finish):
                self.over = True
                self._woken.put(None)
            elif isinstance(action, Cancel):
                for cancel in filter(None, map(self._cancels.get, action.attempts)):
                    cancel()
