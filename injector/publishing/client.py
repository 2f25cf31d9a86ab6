"""google-cloud-pubsub's publisher, with hedging."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from google.api_core import gapic_v1
from google.api_core.retry import Retry
from google.cloud.pubsub_v1 import PublisherClient
from google.cloud.pubsub_v1.types import BatchSettings, PublisherOptions
from google.pubsub_v1.types import PublishResponse

from injector.pacing.hedge import Hedging, HedgingSettings
from injector.publishing import seam
from injector.publishing.hedger import Hedger, HedgingStats


class HedgedPublisherClient(PublisherClient):  # type: ignore[misc]  # it has no types
    """A PublisherClient that sends a batch again while it is slow, and takes the first answer.

    Batching, flow control, retries, time-outs and tracing go on as they are set. Without
    `hedging` it is the plain client. A batch may be stored twice, under different message ids:
    subscribers have to bear that.

    Raises Misused when hedging cannot be: with message ordering, with a delay that is not below
    the time-out of the first RPC and the total one of the retries, without gRPC.
    """

    def __init__(
        self,
        batch_settings: BatchSettings | Sequence[object] = (),
        publisher_options: PublisherOptions | Sequence[object] = (),
        *,
        hedging: HedgingSettings | None = None,
        **client_options: Any,  # noqa: ANN401  # the plain client's own, handed on
    ) -> None:
        super().__init__(batch_settings, publisher_options, **client_options)
        self._hedger: Hedger | None = None
        if hedging is not None:
            self._hedger = self._hedged(hedging)

    def hedging_stats(self) -> HedgingStats | None:
        """Return what hedging has done so far; None when it is off."""
        return self._hedger.stats() if self._hedger else None

    def stop(self) -> None:
        """Publish what is outstanding and take no more, as the plain client does."""
        super().stop()
        if self._hedger:
            self._hedger.close()

    def _hedged(self, settings: HedgingSettings) -> Hedger:
        options, transport = self.publisher_options, self.transport
        first_s = seam.first_timeout_s(transport, options.timeout)
        total_s = seam.total_timeout_s(self._retry_of(options.retry), first_s)
        rule = Hedging(
            settings,
            first_timeout_s=first_s,
            total_timeout_s=total_s,
            unrepeatable="message ordering" if options.enable_message_ordering else "",
        )
        return Hedger(rule, seam.put_under(transport))

    def _retry_of(self, retry: object) -> Retry | None:
        if retry is gapic_v1.method.DEFAULT:
            return seam.default_retry(self.transport)
        return retry if isinstance(retry, Retry) else None

    def _gapic_publish(self, *args: Any, **options: Any) -> PublishResponse:  # noqa: ANN401
        """Publish a batch: what the client's batches call."""
        if self._hedger is None:
            plain: PublishResponse = super()._gapic_publish(*args, **options)
            return plain
        retry = self._retry_of(options.pop("retry", gapic_v1.method.DEFAULT))
        timeout = options.get("timeout", gapic_v1.method.DEFAULT)
        first_s = seam.first_timeout_s(self.transport, timeout)
        return self._hedger.publish(
            partial(super()._gapic_publish, *args, **options),
            retry,
            total_s=seam.total_timeout_s(retry, first_s),
        )
