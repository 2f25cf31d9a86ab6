"""The way to the emulator that its page shows, taken with Google's client."""

from tests.docs.reading import examples
from tests.emulator.live import live_emulator

QUEUE = "projects/p/locations/l/queues/q"


def test_python_client_of_the_documentation_reaches_the_emulator():
    shown = next(e.text for e in examples("python") if e.text.startswith("# Python"))
    with live_emulator(queues=(QUEUE,)) as live:
        here = shown.replace("127.0.0.1:8123", f"127.0.0.1:{live.running.port}")
        names: dict[str, object] = {}
        exec(here, names)  # our own documentation
        assert names["client"].get_queue(name=QUEUE).name == QUEUE
