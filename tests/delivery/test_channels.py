"""Both kinds of channel over real connections, and what is ours alone to get right."""

import asyncio
import ssl
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import grpc
import pytest

from injector.delivery.address import Address
from injector.delivery.channel import CallFailed, Channel
from injector.delivery.grpc_channel import GrpcChannel
from injector.delivery.http2_channel import Http2Channel
from tests.delivery.channels import Opening, ask, code_of, listening, request, run, until
from tests.http2.h2_server import H2Server
from tests.scripted_credentials import self_signed
from tests.scripted_service import Answer, Service, serve


@pytest.fixture(params=["ours", "grpc"])
def opening(request) -> Opening:
    return Http2Channel if request.param == "ours" else lambda address: GrpcChannel(address, 0)


def test_an_error_arrives_with_its_code_and_its_words(service: Service, opening: Opening) -> None:
    service.plan = lambda _: Answer("FAILED_PRECONDITION", message="50 % zu viel: größer")

    async def call() -> str:
        channel = opening(Address(emulator_host=service.address))
        with pytest.raises(CallFailed, match="50 % zu viel: größer") as failed:
            await ask(channel, request())
        await channel.close()
        return failed.value.code

    assert run(call()) == "FAILED_PRECONDITION"


def test_a_message_of_megabytes_gets_through(service: Service, opening: Opening) -> None:
    async def call() -> bytes:
        channel = opening(Address(emulator_host=service.address))
        answer = await ask(channel, request(body=bytes(3_500_000)))
        await channel.close()
        return answer

    assert len(run(call())) > 3_500_000


def test_a_call_that_takes_too_long_ends_and_the_server_hears_of_it(
    service: Service, opening: Opening
) -> None:
    service.plan = lambda _: Answer(delay_s=30)

    async def call() -> set[str]:
        channel = opening(Address(emulator_host=service.address))
        codes = set()
        while not service.calls:  # on a busy machine one may be late before it is there
            codes.add(await code_of(channel, timeout_s=0.3))
        await until(lambda: service.cancelled == len(service.calls))
        await channel.close()
        return codes

    assert run(call()) == {"DEADLINE_EXCEEDED"}
    assert 0 < service.calls[0].timeout_s <= 0.4


