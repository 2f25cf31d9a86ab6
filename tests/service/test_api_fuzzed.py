"""The API against its own description: what a generator of requests makes of it.

More examples: `INJECTOR_TEST_EXAMPLES=500 pytest tests/service/test_api_fuzzed.py`.
"""

import os
import re
import tempfile
from pathlib import Path
from uuid import uuid4

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

from handlers.routes import ROUTES
from tests.bench import MANIFEST
from tests.house import PERSON, House, settings_of
from tests.tokens import Signer

EXAMPLES = int(os.environ.get("INJECTOR_TEST_EXAMPLES", "15"))
FUZZED = settings(
    max_examples=EXAMPLES,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
JOBS = [None, "welcome-1", "paused", "cancelled"]
UNCHECKED = {"openapi.document"}
STATES = {"welcome-1": "resume", "paused": "pause", "cancelled": "cancel"}


@pytest.fixture(scope="module")
def served():
    """A service with a job in each state, of which one has a report."""
    with tempfile.TemporaryDirectory() as folder:
        house = House(Path(folder), Signer.new(), settings_of(requests_per_minute=1_000_000))
        for name, act in STATES.items():
            manifest = MANIFEST.replace("welcome-1", name) + "stop_when_rejected: 100%\n"
            house.submit(house.stage(250, bad=[7], manifest=manifest))
            house.ask("POST", f"/jobs/{name}/{act}")
        house.tick()
        house.dispatch_all()
        yield house
        house.ledger.close()


@pytest.fixture(scope="module")
def api(served):
    """The API's own description; who may call is another test's, so nothing is said of tokens."""
    document = served.get("/openapi.json").json | {"security": []}
    described = schemathesis.openapi.from_dict(document)
    described.app = served.app
    return described


def operations_of(api, endpoint):
    found = (result.ok() for result in api.get_all_operations())
    return [each for each in found if each.definition.raw["operationId"].startswith(f"{endpoint}.")]


def modes_of(endpoint):
    """Every route can be asked well; where nothing is asked, nothing can be wrong."""
    route = ROUTES[endpoint]
    asks = route.takes or route.query or route.steers
    return list(GenerationMode) if asks else [GenerationMode.POSITIVE]


QUESTIONS = [(endpoint, mode) for endpoint in sorted(ROUTES) for mode in modes_of(endpoint)]
BEYOND_SCHEMA = {
    "jobs.register": [positive_data_acceptance],
    "operating.begun": [positive_data_acceptance],
    "operating.planned": [positive_data_acceptance],
}
"""A manifest must agree with itself and with a store, and a spec with its kind, in ways that no
schema can say."""


@pytest.mark.parametrize(("endpoint", "mode"), QUESTIONS)
def test_every_answer_is_as_described(api, served, endpoint, mode):
    headers = {"Authorization": f"Bearer {served.signer.token(PERSON)}"}
    for operation in operations_of(api, endpoint):

        @FUZZED
        @given(case=operation.as_strategy(generation_mode=mode), job=st.sampled_from(JOBS))
        def ask(case, job):
            if "Idempotency-Key" in case.headers and mode is GenerationMode.POSITIVE:
                case.headers["Idempotency-Key"] = uuid4().hex  # each is for one request
            if job and mode is GenerationMode.POSITIVE and "job_id" in case.path_parameters:
                case.path_parameters["job_id"] = job
                case.headers.pop("If-Match", None)  # a made-up version is another's
            case.call_and_validate(headers=headers, excluded_checks=BEYOND_SCHEMA.get(endpoint, []))

        ask()


def test_every_route_but_pages_is_described(served, api):
    rules = {rule.endpoint for rule in served.app.url_map.iter_rules()}
    described = {
        result.ok().definition.raw["operationId"].rpartition(".")[0]
        for result in api.get_all_operations()
    }
    assert {each for each in rules if not each.startswith("dashboard")} == described | UNCHECKED


def test_the_document_is_openapi_3_1_and_names_no_schema_that_is_missing(served):
    document = served.get("/openapi.json").json
    text = served.get("/openapi.json").text
    assert document["openapi"] == "3.1.0"
    referred = set(re.findall(r'"#/components/schemas/(\w+)"', text))
    assert referred <= document["components"]["schemas"].keys()
    ids = re.findall(r'"operationId": ?"([\w.]+)"', text)
    assert len(ids) == len(set(ids))


def test_the_page_of_the_api_loads_nothing_from_elsewhere(served):
    page = served.get("/docs")
    assert not re.search(r"(src|href)=.https?:", page.text)
    assert "script-src 'self'" in page.headers["Content-Security-Policy"]
    for name in re.findall(r'(?:src|href)="docs/([^"]+)"', page.text):
        assert served.get(f"/docs/{name}").status_code == 200
    assert served.get("/docs/other.js").status_code == 404
