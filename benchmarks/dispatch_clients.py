"""The emulator's dispatch client beside aiohttp's: the same requests to the same target."""

import asyncio
import os

import aiohttp
from emulator_load import Figure, measured, process

from injector.emulator.transport import event_loop
from injector.emulator.transport.attempts import Attempt
from injector.emulator.transport.dispatch_client import DispatchClient

OK_STATUS = 200


def compare_clients(scale: float) -> tuple[Figure, Figure]:
    """Send the same requests with the dispatch client and with aiohttp's."""
    count = int(20_000 * scale)
    with process("--target", core=1) as (port, _):
        url = f"http://127.0.0.1:{port}/w"
        ours = measured(os.getpid(), count, lambda: event_loop.run(send_by_ours(url, count)))
        peer = measured(os.getpid(), count, lambda: event_loop.run(send_by_aiohttp(url, count)))
    return ours, peer


TASK_HEADERS = (
    ("User-Agent", "Google-Cloud-Tasks"),
    ("Content-Type", "application/json"),
    ("X-CloudTasks-QueueName", "welcome-0000"),
    ("X-CloudTasks-TaskName", "12345678901234567890"),
    ("X-CloudTasks-TaskRetryCount", "0"),
    ("X-CloudTasks-TaskExecutionCount", "0"),
    ("X-CloudTasks-TaskETA", "1796000000.000000"),
)


async def send_by_ours(url: str, count: int) -> None:
    """Send requests with the dispatch client, 50 at once."""
    client = DispatchClient()

    async def some() -> None:
        for _ in range(count // 50):
            answer = await client.send(Attempt(url, headers=TASK_HEADERS, body=b"x" * 200))
            if answer.status != OK_STATUS:
                raise SystemExit(answer.reason)

    await asyncio.gather(*(some() for _ in range(50)))
    client.close()


async def send_by_aiohttp(url: str, count: int) -> None:
    """Send the same requests with aiohttp, 50 at once."""
    async with aiohttp.ClientSession(skip_auto_headers=("Accept", "Accept-Encoding")) as session:

        async def some() -> None:
            for _ in range(count // 50):
                async with session.post(url, headers=TASK_HEADERS, data=b"x" * 200) as answer:
                    await answer.read()

        await asyncio.gather(*(some() for _ in range(50)))
