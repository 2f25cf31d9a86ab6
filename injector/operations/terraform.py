"""Queues that are there, as the import blocks by which the Terraform module takes them over."""

import re
from collections.abc import Iterator, Sequence

from injector.queue_names import compact

RESOURCE = "google_cloud_tasks_queue"

_END = re.compile(r"-(\d{4})([a-z]?)$")
"""How a queue's name ends: its number and, of an emergency expansion, a letter: `-0002a`."""


def import_blocks(queues: Sequence[str], *, group: str, module: str) -> str:
    """Return one block for each queue that the module would make; others are named in a comment.

    The module calls queues `GROUP-0000`, `GROUP-0000a` and `GROUP-injector-0`, with the group's
    suffix between if it has one.
    """
    return "\n".join(_blocks(queues, group.rpartition("/")[2], module))


def _blocks(queues: Sequence[str], group: str, module: str) -> Iterator[str]:
    own = re.escape(group.partition("-[")[0])
    for queue in queues:
        name = queue.rpartition("/")[2]
        if re.fullmatch(rf"{own}(-.+)?-injector-\d+", name):
            yield _block(f'module.{module}.{RESOURCE}.injector["{name}"]', queue)
        elif re.fullmatch(rf"{own}(-.+)?-\d{{4,}}[a-z]?", name):
            yield _block(f'module.{module}.{RESOURCE}.target["{name}"]', queue)
        else:
            yield f"# {queue} has a name that the module does not make; it stays outside\n"


def group_fields(queues: Sequence[str]) -> str:
    """Return what the module's group is to say, to have these queues.

    Those of an emergency expansion are named by expressions, as the configuration names them.
    Empty where the module does not make queues of such names.
    """
    ends = [_END.search(queue) for queue in queues]
    found = [end for end in ends if end]
    numbered = [int(end[1]) for end in found if not end[2]]
    if len(found) < len(queues) or sorted(numbered) != list(range(len(numbered))):
        return ""
    between = compact([f"{end[1]}{end[2]}" for end in found if end[2]])
    names = ", ".join(f'"{part}"' for part in between.split(",") if part)
    fields = f"queues = {len(numbered)}"
    return f"{fields}, between = [{names}]" if names else fields


def _block(to: str, queue: str) -> str:
    return f'import {{\n  to = {to}\n  id = "{queue}"\n}}\n'
