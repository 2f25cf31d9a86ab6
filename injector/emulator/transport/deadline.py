"""gRPC's notation of a call's deadline."""

_UNIT_S = {"H": 3600.0, "M": 60.0, "S": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9}


def seconds(timeout: str) -> float | None:
    """Return a `grpc-timeout` in seconds; None if there is none that can be read."""
    digits, unit = timeout[:-1], timeout[-1:]
    if unit not in _UNIT_S or not digits.isdecimal() or len(digits) > 8:
        return None
    return int(digits) * _UNIT_S[unit]
