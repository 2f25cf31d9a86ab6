"""Whether the way to the service leads through a proxy."""

from requests.utils import get_environ_proxies

from injector.delivery.address import Address

_MINDED = {"grpc", "https", "http"}
"""The kinds of proxy that gRPC minds: `grpc_proxy`, `https_proxy` and `http_proxy`."""


def proxied(address: Address) -> bool:
    """Say whether this machine's settings send calls there through a proxy.

    An emulator is always reached directly.
    """
    url = f"https://{address.target()}"
    return not address.emulated and not _MINDED.isdisjoint(get_environ_proxies(url))
