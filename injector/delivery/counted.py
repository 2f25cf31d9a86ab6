"""What the controller hears of calls: how they ended, and how long they took."""

import asyncio
from collections.abc import Sequence

from injector.delivery.call import Call, Sender
from injector.delivery.ports import Result
from injector.delivery.verdict import all_created, weigh
from injector.pacing.signals import Tally


class Counted:
    """Tells each call's tally how it went."""

    def __init__(self, inner: Sender) -> None:
        self._inner = inner
        self._now = asyncio.get_running_loop().time

    async def send(self, call: Call) -> Sequence[Result]:
        """Send the call; a hedged one counts once, and takes as long as its first answer."""
        since = self._now()
        results = await self._inner.send(call)
        call.tally.called(self._now() - since)
        count(results, call.tally)
        return results


def count(results: Sequence[Result], tally: Tally) -> None:
    """Tell a tally how creates ended."""
    if all_created(results):
        tally.answered(creates=len(results))
        return
    answered, faults = weigh(results)
    if answered:
        tally.answered(creates=answered)
    for code, creates in faults.items():
        tally.faulted(code, creates=creates)
