"""What publish hedging gives to slow calls, and what it costs when nothing is slow.

Google's publisher calls the emulator, which runs in a process of its own; the peer is the same
publisher without hedging, in turns with ours in the same run. One call in a hundred takes 3 s
more, or all of them take longer. Where calls are slow, a message is sent every few milliseconds
whatever became of those before it, and its latency counts from when it was due: a publisher whose
slow calls hold up the next ones would seem quick. Extra calls are counted by the server. A
duplicate is a message that a subscriber gets under a second message id; with the id that its
publisher put into an attribute it drops those.
"""

import argparse
import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.error import URLError
from urllib.request import Request, urlopen

import grpc
from google.cloud.pubsub_v1 import PublisherClient, SubscriberClient
from google.cloud.pubsub_v1.types import BatchSettings
from google.pubsub_v1.services.publisher.transports import PublisherGrpcTransport
from google.pubsub_v1.services.subscriber.transports import SubscriberGrpcTransport
from processes import free_ports
from rows import Row, printed

from injector.publishing import HedgedPublisherClient, HedgingSettings

TOPIC, SUBSCRIPTION = "projects/p/topics/bench", "projects/p/subscriptions/bench"
BYTES = b"x" * 100
SINGLE = BatchSettings(max_messages=1)
IN_FLIGHT = 20
EVERY_S = 0.01
AHEAD_S = 120.0


@dataclass(frozen=True, slots=True)
class Server:
    """An emulator in a process of its own."""

    port: int
    control: str

    def ask(self, verb: str, path: str, body: object = None) -> dict:
        """Ask its control port."""
        data = None if body is None else json.dumps(body).encode()
        with urlopen(Request(self.control + path, data, method=verb), timeout=10) as answer:
            return json.load(answer)

    def begin(self, *faults: dict) -> None:
        """Empty it, and put faults on publishes."""
        self.ask("POST", "/control/reset?keep_queues=true")
        each = [{"methods": ["Publish"], **fault} for fault in faults]
        self.ask("PUT", "/control/faults", {"faults": each})

    def calls(self) -> int:
        """Return how many publishes it has seen."""
        return sum(self.ask("GET", "/control/topics")["topics"][0]["publishes"].values())

    def plain(self, settings: BatchSettings | Sequence[object] = ()) -> PublisherClient:
        """Return Google's publisher."""
        return PublisherClient(settings, transport=self._transport())

    def hedged(
        self, hedging: HedgingSettings, settings: BatchSettings | Sequence[object] = ()
    ) -> HedgedPublisherClient:
        """Return ours."""
        return HedgedPublisherClient(settings, hedging=hedging, transport=self._transport())

    def subscriber(self) -> SubscriberClient:
        """Return Google's subscriber."""
        channel = grpc.insecure_channel(f"127.0.0.1:{self.port}")
        return SubscriberClient(transport=SubscriberGrpcTransport(channel=channel))

    def _transport(self) -> PublisherGrpcTransport:
        return PublisherGrpcTransport(channel=grpc.insecure_channel(f"127.0.0.1:{self.port}"))


@contextmanager
def emulator() -> Iterator[Server]:
    """Run an emulator with one topic and one subscription."""
    port, control = free_ports(2)
    command = [sys.executable, "-m", "injector.emulator", "--quiet", "--port", str(port)]
    command += ["--control-port", str(control), "--topic", TOPIC]
    command += ["--subscription", f"{SUBSCRIPTION}={{topic: {TOPIC}}}"]
    with subprocess.Popen(command) as process:
        server = Server(port, f"http://127.0.0.1:{control}")
        try:
            await_ready(server)
            yield server
        finally:
            process.terminate()


def await_ready(server: Server) -> None:
    """Wait until it answers."""
    deadline = time.monotonic() + AHEAD_S
    while time.monotonic() < deadline:
        try:
            server.ask("GET", "/healthz")
        except URLError:
            time.sleep(0.05)
        else:
            return
    raise SystemExit("the emulator does not start")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--full", action="store_true")
    printed(rows(full=parser.parse_args().full))


