import gzip
import json
import re

import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

from handlers.dashboard.files import TYPES
from injector.delivery.ports import Queue
from injector.ledger.ports import JobState, Receipt, Reject
from tests.bench import GROUP
from tests.house import QUEUE, SCHEDULER, Away

EVIL = "<script>alert(1)</script>"
OTHERS = (QUEUE, SCHEDULER, "mallory@p.example")
PATHS = (
    "/",
    "/?part=live",
    "/dashboard/jobs/welcome-1",
    "/dashboard/jobs/welcome-1?part=live",
    "/dashboard/jobs/welcome-1/rejects",
    "/dashboard/groups/welcome",
    "/dashboard/groups/welcome/queues",
    "/dashboard/groups/welcome/minutes",
    "/dashboard/files/live.js",
)


@pytest.fixture
def busy(house):
    """A house with a job half done."""
    house.submit(house.stage(250, bad=[7]))
    house.tick()
    house.dispatch_all()
    return house


def test_only_people_see_the_dashboard(busy):
    for path in PATHS:
        assert busy.get(path).status_code == 200
        assert busy.app.test_client().get(path).status_code == 401
        refused = {busy.ask("GET", path, email=caller).status_code for caller in OTHERS}
        assert refused == {403}


def test_no_page_may_run_or_load_anything_but_the_dashboards_own_files(busy):
    for path in PATHS:
        answer = busy.get(path)
        rules = answer.headers["Content-Security-Policy"].split("; ")
        policy = dict(rule.split(" ", 1) for rule in rules)
        assert policy["default-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
        loads = ("script-src", "style-src", "img-src", "connect-src", "form-action")
        assert {policy[name] for name in loads} == {"'self'"}
        if answer.mimetype == "text/html":
            assert not re.search(r"<script(?! src=)|<style| style=| on\w+=|https?://", answer.text)


def test_what_people_wrote_is_shown_as_text(house):
    house.submit(house.stage(250))
    reject = Reject(0, 0, 1, EVIL, EVIL)
    house.ledger.receipts.merge(Receipt("welcome-1", 0, 100, 0, 0, 1, (reject,)), now=0)
    page = house.get("/dashboard/jobs/welcome-1/rejects?contains=script").text
    assert EVIL not in page
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") == 2
    page = house.get(f"/dashboard/jobs/welcome-1/rejects?contains={EVIL}").text
    assert EVIL not in page
    assert EVIL not in house.get(f"/dashboard/jobs/{EVIL.replace('/', '%2F')}").text


@pytest.mark.parametrize("page", ["", "/queues", "/minutes"])
def test_a_page_of_no_group_says_which_may_be_meant(busy, page):
    answer = busy.get(f"/dashboard/groups/welcom{page}")
    assert answer.status_code == 404
    assert "did you mean" in answer.text


def test_a_page_that_says_the_same_is_not_sent_again(busy):
    first = busy.get("/dashboard/jobs/welcome-1?part=live")
    tag = {"If-None-Match": first.headers["ETag"]}
    again = busy.ask("GET", "/dashboard/jobs/welcome-1?part=live", headers=tag)
    assert (again.status_code, again.data) == (304, b"")
    other = busy.ask("GET", "/dashboard/groups/welcome?part=live", headers=tag)
    assert other.status_code == 200


def test_what_changes_is_sent_without_the_frame_around_it(busy):
    whole, live = (busy.get(f"/dashboard/jobs/welcome-1{part}").text for part in ("", "?part=live"))
    parts = re.findall(r'data-part="(\w+)"', live)
    assert parts == ["progress", "actions", "steps", "changes", "about"]
    assert set(parts) <= set(re.findall(r'data-part="(\w+)"', whole))
    assert "<html" not in live


@pytest.mark.parametrize(
    ("act", "shown"),
    [
        ([], ["pause", "tune", "cancel"]),
        (["pause"], ["resume", "tune", "cancel"]),
        (["cancel"], ["take-back", "remove"]),
    ],
)
def test_a_job_has_the_buttons_that_its_state_allows(house, act, shown):
    house.submit(house.stage(250))
    for each in act:
        assert house.ask("POST", f"/jobs/welcome-1/{each}").status_code == 200
    page = house.get("/dashboard/jobs/welcome-1").text
    assert re.findall(r'id="do-([\w-]+)"', page) == shown


def test_a_finished_job_offers_its_rejects_again_only_if_it_has_any(busy):
    busy.clock.time += 60
    busy.tick()
    page = busy.get("/dashboard/jobs/welcome-1").text
    assert re.findall(r'id="do-([\w-]+)"', page) == ["redrive", "remove"]


def test_a_failed_job_can_be_tried_again(house):
    house.submit(house.stage(250))
    house.ledger.jobs.set_state("welcome-1", JobState.FAILED, "no such store", now=0)
    page = house.get("/dashboard/jobs/welcome-1").text
    assert re.findall(r'id="do-([\w-]+)"', page) == ["retry", "cancel", "remove"]
    assert "no such store" in page


def test_queues_that_are_slow_to_answer_keep_no_other_page_waiting(house_of):
    house = house_of(threads=4)
    house.submit(house.stage(250))
    seen = []

    def slowly(name):
        if name == GROUP.queues[0]:
            seen.extend(house.get(path).status_code for path in PATHS[:6])
        return Queue(name)

    house.creator.queues.get_queue = slowly
    assert house.get("/dashboard/groups/welcome/queues").status_code == 200
    assert set(seen) == {200}


def test_every_button_asks_for_a_route_of_the_api(busy):
    page = busy.get("/dashboard/jobs/welcome-1").text
    adapter = busy.app.url_map.bind("injector.example")
    for method, path in re.findall(r'data-method="(\w+)" data-path="([^"]*)"', page):
        endpoint, _ = adapter.match(f"/jobs/welcome-1{path}", method)
        assert endpoint.startswith("steering.")


def test_rejects_are_found_by_reason_and_by_line_and_paged(house):
    house.submit(house.stage(250))
    reasons = [f"{'odd' if n % 2 else 'even'} {n}" for n in range(100)]
    rejects = tuple(Reject(n, n, n + 1, reason) for n, reason in enumerate(reasons))
    receipt = Receipt("welcome-1", 0, 100, 0, 0, (1 << 100) - 1, rejects)
    house.ledger.receipts.merge(receipt, now=0)

    def found(query):
        page = house.get(f"/dashboard/jobs/welcome-1/rejects?{query}").text
        return re.findall(r'<td class="wide">([^<]*)</td>', page), page

    rows, _ = found("contains=ODD+9")
    assert rows == [reason for reason in reasons if reason.startswith("odd 9")]
    rows, page = found("contains=e")
    assert rows == [reason for reason in reasons if "e" in reason][:50]
    rows, page = found("")
    assert rows == reasons[:50]
    assert "after=49" in page
    rows, page = found("after=49")
    assert rows == reasons[50:]


def test_charts_get_what_was_measured_of_the_group(busy):
    busy.clock.time += 60
    found = busy.get("/dashboard/groups/welcome/minutes?minutes=5").json
    assert len(found["at"]) == len(found["reached"]) <= 5
    assert sum(found["reached"]) > 0
    assert found["waiting"] == 0


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/?state=odd", 400),
        ("/dashboard/groups/welcome/minutes?minutes=100000", 400),
        ("/dashboard/jobs/welcome-1/rejects?after=x", 400),
        ("/dashboard/jobs/nobody", 404),
        ("/dashboard/groups/nobody", 404),
        ("/dashboard/groups/nobody/minutes", 404),
        ("/dashboard/groups/nobody/queues", 404),
        ("/dashboard/files/../app.py", 404),
        ("/dashboard/files/parts.html", 404),
    ],
)
def test_what_cannot_be_shown_is_said(busy, path, status):
    assert busy.get(path).status_code == status


