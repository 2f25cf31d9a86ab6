"""gRPC's framing of messages: a byte that says whether it is compressed, its length, itself."""

PREFIX_BYTES = 5


def framed(message: bytes) -> bytes:
    """Return a message as it stands in a body."""
    return len(message).to_bytes(PREFIX_BYTES, "big") + message
