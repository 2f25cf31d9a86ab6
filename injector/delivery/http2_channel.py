"""A channel of our own: gRPC's calls over one HTTP/2 connection at a time.

gRPC's client takes 60 to 90 µs of CPU for a call that takes the server a third of that, and it
is the greatest part of what a create costs. What a fan-out needs of it is little: unary calls,
many at once, whose answers are hardly looked at.
"""

import asyncio
import ssl
from collections.abc import Callable
from functools import lru_cache

import certifi

from injector.delivery.address import Address
from injector.delivery.channel import CallFailed
from injector.delivery.credentials import Metadata
from injector.delivery.dial import dial
from injector.delivery.http2_link import LATE, Link
from injector.delivery.user_agent import USER_AGENT
from injector.http2.answers import Answer
from injector.http2.heads import HeadWriter, Unsendable
from injector.http2.vigil import Vigil

CONNECT_WITHIN_S = 20.0
STALE_S = 120.0
"""A connection that has lain idle so long may be dead without a word, as routers and frontends
forget one; a new one costs less than a call that waits for its time-out."""

PATIENCE_S = 1.0
"""How long calls wait on a connection where there is no room for them before another is opened
beside it. A tick's own calls are not to wait behind creates that hang; and there are two at most,
since a server that lets few calls run at once means that."""

FIRST_BACKOFF_S = 0.1
LONGEST_BACKOFF_S = 5.0
"""Connections follow each other at twice the distance, from the first to the longest, as long as
no call on one is answered; calls in between fail at once. That a call's time is over is no answer,
and UNAVAILABLE is none either, be it said by a proxy that has no server."""


