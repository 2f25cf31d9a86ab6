"""The group that a request names."""

from collections.abc import Collection
from difflib import get_close_matches

from injector.errors import NotFound
from injector.groups import Group
from injector.settings import Settings

LISTED = 20


def known_group(settings: Settings, name: str) -> Group:
    """Return the service's group; raise NotFound that says which one may be meant."""
    if group := settings.groups.get(name):
        return group
    raise NotFound(f"the service has no group {name!r}; {_remedy(name, settings.groups)}")


def _remedy(name: str, known: Collection[str]) -> str:
    if near := get_close_matches(name, known, n=1):
        return f"did you mean {near[0]!r}?"
    if not known:
        return "none is configured (INJECTOR_GROUPS)"
    rest = f" and {len(known) - LISTED} others" if len(known) > LISTED else ""
    return f"it has {', '.join(sorted(known)[:LISTED])}{rest}"
