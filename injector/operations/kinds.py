"""The kinds of operations that there are."""

from collections.abc import Mapping

from injector.errors import NotFound
from injector.operations.expand import EXPAND
from injector.operations.keep_warm import KEEP_WARM
from injector.operations.kind import AnyKind
from injector.operations.provision import PROVISION
from injector.operations.ramp import RAMP
from injector.operations.resume import RESUME
from injector.operations.spread import SPREAD
from injector.operations.traffic_split import TRAFFIC_SPLIT

_ALL: tuple[AnyKind, ...] = (EXPAND, KEEP_WARM, PROVISION, RAMP, RESUME, SPREAD, TRAFFIC_SPLIT)
KINDS: Mapping[str, AnyKind] = {kind.name: kind for kind in _ALL}


def kind_of(name: str) -> AnyKind:
    """Return the kind of that name; raise NotFound that names those there are."""
    found = KINDS.get(name)
    if found is None:
        raise NotFound(f"there is no operation {name[:80]!r}; there are {', '.join(sorted(KINDS))}")
    return found