class Http2Channel:
    """Keeps a connection for as long as it lasts, and opens the next when one is needed.

    One that is full and stays so is kept `aside`, with its calls, for another.
    """

    def __init__(
        self,
        address: Address,
        *,
        connect_within_s: float = CONNECT_WITHIN_S,
        stale_s: float = STALE_S,
        patience_s: float = PATIENCE_S,
        new_vigil: Callable[[], Vigil] = Vigil,
    ) -> None:
        self._connect_within_s = connect_within_s
        self._stale_s = stale_s
        self._patience_s = patience_s
        self._new_vigil = new_vigil
        self._host, self._port = address.host_and_port()
        self._tls = None if address.emulated else _tls(address.root_certificates)
        self._loop = asyncio.get_running_loop()
        self._links: set[Link] = set()
        self._link: Link | None = None
        self._aside: Link | None = None
        self._connecting: asyncio.Task[Link] | None = None
        self._backoff_s = 0.0
        self._not_before = 0.0
        self._why = ""
        self._closed = False

    async def invoke(
        self, path: str, request: bytes, *, timeout_s: float, about: Metadata, token: Metadata
    ) -> bytes:
        """Send a serialized request and return the serialized answer; raises CallFailed.

        A request that the server has not looked at is sent once more.
        """
        until = self._loop.time() + timeout_s
        answer = await self._answer(path, request, until, about, token)
        if answer.unseen:
            answer = await self._answer(path, request, until, about, token)
        if answer.code != "OK":
            raise CallFailed(answer.code, answer.text)
        return answer.message

    async def close(self) -> None:
        """End all calls as CANCELLED, and let go of the connections."""
        self._closed = True
        if self._connecting:
            self._connecting.cancel()
        gone = [link.gone for link in self._links]
        for link in tuple(self._links):
            link.close()
        if gone:
            await asyncio.wait(gone)

    async def _answer(
        self, path: str, request: bytes, until: float, about: Metadata, token: Metadata
    ) -> Answer:
        link = self._link
        if link is None or link.room <= 0 or link.idle_s > self._stale_s:
            link = await self._link_with_room(until)
        timeout_s = until - self._loop.time()
        if timeout_s <= 0:
            link.offer_room()
            return LATE
        try:
            stream, end = link.begin(path, request, timeout_s=timeout_s, about=about, token=token)
        except Unsendable as error:
            link.offer_room()
            raise CallFailed("INTERNAL", str(error)) from error
        try:
            answer = await end
        except asyncio.CancelledError:
            link.give_up(stream)
            raise
        if self._backoff_s and answer is not LATE and answer.code != "UNAVAILABLE":
            self._backoff_s = self._not_before = 0.0
        return answer

    async def _link_with_room(self, until: float) -> Link:
        try:
            async with asyncio.timeout_at(until):
                while True:
                    link = self._link
                    if link is None or link.leaving or self._stale(link):
                        link = await self._connected()
                    if link.room <= 0:
                        link = await self._after_a_wait(link)
                    if link.room > 0:
                        return link
        except TimeoutError as error:
            raise CallFailed("DEADLINE_EXCEEDED", f"{self._host}: not connected in time") from error

    def _stale(self, link: Link) -> bool:
        """Tell whether a connection has lain idle for too long, and leave it then."""
        if stale := link.idle_s > self._stale_s:
            link.leave()
        return stale

    async def _after_a_wait(self, link: Link) -> Link:
        """Wait for room where there is none; return the connection to look at next."""
        aside = self._aside
        if aside and aside.room > 0 and not self._stale(aside):
            self._link, self._aside = aside, link
            return aside
        try:
            async with asyncio.timeout(self._patience_s):
                await link.some_room()
        except TimeoutError:
            if link is self._link and (aside is None or aside.leaving):
                return await self._beside(link)
        return link

    async def _beside(self, full: Link) -> Link:
        """Open another connection; where that fails, the full one stays the only one."""
        try:
            another = await self._connected()
        except CallFailed:
            return full
        self._aside = full
        return another

    async def _connected(self) -> Link:
        """Connect, together with all who want the same."""
        if self._closed:
            raise CallFailed("CANCELLED", "the connection was closed")
        if self._connecting is None:
            if self._loop.time() < self._not_before:
                raise CallFailed("UNAVAILABLE", self._why)
            self._connecting = self._loop.create_task(self._connect())
        try:
            return await asyncio.shield(self._connecting)
        except asyncio.CancelledError as error:
            if self._closed:
                raise CallFailed("CANCELLED", "the connection was closed") from error
            raise

    async def _connect(self) -> Link:
        try:
            async with asyncio.timeout(self._connect_within_s):
                link = await self._new_link()
        except (OSError, UnicodeError) as error:  # of TLS, of time, of a name that none may be
            self._back_off(str(error) or type(error).__name__)
            raise CallFailed("UNAVAILABLE", self._why) from error
        finally:
            self._connecting = None
        self._back_off("the connection before was lost without an answer")
        self._link = link
        return link

    async def _new_link(self) -> Link:
        heads = HeadWriter(
            scheme="https" if self._tls else "http",
            authority=f"{self._host}:{self._port}",
            user_agent=USER_AGENT,
        )
        host = self._host.strip("[]")
        transport, link = await self._loop.create_connection(
            lambda: Link(heads, self._new_vigil()),
            sock=await dial(host, self._port),
            ssl=self._tls,
            server_hostname=host if self._tls else None,
        )
        self._links.add(link)
        link.gone.add_done_callback(lambda _: self._links.discard(link))
        try:
            await self._greeted(link, transport)
        except BaseException:
            link.close()
            raise
        return link

    async def _greeted(self, link: Link, transport: asyncio.Transport) -> None:
        """Wait until calls may begin; raise OSError if none ever may."""
        if self._tls and transport.get_extra_info("ssl_object").selected_alpn_protocol() != "h2":
            raise OSError("the server does not speak HTTP/2")
        if why := await link.ready:
            raise OSError(why)
        if link.leaving:
            raise OSError("the server greeted and is closing the connection")

    def _back_off(self, why: str) -> None:
        self._why = f"cannot connect to {self._host}:{self._port}: {why}"
        self._backoff_s = min(max(FIRST_BACKOFF_S, 2 * self._backoff_s), LONGEST_BACKOFF_S)
        self._not_before = self._loop.time() + self._backoff_s


@lru_cache(4)
def _tls(root_certificates: bytes) -> ssl.SSLContext:
    if root_certificates:
        context = ssl.create_default_context(cadata=root_certificates.decode())
    else:
        context = ssl.create_default_context(cafile=certifi.where())
        context.load_default_certs()
    context.set_alpn_protocols(["h2"])
    return context
