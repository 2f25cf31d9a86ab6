"""The control port: clock, faults, reset, waiting, history, metrics, status, keys."""

from collections.abc import Iterator

import pytest
import requests
from google.auth import jwt
from google.cloud import tasks_v2

from tests.emulator.live import Live, http_target, live_emulator
from tests.waiting import PATIENCE_S, until

LOCATION = "projects/p/locations/us-central1"
QUEUE = f"{LOCATION}/queues/q"


@pytest.fixture
def live() -> Iterator[Live]:
    with live_emulator(frozen=True, queues=(QUEUE,)) as emulator:
        yield emulator


def call(live, verb: str, path: str, **options: object):
    answer = requests.request(verb, f"{live.url}{path}", timeout=PATIENCE_S, **options)
    answer.raise_for_status()
    return answer.json()


def task(live, url="http://127.0.0.1:9/x", **fields: object) -> tasks_v2.Task:
    return live.client.create_task(parent=QUEUE, task={"http_request": {"url": url}, **fields})


def test_clock_is_frozen_advanced_and_set_running(live):
    before = call(live, "GET", "/control/clock")
    assert before["speed"] == 0
    after = call(live, "POST", "/control/clock/advance", json={"seconds": 86400})
    assert after["now"] == pytest.approx(before["now"] + 86400)
    running = call(live, "PUT", "/control/clock", json={"mode": "running", "speed": 1000})
    assert running["speed"] == 1000
    until(lambda: call(live, "GET", "/control/clock")["now"] > after["now"] + 10)


def test_advancing_the_clock_lets_a_future_task_go(live):
    with http_target() as target:
        now = call(live, "GET", "/control/clock")["now"]
        task(live, target.url, schedule_time={"seconds": int(now) + 29 * 86400})
        call(live, "POST", "/control/clock/advance", json={"seconds": 29 * 86400})
        target.wait(1)
        assert call(live, "GET", "/control/drained?timeout=60") == {"depth": 0}


def test_advancing_the_clock_ends_what_outlives_its_31_days(live):
    with http_target() as target:
        live.client.pause_queue(name=QUEUE)
        old = task(live, target.url)
        call(live, "POST", "/control/clock/advance", json={"seconds": 31 * 86400})
        assert list(live.client.list_tasks(parent=QUEUE)) == []
        assert call(live, "GET", f"/control/tasks/{old.name}")["state"] == "expired"
        live.client.resume_queue(name=QUEUE)
        now = call(live, "GET", "/control/clock")["now"]
        task(live, target.url, schedule_time={"seconds": int(now) + 29 * 86400})
        call(live, "POST", "/control/clock/advance", json={"seconds": 40 * 86400})
        target.wait(1)
        assert call(live, "GET", "/control/drained?timeout=5") == {"depth": 0}


def test_waiting_for_a_queue_that_does_not_drain_ends(live):
    live.client.pause_queue(name=QUEUE)
    task(live)
    answer = requests.get(
        f"{live.url}/control/drained?timeout=0.05&queue={QUEUE}", timeout=PATIENCE_S
    )
    assert (answer.status_code, answer.json()) == (504, {"depth": 1})


def test_story_of_a_task_is_told_while_it_waits_and_afterwards(live):
    with http_target() as target:
        target.script.extend([503])
        name = task(live, target.url).name
        target.wait(1)
        until(lambda: len(call(live, "GET", f"/control/tasks/{name}")["attempts"]) == 1)
        waiting = call(live, "GET", f"/control/tasks/{name}")
        call(live, "POST", "/control/clock/advance", json={"seconds": 60})
        target.wait(2)
        call(live, "GET", "/control/drained")
    done = call(live, "GET", f"/control/tasks/{name}")
    assert (waiting["state"], done["state"]) == ("waiting", "succeeded")
    assert [attempt["status"] for attempt in done["attempts"]] == [503, 200]
    assert call(live, "GET", f"/control/finished?queue={QUEUE}")["tasks"][0]["name"] == name


def test_finished_tasks_come_in_pages(live):
    names = [task(live).name for _ in range(3)]
    for name in names:
        live.client.delete_task(name=name)
    first = call(live, "GET", f"/control/finished?queue={QUEUE}&limit=2")
    token = first["next_page_token"]
    rest = call(live, "GET", f"/control/finished?queue={QUEUE}&page_token={token}")
    told = [each["name"] for each in first["tasks"] + rest["tasks"]]
    assert (told, len(first["tasks"])) == (names[::-1], 2)
    assert rest["next_page_token"] == ""
    odd = requests.get(f"{live.url}/control/finished?page_token={token}", timeout=10)
    assert (odd.status_code, odd.json()["detail"]) == (
        400,
        "The page token belongs to another list or filter.",
    )


