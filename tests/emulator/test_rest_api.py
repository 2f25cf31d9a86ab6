"""The v2 JSON API: the real client over REST, and raw requests."""

import base64
from collections.abc import Iterator

import pytest
import requests
from google.api_core.exceptions import BadRequest
from google.auth.credentials import AnonymousCredentials
from google.cloud import tasks_v2
from google.cloud.tasks_v2.services.cloud_tasks.transports import CloudTasksRestTransport

from tests.emulator.direct import refused
from tests.emulator.live import Live, live_emulator
from tests.waiting import PATIENCE_S

LOCATION = "projects/my.org:p/locations/us-central1"
QUEUE = f"{LOCATION}/queues/q"


@pytest.fixture
def live() -> Iterator[Live]:
    with live_emulator(frozen=True) as emulator:
        yield emulator


@pytest.fixture
def rest(live) -> Iterator[tasks_v2.CloudTasksClient]:
    transport = CloudTasksRestTransport(
        host=live.url.removeprefix("http://"),
        credentials=AnonymousCredentials(),
        url_scheme="http",
    )
    with tasks_v2.CloudTasksClient(transport=transport) as client:
        client.create_queue(parent=LOCATION, queue={"name": QUEUE})
        yield client


def test_both_transports_see_the_same_state(live, rest):
    rest.pause_queue(name=QUEUE)
    name = f"{QUEUE}/tasks/t"
    request = {"url": "http://x", "body": b"\xff\x00"}
    made = rest.create_task(parent=QUEUE, task={"name": name, "http_request": request})
    assert made == live.client.get_task(name=name)
    full = {"name": name, "response_view": tasks_v2.Task.View.FULL}
    assert rest.get_task(request=full).http_request.body == b"\xff\x00"
    assert [task.name for task in rest.list_tasks(parent=QUEUE)] == [name]
    assert rest.run_task(name=name).dispatch_count == 1
    rest.delete_task(name=name)
    assert list(live.client.list_tasks(parent=QUEUE)) == []


def test_queues_are_changed_by_mask(live, rest):
    changed = rest.update_queue(
        queue={"name": QUEUE, "rate_limits": {"max_dispatches_per_second": 2}},
        update_mask={"paths": ["rate_limits.max_dispatches_per_second"]},
    )
    assert changed == live.client.get_queue(name=QUEUE)
    assert changed.rate_limits.max_dispatches_per_second == 2
    rest.purge_queue(name=QUEUE)
    rest.pause_queue(name=QUEUE)
    assert rest.resume_queue(name=QUEUE).state == tasks_v2.Queue.State.RUNNING
    assert [queue.name for queue in rest.list_queues(parent=LOCATION)] == [QUEUE]
    rest.delete_queue(name=QUEUE)
    assert list(rest.list_queues(parent=LOCATION)) == []


def test_batches_and_their_operations_work_over_rest(rest):
    item = {"parent": QUEUE, "task": {"http_request": {"url": "http://x"}}}
    request = {"parent": QUEUE, "requests": [item] * 3}
    operation = rest.batch_create_tasks(request=request)
    made = operation.result(timeout=PATIENCE_S).tasks
    assert len(made) == 3
    names = [task.name for task in made]
    rest.batch_delete_tasks(request={"parent": QUEUE, "names": names})
    assert list(rest.list_tasks(parent=QUEUE)) == []


def test_policies_keys_and_locations_work_over_rest(rest):
    policy = {"bindings": [{"role": "roles/viewer", "members": ["user:a@b.test"]}]}
    kept = rest.set_iam_policy(request={"resource": QUEUE, "policy": policy})
    assert rest.get_iam_policy(request={"resource": QUEUE}) == kept
    asked = ["cloudtasks.queues.get"]
    assert rest.test_iam_permissions(resource=QUEUE, permissions=asked).permissions == asked
    config = f"{LOCATION}/cmekConfig"
    key = "projects/k/locations/us-central1/keyRings/r/cryptoKeys/c"
    rest.update_cmek_config(cmek_config={"name": config, "kms_key": key})
    assert rest.get_cmek_config(name=config).kms_key == key
    assert rest.get_location({"name": LOCATION}).location_id == "us-central1"
    assert rest.list_locations({"name": "projects/p"}).locations


def test_errors_have_the_same_codes_and_texts(rest):
    with refused("NOT_FOUND", "Requested entity was not found."):
        rest.get_task(name=f"{QUEUE}/tasks/none")
    with pytest.raises(BadRequest, match=r"HttpRequest\.url is required\."):
        rest.create_task(parent=QUEUE, task={"http_request": {}})


def ask(live, verb: str, path: str, **options: object) -> requests.Response:
    return requests.request(verb, f"{live.url}/v2/{path}", timeout=PATIENCE_S, **options)


def test_json_has_camel_case_names_enum_names_and_base64(live, rest):
    task = {"httpRequest": {"url": "http://x", "body": base64.b64encode(b"hi").decode()}}
    made = ask(live, "POST", f"{QUEUE}/tasks", json={"task": task, "responseView": "FULL"}).json()
    assert made["httpRequest"]["httpMethod"] == "POST"
    assert base64.b64decode(made["httpRequest"]["body"]) == b"hi"
    assert made["dispatchDeadline"] == "600s"
    assert made["scheduleTime"].endswith("Z")
    assert ask(live, "GET", f"{QUEUE}?$alt=json;enum-encoding=int").json()["state"] == 1


