"""CreateTask: what is stored, and what is refused."""

import pytest
from google.cloud import tasks_v2

from injector.emulator.api.service import MAX_TASK_BYTES, Rules
from tests.emulator.direct import refused

LOCATION = "projects/p/locations/us-central1"
FULL, BASIC = tasks_v2.Task.View.FULL, tasks_v2.Task.View.BASIC
Method = tasks_v2.HttpMethod
HTTP_AGENT = "Google-Cloud-Tasks"
APP_ENGINE_AGENT = "AppEngine-Google; (+http://code.google.com/appengine)"
DAY = 86400


def http(**fields: object) -> dict[str, object]:
    return {"http_request": {"url": "http://target.test/x", **fields}}


def app_engine(**fields: object) -> dict[str, object]:
    return {"app_engine_http_request": fields}


def full(direct, queue, **task: object):
    request = {"parent": queue, "task": task, "response_view": FULL}
    return direct.client.create_task(request=request)


def test_new_task_is_due_now_and_counts_nothing(direct):
    task = direct.task(direct.queue())
    assert task.schedule_time.timestamp() == task.create_time.timestamp() == direct.now
    assert (task.dispatch_count, task.response_count) == (0, 0)
    assert not tasks_v2.Task.pb(task).HasField("first_attempt")
    assert task.http_request.http_method == Method.POST
    assert task.dispatch_deadline.total_seconds() == 600
    assert task.view == BASIC


def test_made_up_ids_are_digits_that_never_repeat(direct):
    queue = direct.queue()
    ids = [direct.task(queue).name.rpartition("/")[2] for _ in range(50)]
    assert len(set(ids)) == 50
    assert all(task_id.isdecimal() for task_id in ids)


@pytest.mark.parametrize(
    ("asked", "kept"), [(-3600, 0), (0.25, 0.25), (1000.123456, 1000.123456), (DAY * 30, DAY * 30)]
)
def test_schedule_time_is_kept_unless_it_is_past(direct, asked, kept):
    at = direct.now + asked
    stamp = {"seconds": int(at), "nanos": round(at % 1 * 1e6) * 1000}
    task = direct.task(direct.queue(), schedule_time=stamp)
    assert task.schedule_time.timestamp() == pytest.approx(direct.now + kept, abs=1e-6)


def test_schedule_time_beyond_thirty_days_is_refused_in_pacific_time(direct):
    queue = direct.queue()
    text = "The Task.scheduleTime, 2099-12-31T16:00:00-08:00, is too far in the future. Schedule"
    with refused("INVALID_ARGUMENT", text):
        direct.task(queue, schedule_time={"seconds": 4102444800})


def test_output_only_fields_are_ignored(direct):
    stamp = {"seconds": 1}
    task = direct.task(
        direct.queue(),
        dispatch_count=7,
        response_count=5,
        create_time=stamp,
        first_attempt={"dispatch_time": stamp},
        last_attempt={"response_time": stamp},
        view=FULL,
    )
    assert (task.dispatch_count, task.response_count, task.view) == (0, 0, BASIC)
    assert task.create_time.timestamp() == direct.now
    assert not tasks_v2.Task.pb(task).HasField("last_attempt")


@pytest.mark.parametrize(
    ("kind", "seconds", "text"),
    [
        (http(), 14, "Task.dispatchDeadline must be between [15s, 30m]."),
        (http(), 1801, "Task.dispatchDeadline must be between [15s, 30m]."),
        (app_engine(), 14, "Task.dispatchDeadline must be between [15s, 24h15s]."),
        (app_engine(), DAY + 16, "Task.dispatchDeadline must be between [15s, 24h15s]."),
    ],
)
def test_deadline_out_of_bounds_is_refused(direct, kind, seconds, text):
    queue = direct.queue()
    with refused("INVALID_ARGUMENT", text):
        direct.task(queue, dispatch_deadline={"seconds": seconds}, **kind)


@pytest.mark.parametrize("nanos", [-1, 1_000_000_000])
def test_deadline_that_is_no_duration_is_refused(direct, nanos):
    queue = direct.queue()
    with refused("INVALID_ARGUMENT", "Task.dispatchDeadline must be between [15s, 30m]."):
        direct.task(queue, dispatch_deadline={"seconds": 20, "nanos": nanos}, **http())


@pytest.mark.parametrize(
    ("kind", "seconds"), [(http(), 15), (http(), 1800), (app_engine(), DAY + 15)]
)
def test_deadline_within_bounds_is_cut_to_milliseconds(direct, kind, seconds):
    asked = {"seconds": seconds - 1, "nanos": 999_999_999} if seconds > 15 else {"seconds": 15}
    kept = direct.task(direct.queue(), dispatch_deadline=asked, **kind).dispatch_deadline
    assert kept.total_seconds() == pytest.approx(seconds, abs=0.0015)
    assert kept.microseconds % 1000 == 0


