"""Which queues of a group are sick: they take nothing, while most of the others take creates."""

IN_A_ROW = 20
"""How many refusals without an answer between them make a queue sick: at one fault in two, a
million queues have one such row among them."""


class Sickness:
    """Counts each queue's refusals in a row.

    A queue is sick as well while its own throttle rejects, which is `held`. Where half of the
    queues or more are so, none is called sick: then the group is, or whoever calls it.
    """

    def __init__(self) -> None:
        self._row: dict[str, int] = {}
        self._sick: set[str] = set()

    def well(self, queue: str) -> bool:
        """Say whether the queue has just answered and is not sick: one more answer is no news."""
        return self._row.get(queue) == 0 and queue not in self._sick

    def answered(self, queue: str, *, held: bool) -> None:
        """Hear that the queue answered."""
        self._row[queue] = 0
        if not held:
            self._sick.discard(queue)

    def refused(self, queue: str, *, calls: int = 1, held: bool = False) -> None:
        """Hear that the queue did not take so many calls."""
        self._row[queue] = self._row.get(queue, 0) + calls
        if held or self._row[queue] >= IN_A_ROW:
            self._sick.add(queue)

    def sick(self, queue: str) -> bool:
        """Say whether the queue is sick, and most of those that were called are not."""
        return queue in self._sick and 2 * len(self._sick) < len(self._row)
