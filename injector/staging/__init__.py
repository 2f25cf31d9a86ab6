"""From a source of records to chunks that can be read one by one."""

from injector.staging.chunk import Bad, Chunk

__all__ = ["Bad", "Chunk"]
