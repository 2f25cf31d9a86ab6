"""What the service opens because a job names it: files in place, and webhooks."""

import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from handlers.parts import reach_of
from handlers.webhook import Webhooks
from injector.errors import Misused, Retryable
from injector.staging import ChunkReader, Reach
from tests.bench import MANIFEST
from tests.house import settings_of

SECRETS = [
    "/etc/passwd",
    "file:///etc/passwd",
    "http://169.254.169.254/computeMetadata/v1/instance/service-accounts/default/token",
    "http://metadata.google.internal/computeMetadata/v1/",
    "https://127.0.0.1:8080/metrics",
    "gs://another-bucket/users.jsonl",
    "gs://bucket/../another/users.jsonl",
    "gs://bucket/users.jsonl::file:///etc/passwd",
    "sftp://bucket/users.jsonl",
    "bucket/users.jsonl",
    "",
]
DEPLOYED = Reach(("gs://bucket", "gs://exports/daily"))


@pytest.mark.parametrize("url", SECRETS)
def test_a_deployed_service_reads_nothing_outside_its_buckets(url):
    with pytest.raises(Misused, match="gs://bucket or gs://exports/daily"):
        DEPLOYED.check(url)


@pytest.mark.parametrize("url", ["gs://bucket/in/users.jsonl", "gs://exports/daily/users.jsonl"])
def test_a_deployed_service_reads_what_is_in_its_bucket_or_in_a_configured_place(url):
    DEPLOYED.check(url)


@pytest.mark.parametrize(
    ("settings", "readable", "refused"),
    [
        ({"store_url": "gs://b/chunks"}, "gs://b/users.jsonl", "/srv/users.jsonl"),
        (
            {"store_url": "gs://b/chunks", "sources": ("gs://c/x",)},
            "gs://c/x/users.jsonl",
            "gs://c/y/users.jsonl",
        ),
        ({"store_url": "/srv/chunks"}, "/srv/chunks/users.jsonl", "/srv/users.jsonl"),
        (
            {"store_url": "/srv/chunks", "service_url": "http://127.0.0.1:8080"},
            "/home/ann/users.jsonl",
            "http://169.254.169.254/x",
        ),
    ],
)
def test_what_is_read_in_place_follows_from_the_settings(settings, readable, refused):
    reach = reach_of(settings_of(**settings))
    reach.check(readable)
    with pytest.raises(Misused, match="INJECTOR_SOURCES"):
        reach.check(refused)


def lead_elsewhere(submission, url):
    """Let the staging say that its records are elsewhere."""
    seal = Path(submission["staged"]["store"], "staged.json")
    said = json.loads(seal.read_text())
    said["pin"]["url"] = url
    seal.write_text(json.dumps(said))


@pytest.mark.parametrize("url", SECRETS[:4])
def test_a_submission_that_leads_elsewhere_is_400_and_nothing_is_opened(house, url):
    submission = house.stage()
    lead_elsewhere(submission, url)
    answer = house.submit(submission)
    assert answer.status_code == 400
    assert "INJECTOR_SOURCES" in answer.json["detail"]
    assert house.get("/jobs").json["jobs"] == []


def test_a_staging_that_is_led_elsewhere_later_stops_its_job(house):
    submission = house.stage()
    house.submit(submission)
    lead_elsewhere(submission, "/etc/passwd")
    answer = house.inject({"version": 1, "job": "welcome-1", "chunk": 0})
    assert answer.json["status"] == "rejected"
    job = house.get("/jobs/welcome-1").json
    assert (job["state"], "INJECTOR_SOURCES" in job["reason"]) == ("paused", True)
    assert house.get("/jobs/welcome-1/report").status_code == 400


def test_a_person_s_own_command_reads_what_the_person_may(house):
    submission = house.stage()
    assert ChunkReader(submission["staged"]["store"]).read(0).records


INSIDE = [
    "https://169.254.169.254/computeMetadata/v1/",
    "https://metadata.google.internal/",
    "https://metadata/",
    "https://[fe80::1]/",
    "https://[::ffff:169.254.169.254]/",
    "https://10.0.0.7/hook",
    "https://127.0.0.1/hook",
    "https://localhost/hook",
    "http://127.0.0.1:8080/control/tick",
]


def notifying(house, url):
    return house.submit(house.stage(manifest=f"{MANIFEST}notify: {{webhook: '{url}'}}\n"))


@pytest.mark.parametrize("url", INSIDE)
def test_a_deployed_service_takes_no_webhook_inside_its_network(house, url):
    answer = notifying(house, url)
    assert answer.status_code == 400
    assert "https://hooks.example/injector" in answer.json["detail"]


@pytest.mark.parametrize("url", INSIDE[-2:])
def test_a_local_service_takes_a_webhook_of_its_machine(house_of, url):
    house = house_of(service_url="http://127.0.0.1:8080")
    Webhooks(local=True).check(url)
    assert house.app.extensions["parts"].webhooks.local


@pytest.mark.parametrize("url", INSIDE[:6])
def test_a_local_service_takes_no_webhook_in_its_network_either(url):
    with pytest.raises(Misused):
        Webhooks(local=True).check(url)


@pytest.mark.parametrize("url", INSIDE)
def test_a_webhook_that_was_taken_earlier_is_judged_again_when_it_is_called(url):
    with pytest.raises(Retryable, match="not at a public host"):
        Webhooks().post(url, b"{}", {})


@pytest.mark.parametrize("host", ["0xa9.254.169.254", "0x7f.1", "10.1"])
def test_a_name_that_leads_inside_is_not_called(host):
    with pytest.raises(Retryable, match="not public"):
        Webhooks().post(f"https://{host}/", b"{}", {})


class Receiver(BaseHTTPRequestHandler):
    """Takes everything, and sends whoever asks for it elsewhere."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.hosts.append(self.headers["Host"])
        self.send_response(302 if self.path == "/elsewhere" else 204)
        self.send_header("Location", "/there")
        self.end_headers()

    def log_message(self, *_args: object):
        pass


@pytest.fixture
def receiver():
    with HTTPServer(("127.0.0.1", 0), Receiver) as server:
        server.hosts = []
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def test_a_local_service_calls_a_webhook_of_its_machine_and_follows_it_nowhere(receiver):
    host = f"localhost:{receiver.server_port}"
    Webhooks(local=True).post(f"http://{host}/", b"{}", {})
    with pytest.raises(Retryable, match="it answered 302"):
        Webhooks(local=True).post(f"http://{host}/elsewhere", b"{}", {})
    assert receiver.hosts == [host, host]


def test_a_deployed_service_does_not_call_its_own_machine(receiver):
    with pytest.raises(Retryable):
        Webhooks().post(f"http://127.0.0.1:{receiver.server_port}/", b"{}", {})
    assert receiver.hosts == []
