"""What a call's request headers say."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from injector.http2.header_blocks import BlockReader, Fields


@dataclass(frozen=True, slots=True)
class Head:
    """A call's method, its metadata, and the HTTP status that refuses it: 0 if none does.

    Its message may be compressed by `encoding`.
    """

    method: str
    metadata: Mapping[str, str]
    refused: int = 0
    encoding: str = "identity"


def head_reader() -> BlockReader[Head]:
    """Return a reader of one client's request headers."""
    return BlockReader(_head)


def _head(fields: Fields) -> Head:
    """Sort the fields: what HTTP needs, and what is the call's metadata."""
    text = {name.decode("latin-1"): value.decode("latin-1") for name, value in fields}
    metadata = {name: value for name, value in text.items() if not name.startswith(":")}
    encoding = metadata.get("grpc-encoding", "identity")
    return Head(text.get(":path", ""), MappingProxyType(metadata), _refused(text), encoding)


def _refused(text: Mapping[str, str]) -> int:
    """Return the HTTP status for what is no gRPC call, as its specification says."""
    if text.get(":method") != "POST" or not text.get(":path", "").startswith("/"):
        return 405 if text.get(":method") else 400
    if not text.get("content-type", "").startswith("application/grpc"):
        return 415
    return 0
