import pytest

from injector.delivery.address import Address, parse_address
from injector.delivery.proxies import proxied
from injector.errors import Misused


@pytest.mark.parametrize(
    ("written", "target"),
    [
        ("http://localhost:8123", "localhost:8123"),
        ("https://localhost:8123/", "localhost:8123"),
        ("localhost", "localhost:8123"),
        (" localhost:9000 ", "localhost:9000"),
        ("[::1]:8123", "[::1]:8123"),
        ("[::1]", "[::1]:8123"),
        ("nohost.invalid:443", "nohost.invalid:443"),
        ("127.0.0.1:1", "127.0.0.1:1"),
    ],
)
def test_an_address_is_understood_as_people_write_it(written: str, target: str) -> None:
    assert parse_address(written, default_port=8123) == target


@pytest.mark.parametrize(
    "written",
    [
        "",
        "::1:8123",
        "host:0",
        "host:65536",
        "host:port",
        "http://host/path",
        "ftp://host",
        "a b",
        "host:80:80",
        "http://",
    ],
)
def test_what_is_no_address_is_refused_with_an_example(written: str) -> None:
    with pytest.raises(Misused, match=r"cannot reach .*(host:port|65535)"):
        parse_address(written, default_port=8123)


@pytest.mark.parametrize("unset", ["", " "])
def test_an_empty_emulator_host_is_none_at_all(unset: str) -> None:
    address = Address(emulator_host=unset)
    assert not address.emulated
    assert address.target() == "cloudtasks.googleapis.com:443"


def test_an_emulator_takes_the_place_of_the_service() -> None:
    address = Address(emulator_host="localhost")
    assert address.emulated
    assert address.target() == "localhost:8123"


def test_the_way_is_as_wide_as_channels_times_streams() -> None:
    assert Address(channels=3, streams=50).width == 150


@pytest.mark.parametrize(
    "fields",
    [{"channels": 0}, {"channels": 101}, {"streams": 0}, {"service": "http://x/y"}],
)
def test_an_address_of_no_use_is_refused_when_it_is_made(fields: dict[str, object]) -> None:
    with pytest.raises(Misused):
        Address(**fields)


@pytest.mark.parametrize(
    ("variables", "leads_through_one"),
    [
        ({}, False),
        ({"https_proxy": "http://proxy.example:3128"}, True),
        ({"http_proxy": "http://proxy.example:3128"}, True),
        ({"grpc_proxy": "http://proxy.example:3128"}, True),
        ({"ftp_proxy": "http://proxy.example:3128"}, False),
        ({"https_proxy": "http://p.example", "no_proxy": "googleapis.com,localhost"}, False),
        ({"https_proxy": "http://p.example", "no_proxy": "other.example"}, True),
    ],
)
def test_a_proxy_is_known_by_this_machines_settings(
    variables: dict[str, str], monkeypatch: pytest.MonkeyPatch, *, leads_through_one: bool
) -> None:
    for name in ("all_proxy", "grpc_proxy", "https_proxy", "http_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert proxied(Address()) is leads_through_one
    assert not proxied(Address(emulator_host="localhost"))


def test_host_and_port_come_apart() -> None:
    assert Address(emulator_host="[::1]:80").host_and_port() == ("[::1]", 80)