def rows(*, full: bool) -> Iterator[Row]:
    """Measure 20,000 publishes, or a tenth of them."""
    count = 20_000 if full else 2_000
    with emulator() as server:
        yield from tail_rows(server, count)
        yield from lasting_rows(server, count // 10)
        yield from duplicate_rows(server, count // 4)
        yield from throughput_rows(server, rounds=25 if full else 9)
        yield from single_rows(server, rounds=100 if full else 30)


def tail_rows(server: Server, count: int) -> Iterator[Row]:
    """One call in a hundred is slow by 3 s: latency with and without hedging."""
    slow = {"effect": "delay", "rate": 0.01, "latency": {"fixed_s": 3}}
    plain, _ = paced(server, server.plain(SINGLE), count, slow)
    for delay in (1.0, 0.1):
        publisher = server.hedged(HedgingSettings(hedge_delay=delay), SINGLE)
        took, calls = paced(server, publisher, count, slow)
        for name, share in (("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)):
            what = f"publish, 1 % slow by 3 s, delay {delay} s: {name}"
            ms = 1000 * quantile(took, share)
            yield Row(what, ms, "ms", "without hedging", 1000 * quantile(plain, share))
        extra = 100 * (calls - count) / count
        yield Row(f"extra calls, delay {delay} s", extra, "%", aim="about 1 %")


def lasting_rows(server: Server, count: int) -> Iterator[Row]:
    """All calls are slow: hedges stay within what tokens and successes pay for, and fade."""
    settings = HedgingSettings(hedge_delay=0.1, max_tokens=10)
    publisher = server.hedged(settings, SINGLE)
    published(server, publisher, 200)
    slow = {"effect": "delay", "latency": {"fixed_s": 0.5}}
    quarters = [published(server, publisher, count // 4, slow)[1] for _ in range(4)]
    extra = sum(quarters) - count // 4 * 4
    most = settings.max_tokens + settings.refill_ratio * count
    yield Row(f"extra calls, all of {count} slow", extra, "calls", aim=f"at most {most:.0f}")
    for name, calls in (("first", quarters[0]), ("last", quarters[-1])):
        share = 100 * (calls - count // 4) / (count // 4)
        yield Row(f"extra calls of the {name} quarter", share, "%")


def duplicate_rows(server: Server, count: int) -> Iterator[Row]:
    """One call in fifty is stored at once and answered 3 s later, so that hedges double it."""
    publisher = server.hedged(HedgingSettings(hedge_delay=0.1), SINGLE)
    published(server, publisher, 200)
    late = {"effect": "late", "rate": 0.02, "latency": {"fixed_s": 3}}
    published(server, publisher, count, late)
    ids = received(server)
    yield Row("duplicates by message id", 100 * (len(ids) - count) / count, "%")
    yield Row("duplicates by injector-id", 100 * (len(set(ids)) - count) / count, "%", aim="0")


def throughput_rows(server: Server, *, rounds: int) -> Iterator[Row]:
    """Nothing is slow: messages a second and their CPU, with hedging on and without."""
    plain, hedged = server.plain(), server.hedged(HedgingSettings())
    bursts: dict[PublisherClient, list[tuple[float, float]]] = {plain: [], hedged: []}
    for publisher in (plain, hedged):
        burst(server, publisher)
    for turn in range(rounds):
        for publisher in (plain, hedged) if turn % 2 else (hedged, plain):
            bursts[publisher].append(burst(server, publisher))
    ours, theirs = (
        [statistics.median(figures) for figures in zip(*bursts[each], strict=True)]
        for each in (hedged, plain)
    )
    peer, aim = "without hedging", "within 5 %"
    what = "published, nothing slow, batches of 100"
    yield Row(f"messages {what}", ours[0], "/s", peer, theirs[0], better="more", aim=aim)
    yield Row(f"CPU of a message {what}", ours[1], "µs", peer, theirs[1], aim=aim)


def single_rows(server: Server, *, rounds: int) -> Iterator[Row]:
    """Nothing is slow: one message after the other, each a call, with hedging on and without."""
    plain, peer = server.plain(SINGLE), "without hedging"
    for delay in (1.0, 0.1):
        hedged = server.hedged(HedgingSettings(hedge_delay=delay), SINGLE)
        took: dict[PublisherClient, list[tuple[float, float]]] = {plain: [], hedged: []}
        for turn in range(rounds):
            for publisher in (plain, hedged) if turn % 2 else (hedged, plain):
                took[publisher] += one_by_one(server, publisher)
        ours, theirs = ([*zip(*took[each], strict=True)] for each in (hedged, plain))
        what = f"of a publish, nothing slow, delay {delay} s"
        p50s = (1000 * quantile(each[0], 0.5) for each in (ours, theirs))
        yield Row(f"p50 {what}", next(p50s), "ms", peer, next(p50s), aim="as without")
        cpus = (1e6 * quantile(each[1], 0.5) for each in (ours, theirs))
        yield Row(f"CPU {what}", next(cpus), "µs", peer, next(cpus))


def one_by_one(
    server: Server, publisher: PublisherClient, count: int = 40
) -> list[tuple[float, float]]:
    """Publish so many messages in turn; return how long each took, and the client's CPU."""
    server.begin()
    took = []
    for _ in range(count):
        since, used = time.perf_counter(), time.process_time()
        publisher.publish(TOPIC, BYTES).result(AHEAD_S)
        took.append((time.perf_counter() - since, time.process_time() - used))
    return took[count // 4 :]


def paced(
    server: Server, publisher: PublisherClient, count: int, *faults: dict
) -> tuple[list[float], int]:
    """Publish a message at each moment that is due; return how long each took, and the calls."""
    server.begin()
    for _ in range(100):
        publisher.publish(TOPIC, BYTES).result(AHEAD_S)
    server.begin(*faults)
    took: list[float] = []
    futures = []
    began = time.perf_counter()
    for number in range(count):
        due = began + number * EVERY_S
        time.sleep(max(0.0, due - time.perf_counter()))
        future = publisher.publish(TOPIC, BYTES)
        future.add_done_callback(lambda _, due=due: took.append(time.perf_counter() - due))
        futures.append(future)
    for future in futures:
        future.result(AHEAD_S)
    return took, server.calls()


def burst(server: Server, publisher: PublisherClient, count: int = 5_000) -> tuple[float, float]:
    """Return a burst's messages a second, and the client's CPU of one in µs."""
    server.begin()
    server.ask("DELETE", "/control/faults")
    since, used = time.perf_counter(), time.process_time()
    for future in [publisher.publish(TOPIC, BYTES) for _ in range(count)]:
        future.result(AHEAD_S)
    took, cpu = time.perf_counter() - since, time.process_time() - used
    return count / took, 1e6 * cpu / count


def published(
    server: Server, publisher: PublisherClient, count: int, *faults: dict
) -> tuple[list[float], int]:
    """Publish so many messages, each a call; return how long each took, and the calls seen."""
    server.begin(*faults)
    room, took = threading.Semaphore(IN_FLIGHT), []

    def ended(since: float) -> None:
        took.append(time.perf_counter() - since)
        room.release()

    for number in range(count):
        room.acquire()
        since = time.perf_counter()
        future = publisher.publish(TOPIC, BYTES, **{"injector-id": str(number)})
        future.add_done_callback(lambda _, since=since: ended(since))
    for _ in range(IN_FLIGHT):
        room.acquire()
    return took, server.calls()


def received(server: Server) -> list[str]:
    """Return the injector-ids of all messages in the subscription."""
    ids: list[str] = []
    with server.subscriber() as subscriber:
        while backlog(server):
            pulled = subscriber.pull(subscription=SUBSCRIPTION, max_messages=1000, timeout=20)
            got = pulled.received_messages
            ids += [each.message.attributes["injector-id"] for each in got]
            subscriber.acknowledge(subscription=SUBSCRIPTION, ack_ids=[each.ack_id for each in got])
    return ids


def backlog(server: Server) -> int:
    """Return how many messages the subscription holds."""
    topic = server.ask("GET", "/control/topics")["topics"][0]
    return int(topic["subscriptions"][0]["backlog"])


def quantile(took: Sequence[float], share: float) -> float:
    """Return what a share of them do not exceed."""
    ordered = sorted(took)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


if __name__ == "__main__":
    main()
