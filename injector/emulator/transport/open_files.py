"""How many connections a process may have open."""

import resource

_WANTED = 16_384
_FOR_THE_REST = 224


def allow_many() -> None:
    """Raise the limit of this process's open files as far as it may, and as it makes sense."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _WANTED if hard == resource.RLIM_INFINITY else min(hard, _WANTED)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def most_connections() -> int:
    """Return how many files are left for connections when the rest has its own."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = _WANTED if soft == resource.RLIM_INFINITY else soft
    return max(1, min(limit, _WANTED) - _FOR_THE_REST)
