"""Operations on a group by the service: begun over the API, carried on by its ticks."""

import pytest

from tests.bench import GROUP
from tests.house import QUEUE, SCHEDULER
from tests.platforms import RUN, served

RAMP = {"kind": "ramp", "spec": {"to": 700.0, "blind": True}}
KEEP_WARM = {"kind": "keep-warm", "spec": {"every_s": 60.0}}


def begin(house, asked=RAMP, **more: object):
    return house.ask("POST", "/groups/welcome/operations", json=asked, **more)


def rates(house):
    return [house.creator.queues.get_queue(queue).rate for queue in GROUP.queues]


def tick(house, *, minutes=1):
    """Tick each minute, and return what was done for the group at last."""
    for _ in range(minutes):
        done = house.tick().json["groups"][0]["errands"]
        house.clock.sleep(60.0)
    return done


def test_operation_is_carried_on_by_ticks_until_it_is_done(house):
    begun = begin(house)
    assert (begun.status_code, begun.json["state"], begun.json["who"]) == (
        201,
        "running",
        "ann@p.example",
    )

    tick(house)
    assert rates(house) == [250.0, 250.0]
    tick(house, minutes=5)
    assert rates(house) == [350.0, 350.0]
    tick(house, minutes=6)

    shown = house.get(begun.headers["Location"]).json
    assert (shown["state"], shown["step"], shown["steps"]) == ("done", 2, 2)
    assert shown["acts_done"] == shown["acts"]


@pytest.mark.parametrize("act", ["pause", "resume", "cancel"])
def test_an_act_meant_for_an_older_operation_is_412_and_changes_nothing(house, act):
    begun = begin(house)
    place, old = begun.headers["Location"], begun.headers["ETag"]
    tick(house)
    now = house.get(place)
    assert old != now.headers["ETag"] == f'"{now.json["version"]}"'

    refused = house.ask("POST", f"{place}/{act}", headers={"If-Match": old})

    assert refused.status_code == 412
    assert house.get(place).json == now.json
    assert house.ask("POST", f"{place}/{act}", headers={"If-Match": "x"}).status_code == 400


def test_an_act_meant_for_the_operation_as_it_is_goes_through(house):
    begun = begin(house)
    place, etag = begun.headers["Location"], begun.headers["ETag"]
    paused = house.ask("POST", f"{place}/pause", headers={"If-Match": etag})
    assert (paused.status_code, paused.json["state"]) == (200, "paused")
    assert house.ask("POST", f"{place}/resume", headers={"If-Match": etag}).status_code == 412
    resumed = house.ask("POST", f"{place}/resume", headers={"If-Match": paused.headers["ETag"]})
    assert resumed.json["state"] == "running"
    assert house.ask("POST", f"{place}/cancel", headers={"If-Match": "*"}).status_code == 200


def test_ticks_that_come_twice_take_no_second_step(house):
    begin(house)
    tick(house)
    for _ in range(5):
        house.tick()

    assert rates(house) == [250.0, 250.0]


def test_same_operation_again_is_the_one_under_way_and_another_is_refused(house):
    first = begin(house)
    again = begin(house)
    other = begin(house, {"kind": "resume"})

    assert (again.status_code, again.json["id"]) == (200, first.json["id"])
    assert other.status_code == 409
    assert first.json["id"] in other.json["detail"]


def test_paused_operation_waits_and_goes_on(house):
    place = begin(house).headers["Location"]
    tick(house)

    assert house.ask("POST", f"{place}/pause").json["state"] == "paused"
    assert tick(house, minutes=10) == []
    assert house.ask("POST", f"{place}/resume").json["state"] == "running"
    tick(house, minutes=20)

    assert house.get(place).json["state"] == "done"


def test_cancelled_operation_is_over_and_its_audit_tells_of_each_step(house):
    begun = begin(house).json
    tick(house)
    cancelled = house.ask("POST", f"/operations/{begun['id']}/cancel").json

    assert cancelled["state"] == "cancelled"
    assert house.ask("POST", f"/operations/{begun['id']}/resume").status_code == 409
    changes = house.get(f"/jobs/{begun['id']}/audit").json["changes"]
    assert [(each["what"], each["new"], each["who"]) for each in changes[:2]] == [
        ("state", "cancelled", "ann@p.example"),
        ("step", "1", ""),
    ]
    assert changes[-1]["what"] == "begun"


def test_queue_that_is_missing_pauses_the_operation_and_is_named(house):
    del house.creator.queues.queues[GROUP.queues[1]]
    place = begin(house).headers["Location"]
    tick(house)

    shown = house.get(place).json
    assert shown["state"] == "paused"
    assert GROUP.queues[1] in shown["reason"]