def test_app_engine_task_without_deadline_stores_none(direct):
    task = direct.task(direct.queue(), **app_engine(relative_uri="/x"))
    assert not tasks_v2.Task.pb(task).HasField("dispatch_deadline")


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("", "HttpRequest.url is required."),
        ("example", "HttpTarget.url must start with 'http://' or 'https://'."),
        ("ftp://x/y", "HttpTarget.url must start with 'http://' or 'https://'."),
        ("http://x/" + "u" * 2083, "2083"),
        ("http://x/" + "ü" * 400, "2083"),
    ],
)
def test_bad_url_is_refused(direct, url, text):
    queue = direct.queue()
    with refused("INVALID_ARGUMENT", text):
        direct.task(queue, **http(url=url))


def test_broken_escape_in_a_url_passes_as_in_production(direct):
    assert direct.task(direct.queue(), **http(url="http://x/%zz")).name


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE", "OPTIONS"])
def test_body_needs_a_method_that_carries_one(direct, method):
    queue = direct.queue()
    with refused("INVALID_ARGUMENT"):
        direct.task(queue, **http(http_method=method, body=b"x"))


def test_app_engine_takes_no_body_by_patch(direct):
    queue = direct.queue()
    with refused("INVALID_ARGUMENT"):
        direct.task(queue, **app_engine(http_method="PATCH", body=b"x"))


@pytest.mark.parametrize("uri", ["no-slash", "/a b", "/" + "u" * 2083])
def test_bad_relative_uri_is_refused(direct, uri):
    queue = direct.queue()
    with refused("INVALID_ARGUMENT"):
        direct.task(queue, **app_engine(relative_uri=uri))


def test_task_needs_a_target(direct):
    queue = direct.queue()
    with refused("INVALID_ARGUMENT"):
        direct.client.create_task(parent=queue, task={})


@pytest.mark.parametrize("kind", [http(body=b"x" * 1_048_000), app_engine(body=b"x" * 1_048_000)])
def test_size_is_that_of_the_stored_form(direct, kind):
    queue = direct.queue()
    form = direct.parts.service.registry.queues[queue]
    direct.task(queue, "t", **kind)
    request = next(iter(kind.values()))
    stored = form.names.task("t").form
    left = MAX_TASK_BYTES - len(stored)
    direct.task(queue, "u", **{next(iter(kind)): {**request, "body": b"x" * (1_048_000 + left)}})
    with refused("INVALID_ARGUMENT", "Task size too large"):
        body = b"x" * (1_048_001 + left)
        direct.task(queue, "v", **{next(iter(kind)): {**request, "body": body}})


def test_parts_of_the_routing_weigh_nothing_beside_the_host(direct):
    routing = {"service": "s" * 60, "version": "v" * 60}
    host = "v" * 60 + "." + "s" * 60 + ".p.uc.r.appspot.com"
    queue = direct.queue()
    task = app_engine(app_engine_routing=routing, body=b"x" * 1_048_000)
    direct.task(queue, "t", **task)
    stored = direct.parts.service.registry.queues[queue].names.task("t").form
    assert host.encode() in stored
    left = MAX_TASK_BYTES - (len(stored) - 2 * 62)
    task["app_engine_http_request"]["body"] = b"x" * (1_048_000 + left)
    assert direct.task(queue, "u", **task).name


def test_headers_of_80_kilobytes_are_refused(direct):
    queue = direct.queue()
    with refused("INVALID_ARGUMENT", "80KB"):
        direct.task(queue, **http(headers={f"x-{i}": "p" * 8000 for i in range(11)}))


def test_http_headers_keep_their_casing_and_gain_only_the_agent(direct):
    sent = {"X-Mixed-Case": "kept", "content-type": "application/json", "user-agent": "mine"}
    task = full(direct, direct.queue(), **http(headers=sent, body=b"{}"))
    assert dict(task.http_request.headers) == {
        "X-Mixed-Case": "kept",
        "content-type": "application/json",
        "User-Agent": HTTP_AGENT,
    }


@pytest.mark.parametrize(
    "name", ["Host", "content-length", "X-Google-A", "x-appengine-b", "X-CloudTasks-TaskName"]
)
def test_reserved_headers_are_dropped(direct, name):
    task = direct.task(direct.queue(), **http(headers={name: "fake"}))
    assert dict(task.http_request.headers) == {"User-Agent": HTTP_AGENT}


def test_app_engine_headers_gain_length_type_and_agent(direct):
    task = direct.task(direct.queue(), **app_engine(body=b"12345", headers={"User-Agent": "me/1"}))
    assert dict(task.app_engine_http_request.headers) == {
        "User-Agent": f"me/1 {APP_ENGINE_AGENT}",
        "Content-Length": "5",
        "Content-Type": "application/octet-stream",
    }


