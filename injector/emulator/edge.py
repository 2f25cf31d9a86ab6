"""The way in: every call of every transport comes through `Edge.handle`."""

import logging
from collections import Counter
from collections.abc import Awaitable, Mapping

from injector.emulator.api.methods import METHODS, TASKS
from injector.emulator.api.refusals import invalid
from injector.emulator.api.service import Service
from injector.emulator.rpc import Code, RpcError

_log = logging.getLogger(__name__)
_LONGEST_DEADLINE_S = 30.0
_UNITS_S = {"H": 3600.0, "M": 60.0, "S": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9}


class Edge:
    """Answers calls from the table of methods, and counts them by method and code."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.calls: Counter[tuple[str, Code]] = Counter()

    def handle(
        self, method: str, request: bytes, metadata: Mapping[str, str]
    ) -> bytes | Awaitable[bytes]:
        """Answer a call; raises RpcError or Dropped (rpc.Handle)."""
        try:
            answer = self._answer(method, request, metadata)
        except RpcError as error:
            self.calls[method, error.code] += 1
            raise
        self.calls[method, Code.OK] += 1
        return answer

    def _answer(self, method: str, request: bytes, metadata: Mapping[str, str]) -> bytes:
        answer = METHODS.get(method)
        if answer is None:
            raise RpcError(Code.UNIMPLEMENTED, f"Method not found: {method}")
        timeout = metadata.get("grpc-timeout")
        if timeout is not None and method.startswith(TASKS):
            _check_deadline(timeout)
        try:
            return answer(self._service, request)
        except RpcError:
            raise
        except Exception:  # noqa: BLE001  # whatever a caller sends, the process goes on
            _log.exception("call.failed method=%s", method)
            raise RpcError(Code.INTERNAL, "The emulator failed; its log says why.") from None


def _check_deadline(timeout: str) -> None:
    """Refuse a deadline that is too far ahead, as production does."""
    digits, unit = timeout[:-1], timeout[-1:]
    if digits.isdecimal() and int(digits) * _UNITS_S.get(unit, 0.0) > _LONGEST_DEADLINE_S:
        raise invalid(
            "The request deadline is too long. The deadline cannot be more than 30s in the future."
        )
