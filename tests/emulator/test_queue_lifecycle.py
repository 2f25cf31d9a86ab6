"""Queues: made, changed, paused, purged, deleted, listed."""

import pytest
from google.cloud import tasks_v2

from injector.emulator.api.service import Rules
from tests.emulator.direct import refused

LOCATION = "projects/p/locations/us-central1"
MISSING = "Queue does not exist. If you just created the queue, wait at least a minute"
State = tasks_v2.Queue.State


def update(direct, name, paths, **settings: object):
    mask = {} if paths is None else {"update_mask": {"paths": paths}}
    return direct.client.update_queue(queue={"name": name, **settings}, **mask)


@pytest.mark.parametrize("verb", ["get_queue", "pause_queue", "resume_queue", "purge_queue"])
def test_missing_queue_is_not_found(direct, verb):
    with refused("NOT_FOUND", MISSING):
        getattr(direct.client, verb)(name=f"{LOCATION}/queues/none")


def test_deleting_a_missing_queue_has_another_text(direct):
    with refused("NOT_FOUND", "Requested entity was not found."):
        direct.client.delete_queue(name=f"{LOCATION}/queues/none")


def test_second_create_finds_the_queue(direct):
    direct.queue()
    with refused("ALREADY_EXISTS", "Queue already exists"):
        direct.queue()


def test_deleted_name_is_free_again_after_its_window(direct):
    name = direct.queue()
    direct.client.delete_queue(name=name)
    direct.advance(3 * 86400 - 1)
    with refused("FAILED_PRECONDITION", "existed too recently"):
        direct.queue()
    with refused("FAILED_PRECONDITION", "existed too recently"):
        update(direct, name, None)
    direct.advance(2)
    assert direct.client.get_queue(name=direct.queue()).state == State.RUNNING


def test_deleting_takes_the_tasks_along(direct):
    name = direct.queue()
    direct.task(name)
    direct.client.delete_queue(name=name)
    assert direct.due() == []
    with refused("NOT_FOUND", MISSING):
        list(direct.client.list_tasks(parent=name))


def test_paused_queue_holds_its_tasks_until_resumed(direct):
    name = direct.queue()
    assert direct.client.pause_queue(name=name).state == State.PAUSED
    direct.task(name)
    assert direct.due() == []
    assert direct.client.resume_queue(name=name).state == State.RUNNING
    assert len(direct.due()) == 1


def test_purge_removes_tasks_keeps_their_names_and_tells_when(direct):
    name = direct.queue()
    direct.task(name, "t")
    direct.client.pause_queue(name=name)
    purged = direct.client.purge_queue(name=name)
    assert purged.purge_time.timestamp() == direct.now
    assert purged.state == State.PAUSED
    assert direct.depth(name) == 0
    with refused("ALREADY_EXISTS"):
        direct.task(name, "t")


def test_purge_ignores_what_an_attempt_in_flight_brings(direct):
    name = direct.queue()
    direct.task(name)
    (started,) = direct.due()
    direct.client.purge_queue(name=name)
    direct.end(started, 500)
    direct.advance(10)
    assert direct.due() == []


def test_mask_limits_the_change_to_one_field(direct):
    name = direct.queue(retry_config={"max_attempts": 7, "max_doublings": 3})
    before = direct.client.get_queue(name=name)
    after = update(
        direct,
        name,
        ["rate_limits.max_dispatches_per_second"],
        rate_limits={"max_dispatches_per_second": 7.5, "max_concurrent_dispatches": 3},
    )
    before.rate_limits.max_dispatches_per_second = 7.5
    before.rate_limits.max_burst_size = 8
    assert after == before


def test_mask_on_a_message_replaces_it_with_defaults_for_gaps(direct):
    name = direct.queue(retry_config={"max_attempts": 3, "max_doublings": 5})
    after = update(direct, name, ["retry_config"], retry_config={"max_attempts": 9})
    assert (after.retry_config.max_attempts, after.retry_config.max_doublings) == (9, 16)


@pytest.mark.parametrize("paths", [None, [], ["*"]])
def test_empty_mask_replaces_everything(direct, paths):
    name = direct.queue(retry_config={"max_attempts": 3}, http_target={"http_method": "PUT"})
    after = update(direct, name, paths, rate_limits={"max_dispatches_per_second": 11})
    assert after.rate_limits.max_dispatches_per_second == 11
    assert after.retry_config.max_attempts == 100
    assert not tasks_v2.Queue.pb(after).HasField("http_target")


@pytest.mark.parametrize("path", ["no_such", "rateLimits", "rate_limits.nope", "name.x", ""])
def test_unknown_path_is_refused_and_changes_nothing(direct, path):
    name = direct.queue()
    before = direct.client.get_queue(name=name)
    with refused("INVALID_ARGUMENT", "Invalid field mask"):
        update(direct, name, ["rate_limits", path], rate_limits={"max_dispatches_per_second": 3})
    assert direct.client.get_queue(name=name) == before


def test_output_only_fields_of_a_mask_are_ignored(direct):
    name = direct.queue()
    direct.client.pause_queue(name=name)
    paths = ["state", "purge_time", "rate_limits.max_burst_size", "name"]
    after = update(direct, name, paths, state=State.RUNNING, rate_limits={"max_burst_size": 3})
    assert (after.state, after.rate_limits.max_burst_size) == (State.PAUSED, 500)


