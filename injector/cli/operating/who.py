"""Who uses this machine."""

from getpass import getuser


def user() -> str:
    """Return the user's name, for the audit."""
    try:
        return getuser()
    except (KeyError, OSError):
        return "local"