def test_app_engine_content_type_of_the_caller_wins(direct):
    task = direct.task(direct.queue(), **app_engine(body=b"{}", headers={"content-type": "a/b"}))
    headers = dict(task.app_engine_http_request.headers)
    assert (headers["content-type"], headers.get("Content-Type")) == ("a/b", None)


@pytest.mark.parametrize(
    ("location", "region"),
    [("us-central1", "uc"), ("europe-west1", "ew"), ("asia-northeast1", "an")],
)
def test_app_engine_host_has_no_scheme_and_names_the_region(direct, location, region):
    parent = f"projects/p/locations/{location}"
    queue = direct.client.create_queue(parent=parent, queue={"name": f"{parent}/queues/q"}).name
    routing = {"service": "s", "version": "v", "instance": "i"}
    task = direct.task(queue, **app_engine(app_engine_routing=routing))
    kept = task.app_engine_http_request.app_engine_routing
    assert kept.host == f"i.v.s.p.{region}.r.appspot.com"
    assert (kept.service, kept.version, kept.instance) == ("s", "v", "i")
    assert task.app_engine_http_request.relative_uri == "/"


def test_routing_of_the_queue_beats_the_tasks(direct):
    queue = direct.queue(app_engine_routing_override={"service": "queues"})
    task = direct.task(queue, **app_engine(app_engine_routing={"service": "tasks"}))
    assert task.app_engine_http_request.app_engine_routing.service == "queues"


@pytest.mark.parametrize("kind", ["oidc_token", "oauth_token"])
def test_token_needs_an_account(direct, kind):
    queue = direct.queue()
    with refused("INVALID_ARGUMENT", "serviceAccountEmail"):
        direct.task(queue, **http(**{kind: {"service_account_email": ""}}))


def test_account_that_does_not_exist_is_not_found(emulate):
    emulator = emulate(rules=Rules(service_accounts=frozenset({"there@p.test"})))
    queue = emulator.queue()
    emulator.task(queue, **http(oidc_token={"service_account_email": "there@p.test"}))
    with refused("NOT_FOUND"):
        emulator.task(queue, **http(oidc_token={"service_account_email": "gone@p.test"}))


def test_own_retry_settings_are_completed_and_checked(direct):
    queue = direct.queue(retry_config={"max_attempts": 50})
    kept = direct.task(queue, retry_config={"max_doublings": 2}).retry_config
    assert (kept.max_attempts, kept.max_doublings) == (100, 2)
    with refused("INVALID_ARGUMENT", "RetryConfig.maxAttempts"):
        direct.task(queue, retry_config={"max_attempts": -2})


@pytest.mark.parametrize("kind", [http(body=b"secret"), app_engine(body=b"secret")])
def test_only_the_full_view_has_the_body(direct, kind):
    queue = direct.queue()
    request = next(iter(kind))
    name = direct.task(queue, "t", **kind).name
    seen = {
        "create": full(direct, queue, **kind),
        "get": direct.client.get_task(request={"name": name, "response_view": FULL}),
        "list": next(
            iter(direct.client.list_tasks(request={"parent": queue, "response_view": FULL}))
        ),
        "run": direct.client.run_task(request={"name": name, "response_view": FULL}),
    }
    assert {getattr(task, request).body for task in seen.values()} == {b"secret"}
    assert {task.view for task in seen.values()} == {FULL}
    basic = [
        direct.task(queue, **kind),
        direct.client.get_task(name=name),
        next(iter(direct.client.list_tasks(parent=queue))),
        direct.client.run_task(name=name),
    ]
    assert {getattr(task, request).body for task in basic} == {b""}
    assert {task.view for task in basic} == {BASIC}


def test_unknown_view_is_refused(direct):
    queue = direct.queue()
    with refused("INVALID_ARGUMENT", "response_view"):
        direct.client.list_tasks(request={"parent": queue, "response_view": 7})


def test_call_with_a_deadline_beyond_30_seconds_is_refused(direct):
    queue = direct.queue()
    with refused("INVALID_ARGUMENT", "The deadline cannot be more than 30s in the future."):
        direct.client.get_queue(name=queue, timeout=30.5)
    assert direct.client.get_queue(name=queue, timeout=30)


def test_queue_is_made_at_its_first_task_if_wished(emulate):
    emulator = emulate(rules=Rules(auto_create=True))
    queue = f"{LOCATION}/queues/new"
    assert emulator.task(queue).name.startswith(queue)
    assert emulator.client.get_queue(name=queue).rate_limits.max_dispatches_per_second == 500
    emulator.client.delete_queue(name=queue)
    with refused("NOT_FOUND"):
        emulator.task(queue)
