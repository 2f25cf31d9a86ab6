"""Every error the product raises, as one tree.

    InjectorError
    ├── Misused            a person's input; the message says what would do   → exit 2, HTTP 400
    │   ├── Conflict       contradicts what is already known                  → exit 2, HTTP 409
    │   │   └── Outdated   was meant for an older state of the thing          → exit 2, HTTP 412
    │   └── NotFound       names nothing that exists                          → exit 2, HTTP 404
    │       └── NoSource   records that are not where they are said to be     → exit 2, HTTP 404
    ├── Refused            the caller's identity does not allow it            → exit 3, HTTP 401/403
    ├── Rejected           one record or chunk, refused for good: listed, never sent again
    │   └── Lacking        a record without a field that its task needs
    └── Retryable          not taken; the same again later may succeed        → exit 3, HTTP 503
        └── Throttled      the caller asks more than one may                  → exit 3, HTTP 429

Catch by verdict. Foreign errors are turned into these at the adapter that meets them.
"""


class InjectorError(Exception):
    """Anything this product raises on purpose."""


class Misused(InjectorError):
    """A person's input cannot be used; nothing was created."""


class Conflict(Misused):
    """The input contradicts what is already registered."""


class Outdated(Conflict):
    """The change was meant for a version that has been replaced meanwhile."""


class NotFound(Misused):
    """The input names a job, group or file that does not exist."""


class NoSource(NotFound):
    """A job's records are not where they are said to be."""


class Refused(InjectorError):
    """The caller has not shown an identity that may do this."""

    def __init__(self, message: str, *, authenticated: bool = False) -> None:
        super().__init__(message)
        self.authenticated = authenticated


class Rejected(InjectorError):
    """A record or a chunk is refused for good; sending it again cannot help."""


class Lacking(Rejected):
    """A record has no value in a field that its task needs."""

    def __init__(self, field: str) -> None:
        super().__init__(f"needs a value in {field!r}")
        self.field = field


class Retryable(InjectorError):
    """Not taken: overload or a transport fault; the same again later may succeed."""

    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class Throttled(Retryable):
    """One caller asked for more than its share; nothing was done."""