def test_a_call_that_is_cancelled_is_cancelled_at_the_server(
    service: Service, opening: Opening
) -> None:
    service.plan = lambda _: Answer(delay_s=30)

    async def call() -> None:
        channel = opening(Address(emulator_host=service.address))
        task = asyncio.create_task(ask(channel, request()))
        await until(lambda: service.running > 0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until(lambda: service.cancelled > 0)
        await channel.close()

    run(call())
    assert service.running == 0


def test_closing_ends_the_calls_under_way(service: Service, opening: Opening) -> None:
    service.plan = lambda _: Answer(delay_s=30)

    async def call() -> list[str]:
        channel = opening(Address(emulator_host=service.address))
        tasks = [asyncio.create_task(code_of(channel)) for _ in range(3)]
        await until(lambda: service.running == 3)
        await channel.close()
        return await asyncio.gather(*tasks)

    assert run(call()) == ["CANCELLED"] * 3


def test_calls_beside_those_that_fill_the_slots_get_through(
    service: Service, opening: Opening
) -> None:
    """How many creates are out at once is the slots' business; a tick asks for queues besides."""
    service.plan = lambda seen: Answer(delay_s=0 if b"besides" in seen.request else 30)

    async def call() -> None:
        channel = opening(Address(emulator_host=service.address, streams=10))
        tasks = [asyncio.create_task(code_of(channel)) for _ in range(10)]
        await until(lambda: service.running == 10)
        await ask(channel, request(body=b"besides"))
        await channel.close()
        await asyncio.gather(*tasks)

    run(call())


def test_a_token_goes_along(service: Service, opening: Opening) -> None:
    async def call() -> None:
        channel = opening(Address(emulator_host=service.address))
        for number in range(3):
            await ask(channel, request(number), token=(("authorization", f"Bearer {number}"),))
        await channel.close()

    run(call())
    assert [seen.metadata["authorization"] for seen in service.calls] == [
        "Bearer 0",
        "Bearer 1",
        "Bearer 2",
    ]


def test_a_token_that_no_header_may_hold_fails_its_call_alone(service: Service) -> None:
    async def call() -> bytes:
        channel = Http2Channel(Address(emulator_host=service.address))
        with pytest.raises(CallFailed, match="'authorization'") as failed:
            await ask(channel, request(), token=(("authorization", "Bearer secret\r\nx: y"),))
        answer = await ask(channel, request(1))
        await channel.close()
        assert failed.value.code == "INTERNAL"
        assert "secret" not in str(failed.value)
        return answer

    assert run(call())
    assert set(service.sent().values()) == {1}
    assert len(service.peers) == 1


def test_a_server_that_lets_connections_live_for_a_moment_loses_no_call(
    stack: ExitStack,
) -> None:
    ages = (("grpc.max_connection_age_ms", 500), ("grpc.max_connection_age_grace_ms", 5_000))
    service = stack.enter_context(serve(Service(plan=lambda _: Answer(delay_s=0.05)), options=ages))

    async def call() -> list[str]:
        channel = Http2Channel(Address(emulator_host=service.address))

        async def some(first: int) -> list[str]:
            return [await code_of_create(channel, first + each) for each in range(30)]

        codes = await asyncio.gather(*(some(30 * each) for each in range(20)))
        await channel.close()
        return [code for some in codes for code in some]

    assert set(run(call())) == {"OK"}
    assert len(service.peers) > 1
    assert set(service.sent().values()) == {1}


async def code_of_create(channel: Channel, number: int) -> str:
    try:
        await ask(channel, request(number))
    except CallFailed as failed:
        return f"{failed.code} {failed}"
    return "OK"


def test_a_server_gone_without_a_farewell_is_left_after_one_timeout() -> None:
    async def answer_once(reader, writer) -> None:
        server = H2Server()
        while not server.heads or server.connection.open_inbound_streams:
            server.receive(await reader.read(65_536))
            writer.write(server.connection.data_to_send())
        while await reader.read(65_536):
            pass

    async def call(address: str) -> list[str]:
        channel = Http2Channel(Address(emulator_host=address))
        codes = [await code_of(channel, timeout_s=within_s) for within_s in (20, 0.2, 20)]
        await channel.close()
        return codes

    with listening(answer_once) as (address, came):
        assert run(call(address)) == ["OK", "DEADLINE_EXCEEDED", "OK"]
    assert len(came) == 2


def test_a_slow_server_that_shows_signs_of_life_keeps_its_connection(service: Service) -> None:
    service.plan = lambda seen: Answer(delay_s=30 if seen.number == 0 else 0)

    async def call() -> str:
        channel = Http2Channel(Address(emulator_host=service.address))
        slow = asyncio.create_task(code_of(channel, timeout_s=3))
        await until(lambda: service.running > 0)
        for number in range(1, 4):
            await ask(channel, request(number))
        code = await slow
        await ask(channel, request(4))
        await channel.close()
        return code

    assert run(call()) == "DEADLINE_EXCEEDED"
    assert len(service.peers) == 1


@pytest.mark.parametrize(
    "said", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\0" * 100, b"", b"\xff" * 9]
)
def test_what_is_no_http2_is_unavailable(said: bytes) -> None:
    async def babble(reader, writer) -> None:
        await reader.read(100)
        writer.write(said)
        await writer.drain()

    async def call(address: str) -> list[str]:
        channel = Http2Channel(Address(emulator_host=address))
        codes = [await code_of(channel) for _ in range(2)]
        await channel.close()
        return codes

    with listening(babble) as (address, _came):
        assert run(call(address)) == ["UNAVAILABLE"] * 2


def test_attempts_to_connect_are_spaced_out() -> None:
    async def hang_up(_reader, _writer) -> None:
        """Be gone at once."""

    async def call(address: str) -> set[str]:
        channel = Http2Channel(replace(secure, service=address))
        codes = {code for _ in range(200) for code in [await code_of(channel, timeout_s=5)]}
        await channel.close()
        return codes

    secure = Address(root_certificates=self_signed()[0])
    with listening(hang_up) as (address, came):
        assert run(call(address)) == {"UNAVAILABLE"}
    assert 1 <= len(came) < 20


@pytest.fixture
def certificates(tmp_path: Path) -> tuple[bytes, ssl.SSLContext]:
    certificate, key = self_signed()
    (tmp_path / "server.pem").write_bytes(certificate + key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem")
    return certificate, context


async def failure(address: Address) -> str:
    channel = Http2Channel(address)
    with pytest.raises(CallFailed) as failed:
        await ask(channel, request(), timeout_s=5)
    await channel.close()
    return f"{failed.value.code}: {failed.value}"


def test_a_server_of_tls_that_speaks_no_http2_is_not_spoken_to(certificates) -> None:
    async def never_answer(reader, _writer) -> None:
        assert await reader.read(100) == b""

    certificate, context = certificates
    with listening(never_answer, context) as (address, _came):
        host = address.replace("127.0.0.1", "localhost")
        spoken_to = failure(Address(service=host, root_certificates=certificate))
        assert "does not speak HTTP/2" in run(spoken_to)


@pytest.mark.parametrize("trusted", [True, False])
def test_a_certificate_that_proves_nothing_is_refused(stack: ExitStack, *, trusted: bool) -> None:
    certificate, key = self_signed()
    credentials = grpc.ssl_server_credentials([(key, certificate)])
    service = stack.enter_context(serve(Service(), credentials=credentials))
    port = service.address.rpartition(":")[2]
    host = "127.0.0.1" if trusted else "localhost"  # it is for localhost
    roots = certificate if trusted else b""
    address = Address(service=f"{host}:{port}", root_certificates=roots)
    assert "certificate" in run(failure(address)).lower()
    assert service.calls == []


def test_an_emulator_is_reached_directly_whatever_proxy_is_set(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")

    async def call() -> str:
        channel = Http2Channel(Address(emulator_host=service.address))
        code = await code_of(channel)
        await channel.close()
        return code

    assert run(call()) == "OK"
