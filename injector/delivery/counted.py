"""What the controller hears of calls: how they ended, and how long they took."""

import asyncio
from collections.abc import Sequence

from injector.delivery.call import Call, Sender
from injector.delivery.ports import Result
from injector.pacing.signals import NOT_ACCEPTED


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
        for result in results:
            if result.code in NOT_ACCEPTED:
                call.tally.faulted(result.code)
            elif result.sent:
                call.tally.answered()
        return results
