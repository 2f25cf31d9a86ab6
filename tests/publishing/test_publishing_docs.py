"""The documentation's example, run against the emulator."""

import os
import subprocess
import sys

import injector.publishing
from tests.docs.reading import examples
from tests.emulator.live import live_emulator

SHOWN = "import prometheus_client\nprint(prometheus_client.generate_latest().decode())"


def test_the_documented_examples_publish_and_tell_of_it(tmp_path):
    (example,) = (one for one in examples("python") if "HedgedPublisherClient" in one.text)
    (collector,) = (one for one in examples("python") if "HedgingCollector" in one.text)
    script = tmp_path / "example.py"
    script.write_text(f"{example.text}\n{collector.text}\n{SHOWN}")
    with live_emulator(topics=("projects/my-project/topics/events",)) as live:
        address = f"127.0.0.1:{live.running.port}"
        done = subprocess.run(
            [sys.executable, script],
            env={**os.environ, "PUBSUB_EMULATOR_HOST": address},
            capture_output=True,
            text=True,
            timeout=100,
            check=True,
        )
    assert "published" in done.stdout
    assert "0 hedges sent" in done.stdout
    assert 'pubsub_publish_seconds_count{publisher="events"} 1.0' in done.stdout


def test_the_public_names_are_listed_in_order():
    names = injector.publishing.__all__
    assert names == sorted(names)
    assert all(hasattr(injector.publishing, name) for name in names)