def test_deep_paths_reach_into_the_http_target(direct):
    name = direct.queue(http_target={"uri_override": {"host": "a.test", "port": 1}})
    paths = ["http_target.uri_override.host"]
    target = {"uri_override": {"host": "b.test", "port": 2}}
    after = update(direct, name, paths, http_target=target).http_target.uri_override
    assert (after.host, after.port) == ("b.test", 1)


def test_update_makes_a_missing_queue(direct):
    name = f"{LOCATION}/queues/new"
    made = update(direct, name, ["retry_config"], retry_config={"max_attempts": 5})
    assert made.state == State.RUNNING
    assert direct.client.get_queue(name=name).retry_config.max_attempts == 5


def test_what_was_read_can_be_written_back(direct):
    before = direct.client.get_queue(name=direct.queue())
    assert direct.client.update_queue(queue=before) == before


def test_list_is_sorted_scoped_and_paged(direct):
    for name in ("m", "b", "z", "a", "k"):
        direct.queue(name)
    other = "projects/p/locations/europe-west1"
    direct.client.create_queue(parent=other, queue={"name": f"{other}/queues/c"})
    pages = list(direct.client.list_queues(request={"parent": LOCATION, "page_size": 2}).pages)
    found = [[queue.name.rpartition("/")[2] for queue in page.queues] for page in pages]
    assert found == [["a", "b"], ["k", "m"], ["z"]]
    assert pages[-1].next_page_token == ""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("state: PAUSED", ["b"]),
        ("state=PAUSED", ["b"]),
        ("NOT state:PAUSED", ["a", "c"]),
        ("-state=PAUSED", ["a", "c"]),
        ("rate_limits.max_dispatches_per_second > 10", ["a", "b"]),
        ("rateLimits.maxDispatchesPerSecond <= 10", ["c"]),
        ('name: "/queues/a" OR name: "/queues/c"', ["a", "c"]),
        ('(name: "/a" OR name: "/b") AND state = RUNNING', ["a"]),
        ('retry_config.max_backoff >= "1h"', []),
        ("retry_config.max_backoff >= 3600s", ["a", "b", "c"]),
        ("state != RUNNING", ["b"]),
        ('name =~ "queues/[ab]$"', ["a", "b"]),
        ("purge_time:*", ["c"]),
    ],
)
def test_filter_chooses_queues(direct, text, found):
    direct.queue("a")
    direct.client.pause_queue(name=direct.queue("b"))
    slow = direct.queue("c", rate_limits={"max_dispatches_per_second": 5})
    direct.client.purge_queue(name=slow)
    queues = direct.client.list_queues(request={"parent": LOCATION, "filter": text})
    assert [queue.name.rpartition("/")[2] for queue in queues] == found


@pytest.mark.parametrize(
    "text", ["nonsense", "state", "state >", "(state=PAUSED", "nope=1", "state=PAUSED)", '="']
)
def test_broken_filter_is_refused(direct, text):
    with refused("INVALID_ARGUMENT", "Invalid filter"):
        list(direct.client.list_queues(request={"parent": LOCATION, "filter": text}))


def test_page_token_belongs_to_its_filter_and_ages(direct):
    for name in "abc":
        direct.queue(name)
    request = {"parent": LOCATION, "page_size": 1, "filter": "state: RUNNING"}
    token = next(iter(direct.client.list_queues(request=request).pages)).next_page_token
    with refused("INVALID_ARGUMENT", "belongs to another"):
        list(direct.client.list_queues(request={"parent": LOCATION, "page_token": token}))
    with refused("INVALID_ARGUMENT", "not valid"):
        list(direct.client.list_queues(request={"parent": LOCATION, "page_token": "invented"}))
    direct.advance(2 * 3600 + 1)
    with refused("INVALID_ARGUMENT", "2 hours"):
        list(direct.client.list_queues(request={**request, "page_token": token}))


def test_new_queue_can_take_a_while_to_be_found(emulate):
    emulator = emulate(rules=Rules(ready_s=60))
    name = emulator.queue()
    with refused("NOT_FOUND", "wait at least a minute"):
        emulator.client.get_queue(name=name)
    with refused("NOT_FOUND", "wait at least a minute"):
        emulator.task(name)
    emulator.advance(60)
    assert emulator.task(name).name


def test_lists_are_limited_by_project_if_quotas_are_on(emulate):
    emulator = emulate(quotas=True)
    for _ in range(600):
        list(emulator.client.list_queues(parent=LOCATION))
    with refused("RESOURCE_EXHAUSTED", "600 list requests per minute for projects/p"):
        list(emulator.client.list_queues(parent=LOCATION))
    list(emulator.client.list_queues(parent="projects/other/locations/us-central1"))
    emulator.advance(0.2)
    list(emulator.client.list_queues(parent=LOCATION))


def test_forced_runs_are_limited_if_quotas_are_on(emulate):
    emulator = emulate(quotas=True)
    name = emulator.task(emulator.queue()).name
    for _ in range(60):
        emulator.client.run_task(name=name)
    with refused("RESOURCE_EXHAUSTED", "60 force-run requests"):
        emulator.client.run_task(name=name)
