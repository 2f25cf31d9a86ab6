"""From a source of records to chunks that can be read one by one."""

from injector.staging.again import Pick, stage_again
from injector.staging.before import Before
from injector.staging.below import is_below
from injector.staging.chunk import Bad, Chunk
from injector.staging.meter import Progress
from injector.staging.reach import Reach, around
from injector.staging.reader import ChunkReader, read_staged
from injector.staging.seal import Staged
from injector.staging.source import Limits, Source, source_of
from injector.staging.stage import stage
from injector.staging.unstage import Held, look_at, unstage

__all__ = [
    "Bad",
    "Before",
    "Chunk",
    "ChunkReader",
    "Held",
    "Limits",
    "Pick",
    "Progress",
    "Reach",
    "Source",
    "Staged",
    "around",
    "is_below",
    "look_at",
    "read_staged",
    "source_of",
    "stage",
    "stage_again",
    "unstage",
]
