"""What gunicorn itself logs."""

from gunicorn.glogging import Logger


class QuietLog(Logger):  # type: ignore[misc]  # it has no types
    """Logs no access: our own events say more of a request.

    By a level alone gunicorn would compose each line, of every header and variable there is,
    and then not write it.
    """

    def access(self, *_request: object) -> None:
        """Log nothing."""
