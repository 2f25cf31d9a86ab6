"""Deadlines that the service does not accept."""

from collections.abc import Awaitable, Mapping
from functools import lru_cache

from injector.emulator.api.methods import TASKS
from injector.emulator.api.refusals import invalid
from injector.emulator.rpc import Handle

_LONGEST_S = 30.3
"""30 s, and the 1 % by which grpcio may round a deadline up on the wire (30 s to 30100m)."""
_UNITS_S = {"H": 3600.0, "M": 60.0, "S": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9}


class Bounded:
    """Refuses calls whose deadline is more than 30 s ahead, as production does."""

    def __init__(self, inner: Handle) -> None:
        self._inner = inner

    def __call__(
        self, method: str, request: bytes, metadata: Mapping[str, str]
    ) -> bytes | Awaitable[bytes]:
        """Answer a call; raises RpcError or Dropped."""
        timeout = metadata.get("grpc-timeout")
        if timeout is not None and _is_too_long(timeout) and method.startswith(TASKS):
            raise invalid(
                "The request deadline is too long. The deadline cannot be more than 30s in the "
                "future."
            )
        return self._inner(method, request, metadata)


@lru_cache(maxsize=1024)
def _is_too_long(timeout: str) -> bool:
    digits = timeout[:-1]
    return digits.isdecimal() and int(digits) * _UNITS_S.get(timeout[-1:], 0.0) > _LONGEST_S
