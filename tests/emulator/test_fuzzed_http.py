"""No HTTP request ends the process, and none is answered as a fault of ours."""

import json
from collections.abc import Iterator

import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st

from tests.emulator.fuzzing import tried
from tests.emulator.live import Live, live_emulator
from tests.waiting import PATIENCE_S

LOCATION = "projects/p/locations/us-central1"
QUEUE = f"{LOCATION}/queues/q"
VERBS = st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE"])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
KEYS = (
    st.text(max_size=8)
    | st.sampled_from(
        ["task", "name", "queue", "rateLimits", "httpRequest", "url", "body", "headers", "seconds"]
    )
    | st.sampled_from(
        ["requests", "names", "faults", "effect", "mode", "speed", "latency", "quantiles", "policy"]
    )
)
TREES = st.recursive(
    SCALARS | st.sampled_from([QUEUE, f"{QUEUE}/tasks/t", "http://h", "error", "frozen"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
BODIES = TREES.map(lambda tree: json.dumps(tree).encode()) | st.binary(max_size=30)
ODD = st.text(max_size=8) | st.sampled_from(["inf", "nan", "-1", "0", "1e400", "9" * 5000])
QUERIES = st.dictionaries(
    st.sampled_from(
        ["pageSize", "pageToken", "filter", "updateMask", "view", "limit", "$alt", "x"]
    ),
    ODD,
    max_size=3,
)
PLACES = st.sampled_from(
    [LOCATION, f"{LOCATION}/queues", QUEUE, f"{QUEUE}/tasks", f"{QUEUE}/tasks/t", "projects/p", ""]
) | st.sampled_from(
    [f"{LOCATION}/operations", f"{LOCATION}/cmekConfig", "projects//locations/%00/queues/é"]
)
ACTIONS = st.sampled_from(
    ["", "", ":pause", ":purge", ":run", ":buffer", "/tasks:batchCreate", "/tasks:batchDelete"]
) | st.sampled_from(
    [":getIamPolicy", ":setIamPolicy", ":cancel", ":wait", ":nonsense", "/t:buffer"]
)
CONTROLS = st.sampled_from(
    ["clock", "clock/advance", "faults", "queues", "topics", "finished", "tasks/x", "drained", "no"]
)
UNIMPLEMENTED = 501
fuzzed = tried(300)


@pytest.fixture(scope="module")
def live() -> Iterator[Live]:
    with live_emulator(queues=(QUEUE,), frozen=True) as emulator:
        yield emulator


def is_ours(verb: str, url: str, query: dict[str, str], body: bytes) -> bool:
    """Tell whether a request is answered as a fault of the emulator's."""
    status = requests.request(verb, url, params=query, data=body, timeout=PATIENCE_S).status_code
    return status >= 500 and status != UNIMPLEMENTED


@fuzzed
@given(VERBS, st.tuples(PLACES, ACTIONS).map("".join), QUERIES, BODIES)
def test_no_call_of_the_json_api_is_answered_internal(live, verb, place, query, body):
    assert not is_ours(verb, f"{live.url}/v2/{place}", query, body)


@fuzzed
@given(VERBS, CONTROLS, QUERIES, BODIES)
def test_no_control_is_answered_as_our_fault(live, verb, what, query, body):
    try:
        assert not is_ours(verb, f"{live.url}/control/{what}", query, body)
    finally:
        live.running.parts.plan.set([])


@pytest.mark.parametrize("limit", ["inf", "nan", "1e400", "x"])
def test_limit_that_is_no_number_is_refused(live, limit):
    answer = requests.get(f"{live.url}/control/finished?limit={limit}", timeout=PATIENCE_S)
    assert answer.status_code == 400


def test_clock_does_not_leave_the_calendar(live):
    century = {"seconds": 100 * 365 * 86400}
    url = f"{live.url}/control/clock/advance"
    answers = [requests.post(url, json=century, timeout=PATIENCE_S) for _ in range(90)]
    assert answers[-1].status_code == 400
    assert "year 9000" in answers[-1].json()["detail"]
    queues = f"{live.url}/v2/{QUEUE.rpartition('/')[0]}"
    assert requests.get(queues, timeout=PATIENCE_S).status_code == 200
