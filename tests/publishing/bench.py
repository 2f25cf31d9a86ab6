"""An emulator with one topic, and hedged publishers that call it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import requests

from injector.publishing import HedgedPublisherClient, HedgingSettings
from tests.emulator.live import Live, live_emulator
from tests.emulator.pubsub import SUBSCRIPTION, TOPIC, Port, clients_of
from tests.waiting import PATIENCE_S

SOON = HedgingSettings(hedge_delay=0.1, refill_ratio=0.2)


@dataclass
class Bench:
    """An emulator with one topic, and hedged publishers that call it."""

    live: Live
    port: Port

    def publisher(self, hedging: HedgingSettings | None = SOON, **options: object):
        return self.port.publisher(HedgedPublisherClient, hedging=hedging, **options)

    def warm(self, publisher, tokens: int = 1):
        """Publish until the bucket holds so many tokens."""
        while publisher.hedging_stats().tokens < tokens:
            publisher.publish(TOPIC, b"warm").result(PATIENCE_S)
        self.reset()
        return publisher

    def plan(self, *faults: dict) -> None:
        each = [{"methods": ["Publish"], **fault} for fault in faults]
        requests.put(f"{self.live.url}/control/faults", json={"faults": each}, timeout=PATIENCE_S)

    def reset(self) -> None:
        requests.post(f"{self.live.url}/control/reset?keep_queues=true", timeout=PATIENCE_S)

    @property
    def seen(self) -> dict[str, int]:
        """What the server has seen of publishes, by code."""
        found = requests.get(f"{self.live.url}/control/topics", timeout=PATIENCE_S).json()["topics"]
        return found[0]["publishes"]

    @property
    def stored(self) -> int:
        found = requests.get(f"{self.live.url}/control/topics", timeout=PATIENCE_S).json()["topics"]
        return found[0]["subscriptions"][0]["backlog"]


@contextmanager
def a_bench() -> Iterator[Bench]:
    """Yield an emulator with one topic and one subscription."""
    starts = (f"{SUBSCRIPTION}={{topic: {TOPIC}}}",)
    with (
        live_emulator(topics=(TOPIC,), subscriptions=starts) as live,
        clients_of(live.running.port) as port,
    ):
        yield Bench(live, port)