def test_task_that_never_was_has_no_story(live):
    answer = requests.get(f"{live.url}/control/tasks/{QUEUE}/tasks/none", timeout=PATIENCE_S)
    assert answer.status_code == 404
    assert answer.headers["Content-Type"].startswith("application/problem+json")


def test_faults_are_put_in_force_shown_and_dropped(live):
    plan = {"faults": [{"id": "f", "effect": "error", "methods": ["CreateTask"], "times": 1}]}
    call(live, "PUT", "/control/faults", json=plan)
    with pytest.raises(Exception, match="unavailable"):
        task(live)
    task(live)
    receipt = call(live, "DELETE", "/control/faults")
    assert receipt["faults"] == [{"id": "f", "effect": "error", "met": 2, "applied": 1}]
    assert call(live, "GET", "/control/faults") == {"faults": [], "calls": []}


@pytest.mark.parametrize(
    ("verb", "path", "body"),
    [
        ("PUT", "/control/faults", '{"faults": [{"effect": "explode"}]}'),
        ("PUT", "/control/clock", '{"speed": 0}'),
        ("POST", "/control/clock/advance", '{"seconds": -1}'),
        ("GET", "/control/drained?timeout=soon", ""),
    ],
)
def test_bad_request_is_explained(live, verb, path, body):
    answer = requests.request(verb, f"{live.url}{path}", data=body, timeout=PATIENCE_S)
    assert answer.status_code == 400
    assert answer.json()["detail"]


@pytest.mark.parametrize(("kept", "left"), [("true", [QUEUE]), ("false", [])])
def test_reset_forgets_everything_but_the_queues_if_wished(live, kept, left):
    name = task(live).name
    live.client.delete_task(name=name)
    task(live)
    call(live, "POST", f"/control/reset?keep_queues={kept}")
    assert [queue.name for queue in live.client.list_queues(parent=LOCATION)] == left
    if not left:
        live.client.create_queue(parent=LOCATION, queue={"name": QUEUE})
    assert task(live, name=name).name == name
    assert call(live, "GET", "/control/finished")["tasks"] == []


@pytest.mark.parametrize("headers", [{"Origin": "https://evil.test"}, {"Host": "evil.test"}])
def test_web_page_from_elsewhere_cannot_control(live, headers):
    answer = requests.post(f"{live.url}/control/reset", headers=headers, timeout=PATIENCE_S)
    assert answer.status_code == 403


def test_queues_are_shown_with_their_rates(live):
    live.client.pause_queue(name=QUEUE)
    task(live)
    (row,) = call(live, "GET", "/control/queues")["queues"]
    assert (row["name"], row["state"], row["depth"]) == (QUEUE, "PAUSED", 1)
    assert (row["rate"], row["enforced_rate"]) == (500, 500)
    page = requests.get(f"{live.url}/", timeout=PATIENCE_S).text
    assert QUEUE in page
    assert "frozen" in page


def test_metrics_count_calls_attempts_and_depths(live):
    with http_target() as target:
        task(live, target.url)
        target.wait(1)
        call(live, "GET", "/control/drained")
    live.client.pause_queue(name=QUEUE)
    task(live)
    text = requests.get(f"{live.url}/metrics", timeout=PATIENCE_S).text
    assert f'cloudtasks_queue_depth{{queue="{QUEUE}"}} 1.0' in text
    attempts = f'cloudtasks_queue_task_attempts_total{{queue="{QUEUE}",response_code="OK"}} 1.0'
    assert attempts in text
    assert 'method="google.cloud.tasks.v2.CloudTasks.CreateTask"' in text


def test_tokens_can_be_verified_against_the_pages_of_their_issuer(live):
    with http_target() as target:
        request = {"url": target.url, "oidc_token": {"service_account_email": "a@p.test"}}
        task(live, http_request=request)
        (value,) = target.wait(1)[0].all("Authorization")
    token = value.removeprefix("Bearer ")
    issuer = jwt.decode(token, verify=False)["iss"]
    discovery = requests.get(
        f"{issuer}/.well-known/openid-configuration", timeout=PATIENCE_S
    ).json()
    keys = requests.get(discovery["jwks_uri"], timeout=PATIENCE_S).json()["keys"]
    certificates = requests.get(f"{issuer}/oauth2/v1/certs", timeout=PATIENCE_S).json()
    assert issuer == live.url == discovery["issuer"]
    assert keys[0]["kid"] == jwt.decode_header(token)["kid"]
    assert jwt.decode(token, certs=certificates, audience=target.url)["email"] == "a@p.test"
