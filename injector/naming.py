"""Task ids and the choice of queue: functions of the job and the record alone.

A name never depends on time, process, attempt or host, so that every repeat is harmless.
Identity bytes are taken as they are: text is not normalised, so the composed and the
decomposed form of an accented letter are two identities, and a number is its source text,
so 1.0 and 1 are two as well.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b

MAX_TASK_ID = 500
_DIGEST_SIZE = 24
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")


def task_id(job: str, identity: bytes, suffix: str = "") -> str:
    """Name the task: 32 hexadecimal digits of a digest, then the readable suffix.

    The digest comes first because Cloud Tasks keeps its index by name, and names that share
    a prefix land on the same part of it. In the suffix, whatever a task id may not hold
    becomes a hyphen.
    """
    return _task_id(_digest(job, identity), suffix)


def draw_of(job: str, identity: bytes) -> int:
    """Draw the lot that chooses the record's queue: 64 bits that the task id does not use."""
    return _draw(_digest(job, identity))


def name_task(job: str, identity: bytes, suffix: str) -> tuple[str, int]:
    """Return the task id and the record's lot by one digest."""
    digest = _digest(job, identity)
    return _task_id(digest, suffix), _draw(digest)


def digests_of(job: str, identities: Iterable[bytes]) -> list[bytes]:
    """Return what the task ids and lots of many records are made of."""
    begun = _begun(job).copy
    digests = []
    for identity in identities:
        hashed = begun()
        hashed.update(identity)
        digests.append(hashed.digest())
    return digests


def task_ids(digests: Sequence[bytes], suffixes: Sequence[str]) -> list[str]:
    """Name the tasks of many records."""
    together = "".join(suffixes)
    if not (all(suffixes) and together.isalnum() and together.isascii()):
        return list(map(_task_id, digests, suffixes))
    heads = b"".join(digests).hex()
    starts = range(0, len(heads), 2 * _DIGEST_SIZE)
    named = zip(starts, suffixes, strict=True)
    return [f"{heads[at : at + 32]}-{suffix}"[:MAX_TASK_ID] for at, suffix in named]


def draws_of(digests: Iterable[bytes]) -> list[int]:
    """Draw the lots of many records."""
    return [_draw(digest) for digest in digests]


@lru_cache(maxsize=256)
def draw_of_chunk(job: str, chunk: int) -> int:
    """Draw one lot for a whole chunk, as batch creates need it; asked for each record."""
    return _draw(_digest(job, b"chunk\0%d" % chunk))


def injector_task_id(job: str, chunk: int, generation: int) -> str:
    """Name the injector task of a chunk; feeding it again takes the next generation."""
    digest = _digest(job, b"injector\0%d\0%d" % (chunk, generation))
    return _task_id(digest, f"{job}-{chunk}-{generation}")


def _digest(job: str, identity: bytes) -> bytes:
    hashed = _begun(job).copy()
    hashed.update(identity)
    return hashed.digest()


@lru_cache(maxsize=64)
def _begun(job: str) -> blake2b:
    """Hash what all names of a job begin with: a copy costs half of beginning anew."""
    return blake2b(b"%b\0" % job.encode(), digest_size=_DIGEST_SIZE)


def _task_id(digest: bytes, suffix: str) -> str:
    if not suffix:
        return digest[:16].hex()
    if not (suffix.isalnum() and suffix.isascii()):
        suffix = _UNSAFE.sub("-", suffix)
    return f"{digest[:16].hex()}-{suffix}"[:MAX_TASK_ID]


def _draw(digest: bytes) -> int:
    return int.from_bytes(digest[16:], "little")
