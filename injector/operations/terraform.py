"""Queues that are there, as the import blocks by which the Terraform module takes them over."""

import re
from collections.abc import Iterator, Sequence

RESOURCE = "google_cloud_tasks_queue"


def import_blocks(queues: Sequence[str], *, group: str, module: str) -> str:
    """Return one block for each queue that the module would make; others are named in a comment.

    The module calls queues `GROUP-0000` and `GROUP-injector-0`, with the group's suffix between
    if it has one.
    """
    return "\n".join(_blocks(queues, group.rpartition("/")[2], module))


def _blocks(queues: Sequence[str], group: str, module: str) -> Iterator[str]:
    own = re.escape(group.partition("-[")[0])
    for queue in queues:
        name = queue.rpartition("/")[2]
        if re.fullmatch(rf"{own}(-.+)?-injector-\d+", name):
            yield _block(f'module.{module}.{RESOURCE}.injector["{name}"]', queue)
        elif re.fullmatch(rf"{own}(-.+)?-\d{{4,}}", name):
            yield _block(f'module.{module}.{RESOURCE}.target["{name}"]', queue)
        else:
            yield f"# {queue} has a name that the module does not make; it stays outside\n"


def _block(to: str, queue: str) -> str:
    return f'import {{\n  to = {to}\n  id = "{queue}"\n}}\n'