def test_without_a_ledger_the_page_asks_for_patience_and_comes_again(house):
    house.ledger = Away()
    answer = house.get("/")
    assert answer.status_code == 503
    assert int(answer.headers["Retry-After"]) >= 1
    assert 'http-equiv="refresh"' in answer.text


@pytest.mark.parametrize("name", TYPES)
def test_files_are_kept_for_good_under_the_address_that_pages_give_them(house, name):
    plain = house.get(f"/dashboard/files/{name}")
    packed = house.ask("GET", f"/dashboard/files/{name}", headers={"Accept-Encoding": "gzip"})
    assert plain.status_code == 200
    assert plain.mimetype == TYPES[name]
    assert gzip.decompress(packed.data) == plain.data
    assert "immutable" not in plain.headers["Cache-Control"]


def test_pages_name_files_by_their_content(busy):
    page = busy.get("/dashboard/jobs/welcome-1").text
    addresses = set(re.findall(r'"(/dashboard/files/[^"]+)"', page))
    assert len(addresses) == len(TYPES)
    for address in addresses:
        assert "immutable" in busy.get(address).headers["Cache-Control"]
    stale = re.sub("v=.*", "v=0", min(addresses))
    assert "immutable" not in busy.get(stale).headers["Cache-Control"]


@pytest.mark.parametrize(
    "headers", [{"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}]
)
def test_a_page_of_another_site_changes_nothing_with_a_persons_own_token(house, headers):
    house.submit(house.stage(250))
    answer = house.ask("POST", "/jobs/welcome-1/pause", headers=headers)
    assert (answer.status_code, answer.mimetype) == (403, "application/problem+json")
    assert house.get("/jobs/welcome-1").json["state"] == "running"


@pytest.fixture
def questions():
    """Collect what the database is asked."""
    asked = []

    def collect(_connection, _cursor, statement, *_rest: object):
        asked.append(statement)

    event.listen(Engine, "before_cursor_execute", collect)
    yield asked
    event.remove(Engine, "before_cursor_execute", collect)


@pytest.mark.parametrize("path", ["/dashboard/jobs/{job}", "/dashboard/groups/welcome", "/"])
def test_a_page_asks_as_many_questions_whatever_the_size_of_the_job(house_of, questions, path):
    asked = []
    for records in (100, 1000):
        house = house_of()
        house.submit(house.stage(records))
        house.tick()
        house.dispatch_all()
        questions.clear()
        assert house.get(path.format(job="welcome-1")).status_code == 200
        asked.append(len(questions))
    assert asked[0] == asked[1] > 0


def test_the_json_of_the_charts_is_as_long_for_a_day_as_for_its_window(house):
    for minute in range(1440):
        house.ledger.signals.add("welcome", {"accepted": 60}, now=house.clock.time - 60 * minute)
    found = house.get("/dashboard/groups/welcome/minutes?minutes=180")
    assert len(found.json["at"]) == 180
    assert len(json.dumps(found.json)) < 20_000
