"""Which files are read where they lie: a staging names its file, and anyone may write a staging."""

from dataclasses import dataclass

from injector.errors import Misused
from injector.staging.below import is_below

_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Reach:
    """The folders and URLs below which files are read where they lie."""

    prefixes: tuple[str, ...]

    def check(self, url: str) -> None:
        """Raise Misused for a file elsewhere; nobody is asked for it."""
        if not any(is_below(url, prefix) for prefix in self.prefixes):
            raise Misused(
                f"the records are to be read where they lie, at {url[:_SHOWN]}, where this service"
                f" does not read; move them below {' or '.join(self.prefixes)}, or name their"
                " place in the service's INJECTOR_SOURCES, and stage them again"
            )


def around(store_url: str) -> str:
    """Return the whole of the bucket that a store is in; a local folder is its own."""
    scheme, is_url, path = store_url.partition("://")
    if not is_url or scheme in {"file", "local"}:
        return store_url
    return f"{scheme}://{path.strip('/').split('/')[0]}"