def test_mask_may_be_written_in_either_case(live, rest):
    body = {"rateLimits": {"maxDispatchesPerSecond": 3}}
    for mask in ("rateLimits.maxDispatchesPerSecond", "rate_limits.max_dispatches_per_second"):
        assert ask(live, "PATCH", f"{QUEUE}?updateMask={mask}", json=body).status_code == 200


@pytest.mark.parametrize(
    ("request_line", "body", "status"),
    [
        ("GET nowhere", "", 404),
        (f"PUT {QUEUE}", "{}", 404),
        (f"POST {QUEUE}/tasks", "{", 400),
        (f"POST {QUEUE}/tasks", '{"task": 1}', 400),
        (f"POST {QUEUE}/tasks", '{"nope": 1}', 400),
        (f"POST {QUEUE}/tasks", "[" * 100_000, 400),
        (f"POST {QUEUE}/tasks", '"text"', 400),
        (f"GET {QUEUE}/tasks?pageSize=many", "", 400),
        (f"GET {LOCATION}/queues/none", "", 404),
        (f"POST {LOCATION}/queues", '{"name": "bad"}', 400),
    ],
)
def test_what_cannot_be_understood_is_refused(live, rest, request_line, body, status):
    verb, _, path = request_line.partition(" ")
    answer = ask(live, verb, path, data=body)
    assert answer.status_code == status
    assert answer.json()["error"]["code"] == status
    assert answer.json()["error"]["message"]


INVALID_JSON = "Invalid JSON payload received. Unknown name"
ODD = [
    (
        f"POST {LOCATION}/queues",
        {"rateLimits": {"nope": 1}},
        {
            "field": "queue.rate_limits",
            "description": f"{INVALID_JSON} \"nope\" at 'queue.rate_limits': Cannot find field.",
        },
    ),
    (
        f"POST {QUEUE}/tasks",
        {"nope": 1},
        {"description": f'{INVALID_JSON} "nope": Cannot find field.'},
    ),
    (
        f"GET {QUEUE}?nope=1",
        None,
        {
            "description": f'{INVALID_JSON} "nope": Cannot bind query parameter. Field '
            "'nope' could not be found in request message."
        },
    ),
    (
        f"POST {QUEUE}/tasks",
        {"task": {"httpRequest": {"httpMethod": "FETCH"}}},
        {
            "field": "task.http_request.http_method",
            "description": "Invalid value at 'task.http_request.http_method' "
            '(type.googleapis.com/google.cloud.tasks.v2.HttpMethod), "FETCH"',
        },
    ),
]


@pytest.mark.parametrize(("request_line", "body", "violation"), ODD)
def test_what_does_not_fit_is_named_as_by_googles_apis(live, rest, request_line, body, violation):
    verb, _, path = request_line.partition(" ")
    error = ask(live, verb, path, json=body).json()["error"]
    assert (error["status"], error["message"]) == ("INVALID_ARGUMENT", violation["description"])
    kind = "type.googleapis.com/google.rpc.BadRequest"
    assert error["details"] == [{"@type": kind, "fieldViolations": [violation]}]


def test_parameters_that_every_api_takes_are_taken(live, rest):
    standard = "access_token=x&alt=json&fields=name&key=k&prettyPrint=false&quotaUser=me&$.xgafv=1"
    assert ask(live, "GET", f"{QUEUE}?{standard}").json()["name"] == QUEUE
    assert ask(live, "GET", f"{LOCATION}/queues?{standard}&pageSize=1").json()["queues"]


def test_details_of_an_error_are_shown(live, rest):
    answer = ask(live, "POST", f"{LOCATION}/queues", json={"name": "bad"}).json()["error"]
    assert answer["status"] == "INVALID_ARGUMENT"
    assert answer["details"][0]["@type"] == "type.googleapis.com/google.rpc.Help"


def test_body_is_buffered_as_a_task_for_the_queues_target(live, rest):
    target = {"uri_override": {"scheme": "HTTP", "host": "worker.test", "port": 8080}}
    target["uri_override"]["path_override"] = {"path": "/go"}
    queue = f"{LOCATION}/queues/buffered"
    rest.create_queue(parent=LOCATION, queue={"name": queue, "http_target": target})
    rest.pause_queue(name=queue)
    made = ask(live, "POST", f"{queue}/tasks/t-1:buffer", data=b"raw", headers={"X-A": "a"}).json()
    assert made["task"]["name"] == f"{queue}/tasks/t-1"
    request = {"name": f"{queue}/tasks/t-1", "response_view": tasks_v2.Task.View.FULL}
    task = live.client.get_task(request=request).http_request
    assert (task.url, task.body) == ("http://worker.test:8080/go", b"raw")
    assert (task.headers["X-A"], task.headers["Content-Type"]) == ("a", "application/json")
    assert ask(live, "POST", f"{queue}/tasks:buffer", data=b"raw").status_code == 200
    assert ask(live, "POST", f"{QUEUE}/tasks:buffer", data=b"raw").status_code == 400


def test_buffer_task_is_answered_under_both_versions_and_the_rest_under_v2_only(live, rest):
    target = {"uri_override": {"scheme": "HTTP", "host": "worker.test"}}
    queue = f"{LOCATION}/queues/buffered-beta"
    rest.create_queue(parent=LOCATION, queue={"name": queue, "http_target": target})
    rest.pause_queue(name=queue)
    beta = f"{live.url}/v2beta3/{queue}"
    assert requests.post(f"{beta}/tasks:buffer", data=b"raw", timeout=PATIENCE_S).status_code == 200
    assert requests.get(beta, timeout=PATIENCE_S).json()["error"]["status"] == "NOT_FOUND"
