"""The few forms of protobuf that requests are made of.

A length-delimited field is its tag, the length of its value, and the value.
"""

_SHORT = 4096
_LENGTHS = (
    *(bytes((size,)) for size in range(128)),
    *(bytes((size & 127 | 128, size >> 7)) for size in range(128, _SHORT)),
)


def text(tag: int, value: str) -> bytes:
    """Write a field of text."""
    return field(tag, value.encode())


def field(tag: int, value: bytes) -> bytes:
    """Write a length-delimited field."""
    return bytes((tag,)) + length(len(value)) + value


def length(size: int) -> bytes:
    """Write a length; the usual ones are written already."""
    return _LENGTHS[size] if size < _SHORT else varint(size)


def sized(size: int) -> int:
    """Count a length-delimited field of so many bytes, with its tag and length."""
    return 1 + max(1, (size.bit_length() + 6) // 7) + size


def varint(number: int) -> bytes:
    """Write the number seven bits a byte; negative ones take ten, as in protobuf."""
    number &= 0xFFFF_FFFF_FFFF_FFFF
    written = bytearray()
    while number > 127:
        written.append(number & 127 | 128)
        number >>= 7
    written.append(number)
    return bytes(written)


def texts(message: bytes, tag: int) -> list[str]:
    """Read a message that has only length-delimited fields: the texts of those with the tag.

    It ends at the first thing that it cannot read.
    """
    found, at = [], 0
    while at < len(message):
        kind, at = read_varint(message, at)
        size, at = read_varint(message, at)
        if kind & 7 != 2 or at + size > len(message):
            break
        if kind == tag:
            found.append(message[at : at + size].decode(errors="replace"))
        at += size
    return found


def read_varint(message: bytes, at: int) -> tuple[int, int]:
    """Return the number that begins there, and where it ends; 0 past the end of the message."""
    number = shift = 0
    while at < len(message) and message[at] & 128:
        number |= (message[at] & 127) << shift
        at, shift = at + 1, shift + 7
    last = message[at] if at < len(message) else 0
    return number | last << shift, at + 1
