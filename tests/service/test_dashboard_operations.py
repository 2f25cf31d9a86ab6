"""A group's operations on the dashboard, and what the group sends to."""

import re
from dataclasses import replace

import pytest

from tests.bench import GROUP
from tests.house import QUEUE, SCHEDULER

TOPIC = replace(GROUP, name="news", queues=(), topic="projects/p/topics/t")
PAGE = "/dashboard/groups/welcome"


@pytest.fixture
def ramping(house):
    """A house with a ramp under way; give both."""
    asked = {"kind": "ramp", "spec": {"to": 1000.0, "blind": True}}
    begun = house.ask("POST", "/groups/welcome/operations", json=asked)
    assert begun.status_code == 201
    for _ in range(7):
        house.tick()
        house.clock.sleep(60.0)
    return house, begun.json["id"]


def test_only_people_see_an_operation(ramping):
    house, operation = ramping
    path = f"/dashboard/operations/{operation}"
    assert house.get(path).status_code == house.get(f"{path}?part=live").status_code == 200
    assert house.app.test_client().get(path).status_code == 401
    assert {house.ask("GET", path, email=each).status_code for each in (QUEUE, SCHEDULER)} == {403}


@pytest.mark.parametrize("part", ["", "?part=live"])
def test_an_operation_has_its_steps_with_their_reasons_on_both_pages(ramping, part):
    house, operation = ramping
    changes = house.get(f"/jobs/{operation}/audit").json["changes"]
    reasons = [change["reason"] for change in changes if change["what"] == "step"]
    assert len(reasons) >= 2
    for path in (PAGE, f"/dashboard/operations/{operation}"):
        page = house.get(path + part).text
        assert all(reason in page for reason in reasons)
        assert "<dd>1,000</dd>" in page
        assert "blind" in page


def test_every_button_of_an_operation_asks_for_a_route_of_the_api(ramping):
    house, operation = ramping
    adapter = house.app.url_map.bind("injector.example")
    page = house.get(PAGE).text
    at = re.findall(r'data-at="([^"]+)"', page)
    assert at == [f"/operations/{operation}"]
    found = re.findall(r'data-method="(\w+)" data-path="([^"]*)"', page)
    endpoints = [adapter.match(at[0] + path, method)[0] for method, path in found]
    assert endpoints == ["operating.paused", "operating.cancelled"]


def test_a_paused_operation_is_resumed_and_one_that_has_ended_is_left_alone(ramping):
    house, operation = ramping
    asked = (("pause", PAGE, ["resume", "stop"]), ("cancel", f"{PAGE}?part=live", []))
    for act, path, buttons in asked:
        house.ask("POST", f"/operations/{operation}/{act}")
        page = house.get(path).text
        assert re.findall(rf'id="do-{operation}-(\w+)"', page) == buttons


def test_a_stream_that_goes_on_for_long_is_not_lost_behind_those_that_ended(house):
    stream = {"kind": "keep-warm", "spec": {"every_s": 60.0}}
    kept = house.ask("POST", "/groups/welcome/operations", json=stream).json["id"]
    for to in range(8):
        asked = {"kind": "ramp", "spec": {"to": 600.0 + to, "blind": True}}
        begun = house.ask("POST", "/groups/welcome/operations", json=asked).json["id"]
        house.ask("POST", f"/operations/{begun}/cancel")
    shown = re.findall(
        r'<article class="card" aria-labelledby="op-([\w-]+)">', house.get(PAGE).text
    )
    assert kept in shown
    assert len(shown) == len(set(shown)) >= 6


def test_an_operation_that_never_was_is_404(house):
    assert house.get("/dashboard/operations/ramp-1").status_code == 404


def test_a_group_says_what_it_sends_to(house_of):
    house = house_of(groups={"welcome": GROUP, "news": TOPIC})
    index = house.get("/").text
    assert "to 2 queues" in index
    assert "to the topic t" in index
    page = house.get("/dashboard/groups/news").text
    assert "a topic <small>projects/p/topics/t</small>" in page
    assert "Look at 2 injector queues and the topic" in page
    assert "a topic has no queues to operate" in page
    assert "Look at 2 injector queues and 2 queues" in house.get(PAGE).text
