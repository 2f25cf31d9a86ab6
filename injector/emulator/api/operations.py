"""Long-running operations: the results of batches, kept until they take too much room."""

from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from math import inf

_MOST_BYTES = 128 * 1024 * 1024
"""A batch's result holds its tasks; at full speed a second's batches would fill 50 MB."""


@dataclass(frozen=True, slots=True)
class Pending:
    """An operation that is still running.

    `finish` does the work, or only says that it was cancelled, and returns the final form.
    """

    form: bytes
    finish: Callable[[bool], bytes]


def _ignore(*_: object) -> None:
    """Keep it to oneself."""


class Operations:
    """Operations by name, in the order in which they were started.

    `form` is always the serialized google.longrunning.Operation. A key makes a repeated
    request find the operation that the first one started. `kept` and `dropped` are told of
    finished operations that come and go.
    """

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._forms: dict[str, bytes] = {}
        self._pending: dict[str, Pending] = {}
        self._forgotten: set[str] = set()
        self._due: list[tuple[float, str]] = []
        self._names: dict[str, str] = {}
        self._keys: dict[str, str] = {}
        self.kept: Callable[[str, str, bytes], None] = _ignore
        self.dropped: Callable[[str], None] = _ignore

    def form(self, name: str) -> bytes | None:
        """Return the operation as it is now; None if there is none."""
        if name in self._forgotten:
            return None
        pending = self._pending.get(name)
        return pending.form if pending is not None else self._forms.get(name)

    def started_by(self, key: str) -> str | None:
        """Return the name of the operation that this request started before."""
        return self._names.get(key)

    def is_pending(self, name: str) -> bool:
        """Tell whether the operation is still running."""
        return name in self._pending

    def names(self, parent: str) -> list[str]:
        """Return the names of a location's operations, oldest first."""
        prefix = f"{parent}/operations/"
        known = (*self._forms, *self._pending)
        return [n for n in known if n.startswith(prefix) and n not in self._forgotten]

    def add(self, name: str, key: str, form: bytes) -> None:
        """Keep a finished operation."""
        self._remember(name, key)
        self._keep(name, form)

    def start(self, name: str, key: str, pending: Pending, *, finish_at: float) -> None:
        """Keep a running operation until it is due."""
        self._remember(name, key)
        self._pending[name] = pending
        heappush(self._due, (finish_at, name))

    def finish_due(self, *, now: float) -> bool:
        """Finish what is due; tell whether anything was."""
        finished = False
        while self._due and self._due[0][0] <= now:
            finished |= self._finish(heappop(self._due)[1], cancelled=False)
        return finished

    def next_at(self) -> float:
        """Return when the next operation is due; infinite if none is running."""
        return self._due[0][0] if self._due else inf

    def cancel(self, name: str) -> None:
        """Stop a running operation before it does its work; a finished one stays as it is."""
        self._finish(name, cancelled=True)

    def delete(self, name: str) -> None:
        """Forget an operation; a running one is not stopped by that."""
        if name in self._pending:
            self._forgotten.add(name)
        self._bytes -= len(self._forms.pop(name, b""))
        self._names.pop(self._keys.pop(name, ""), None)
        self.dropped(name)

    def clear(self) -> None:
        """Forget every operation; running ones end without effect."""
        for name in list(self._forms):
            self.delete(name)
        for known in (self._pending, self._forgotten, self._names, self._keys):
            known.clear()
        self._due.clear()

    def _remember(self, name: str, key: str) -> None:
        if key:
            self._names[key] = name
            self._keys[name] = key

    def _keep(self, name: str, form: bytes) -> None:
        self._forms[name] = form
        self._bytes += len(form)
        self.kept(name, self._keys.get(name, ""), form)
        while self._bytes > self._most_bytes and len(self._forms) > 1:
            self.delete(next(iter(self._forms)))

    def _finish(self, name: str, *, cancelled: bool) -> bool:
        pending = self._pending.pop(name, None)
        if pending is None:
            return False
        form = pending.finish(cancelled)
        if name in self._forgotten:
            self._forgotten.remove(name)
        else:
            self._keep(name, form)
        return True