def test_operation_without_sight_of_the_target_pauses_unless_it_is_meant_blind(house):
    place = begin(house, {"kind": "ramp", "spec": {"to": 700.0}}).headers["Location"]
    tick(house)

    assert "INJECTOR_MONITORING=on" in house.get(place).json["reason"]


@pytest.mark.parametrize(
    ("path", "asked", "status", "words"),
    [
        ("/groups/nobody/operations", RAMP, 404, "no group 'nobody'; it has "),
        ("/groups/welcome/operations", {"kind": "rampe"}, 400, "there are expand, keep-warm, "),
        (
            "/groups/welcome/operations",
            RAMP | {"spec": RAMP["spec"] | {"queues": ["projects/p/locations/l/queues/other"]}},
            400,
            "queues: projects/p/locations/l/queues/other is not one of group welcome's",
        ),
        ("/groups/welcome/operations", {"kind": "ramp"}, 400, "ramp: to: missing; give dispatch"),
        (
            "/groups/welcome/operations",
            {"kind": "ramp", "spec": {"to": 4000.0, "own": {"q": 1.0}}},
            400,
            "ramp: to 4000 and own (--back-to) are both given; keep one",
        ),
        (
            "/groups/welcome/operations",
            {"kind": "ramp", "spec": {"to": 1500.0}},
            400,
            "needs at least 3 queues of 500/s; the group has 2",
        ),
        ("/groups/welcome/operations", {"kind": "ramp", "spec": {"to": 0.0}}, 400, "to 0 is not"),
        ("/groups/welcome/operations", {"kind": "ramp", "spec": {"too": 1}}, 400, "no field 'too'"),
        (
            "/groups/welcome/operations",
            {"kind": "keep-warm", "spec": {"every_s": 900.0}},
            400,
            "from 1 to 240 s",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_what_would_do(house, path, asked, status, words):
    answer = house.ask("POST", path, json=asked)

    assert answer.status_code == status
    assert words in answer.json["detail"]


@pytest.mark.parametrize("route", ["operations", "plans"])
def test_traffic_of_a_service_that_is_not_named_in_the_settings_is_not_reached(house, route):
    asked = {"kind": "traffic-split", "spec": {"service": RUN, "to": "new", "tps": 1e5}}

    answer = house.ask("POST", f"/groups/welcome/{route}", json=asked)

    assert answer.status_code == 400
    assert "name it in INJECTOR_TRAFFIC_SERVICES" in answer.json["detail"]
    assert house.get("/operations").json["operations"] == []


def test_ticks_split_the_traffic_of_a_service_that_is_named_and_roll_it_back(house_of):
    with served() as (platforms, address):
        house = house_of(traffic_services=(RUN,), platforms_host=address)
        spec = {"service": RUN, "to": "new", "tps": 1e5, "blind": True}
        place = begin(house, {"kind": "traffic-split", "spec": spec}).headers["Location"]
        tick(house, minutes=12)
        house.tick()
        house.tick()
        assert [split["new"] for split in platforms.splits] == [1, 2]

        house.ask("POST", f"{place}/cancel")
        tick(house)

        assert platforms.splits[-1] == {"old": 100}
        assert house.get(place).json["state"] == "rolled_back"


def test_plan_shows_steps_and_changes_nothing(house):
    asked = {"kind": "ramp", "spec": {"to": 900.0, "blind": True}}
    plan = house.ask("POST", "/groups/welcome/plans", json=asked).json

    assert [step["figures"]["dispatches/s"] for step in plan["steps"]] == [500.0, 750.0, 900.0]
    assert plan["seconds"] == 900.0
    assert rates(house) == [500.0, 500.0]
    assert house.get("/operations").json["operations"] == []


def test_keep_warm_sends_each_queue_a_task_a_minute_which_only_queues_may_deliver(house):
    begin(house, KEEP_WARM)
    tick(house, minutes=3)

    sent = list(house.creator.queues.created.values())
    assert len(sent) == 2 * 4  # two queues, and two minutes ahead of the last tick
    assert {create.url for create in sent} == {"https://injector.example/keep-warm"}
    headers = dict(sent[0].template.headers)
    delivered = house.ask("POST", "/keep-warm", email=QUEUE, headers=headers)
    assert (delivered.status_code, delivered.json["status"]) == (200, "warm")
    assert b"injector_kept_warm_total 1.0" in house.get("/metrics").data
    assert house.ask("POST", "/keep-warm").status_code == 403
    assert house.ask("POST", "/keep-warm", email=SCHEDULER).status_code == 403
