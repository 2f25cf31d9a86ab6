"""The innermost layer: the method itself."""

import logging
from collections.abc import Awaitable, Mapping

from injector.emulator.api.methods import METHODS, Method
from injector.emulator.api.service import Service
from injector.emulator.rpc import Code, RpcError

_log = logging.getLogger(__name__)


class Table:
    """Answers each call by its method's function; no input ends the process."""

    def __init__(self, service: Service, more: Mapping[str, Method] | None = None) -> None:
        self._service = service
        self._methods = {**METHODS, **(more or {})}

    def __call__(
        self, method: str, request: bytes, metadata: Mapping[str, str]
    ) -> bytes | Awaitable[bytes]:
        """Answer a call; raises RpcError."""
        del metadata
        answer = self._methods.get(method)
        if answer is None:
            raise RpcError(Code.UNIMPLEMENTED, f"Method not found: {method}")
        try:
            return answer(self._service, request)
        except RpcError:
            raise
        except Exception:  # noqa: BLE001  # a fault of ours must not end the process
            _log.exception("call.failed method=%s", method)
            raise RpcError(Code.INTERNAL, "The emulator failed; its log says why.") from None

    def resource(self, method: str, request: bytes) -> str:
        """Return the resource that a request names; empty if it cannot be read."""
        answer = self._methods.get(method)
        return answer.resource(request) if answer is not None else ""
