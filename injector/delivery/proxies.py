"""Whether the way to the service leads through a proxy."""

from requests.utils import get_environ_proxies

from injector.delivery.address import Address


def proxied(address: Address) -> bool:
    """Say whether this machine's settings send calls there through a proxy.

    An emulator is always reached directly.
    """
    url = f"https://{address.target()}"
    return not address.emulated and "https" in get_environ_proxies(url)
