"""What the service may not do, asked of the service itself, and told by `injector doctor`."""

import json
import re

import pytest
import responses

from injector.cli.main import run
from injector.delivery.ports import Queue
from injector.errors import Retryable
from injector.queues.access import admin_at
from injector.queues.rights import FED, FILLED, lacks_of
from injector.staging.rights import STAGES, lacking
from tests.bench import GROUP, queues_of
from tests.buckets import find_buckets_at
from tests.emulator.live import live_emulator

PARENT = "projects/p/locations/us-central1/queues"
URL = "http://127.0.0.1:8080"
LACK = {"resource": f"{PARENT}/welcome-0", "role": "roles/cloudtasks.enqueuer"}
LACK |= {"permission": "cloudtasks.tasks.create"}


def at(live):
    return f"127.0.0.1:{live.running.port}"


def test_the_real_client_asks_the_queue_itself():
    with live_emulator() as live, admin_at(at(live)) as admin:
        admin.create_queue(Queue(f"{PARENT}/q"))
        assert list(admin.granted(f"{PARENT}/q", list(FED))) == list(FED)
        assert list(admin.granted(f"{PARENT}/nowhere", list(FED))) == []


@pytest.mark.parametrize("permission", sorted({*FED, *FILLED}))
def test_each_permission_that_is_withheld_is_named_with_its_role(permission):
    queues = queues_of(GROUP)
    assert lacks_of(GROUP, queues) == []
    queues.withheld.add(permission)
    fed = [queue for queue in GROUP.injector_queues if permission in FED]
    filled = [queue for queue in GROUP.queues if permission in FILLED]
    lacks = lacks_of(GROUP, queues)
    assert [lack.resource for lack in lacks] == [*fed, *filled]
    assert {lack.permission for lack in lacks} == {permission}
    assert {lack.role for lack in lacks} == {(FED | FILLED)[permission]}


def test_the_service_says_what_it_may_not_do_itself(house):
    assert house.get("/groups/welcome/rights").json == {"lacks": []}
    house.creator.queues.withheld.add("cloudtasks.queues.update")
    lacks = house.get("/groups/welcome/rights").json["lacks"]
    assert [lack["resource"] for lack in lacks] == list(GROUP.injector_queues)
    assert {lack["role"] for lack in lacks} == {"roles/cloudtasks.queueAdmin"}
    assert house.get("/groups/nobody/rights").status_code == 404


def test_the_service_asks_for_its_bucket_too(house, bucket):
    house.settings = house.settings.model_copy(update={"store_url": "gs://bucket/chunks"})
    bucket.withheld.add("storage.objects.get")
    assert house.get("/groups/welcome/rights").json["lacks"] == [
        {
            "resource": "gs://bucket/chunks",
            "permission": "storage.objects.get",
            "role": "roles/storage.objectViewer",
        }
    ]


def test_a_folder_has_no_rights_to_ask_for(tmp_path):
    assert lacking(str(tmp_path), STAGES) == ()


def test_a_bucket_that_does_not_answer_is_named_soon(monkeypatch):
    find_buckets_at("http://127.0.0.1:1", monkeypatch)
    with pytest.raises(Retryable, match=r"gs://bucket/chunks: has not answered within 0.1 s"):
        lacking("gs://bucket/chunks", STAGES, within_s=0.1)


@pytest.fixture
def web(tmp_path, monkeypatch):
    """A service that knows one group."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLOUDTASKS_EMULATOR_HOST", "127.0.0.1:8123")
    with responses.RequestsMock(assert_all_requests_are_fired=False) as web:
        web.get(f"{URL}/ready", json={})
        web.get(f"{URL}/jobs", json={"jobs": [], "next": None})
        web.get(f"{URL}/groups", json={"groups": [{"name": "welcome"}]})
        web.get(f"{URL}/groups/welcome/queues", status=404, json={"detail": "old"})
        yield web


def finding(capsys, name):
    run(["doctor", "--json"])
    found = json.loads(capsys.readouterr().out)["findings"]
    return [each for each in found if each["name"] == name]


def test_doctor_names_the_permission_the_queue_and_the_command(web, capsys):
    other = LACK | {"resource": f"{PARENT}/welcome-1"}
    web.get(f"{URL}/groups/welcome/rights", json={"lacks": [LACK, other]})
    [found] = finding(capsys, "rights on group welcome")
    assert found["verdict"] == "fault"
    assert found["said"] == (
        f"the service lacks cloudtasks.tasks.create on {PARENT}/welcome-0, and on one other"
    )
    assert (
        "gcloud tasks queues add-iam-policy-binding welcome-0 --location=us-central1 --project=p "
        "--member=serviceAccount:ACCOUNT --role=roles/cloudtasks.enqueuer"
    ) in found["mend"]


def test_doctor_is_content_where_nothing_is_lacking(web, capsys):
    web.get(f"{URL}/groups/welcome/rights", json={"lacks": []})
    [found] = finding(capsys, "rights on group welcome")
    assert found["verdict"] == "ok"


@pytest.mark.parametrize("status", [404, 403])
def test_a_service_that_cannot_say_is_a_doubt(web, capsys, status):
    web.get(f"{URL}/groups/welcome/rights", status=status, json={"detail": "no"})
    [found] = finding(capsys, "rights on group welcome")
    assert found["verdict"] == "doubt"


def test_doctor_asks_for_the_rights_of_this_machine_where_there_is_no_service(
    monkeypatch, tmp_path, capsys
):
    monkeypatch.chdir(tmp_path)
    groups = {"groups": {"w": {"injector_queues": f"{PARENT}/i", "queues": f"{PARENT}/w-[0-1]"}}}
    monkeypatch.setenv("INJECTOR_GROUPS", json.dumps(groups))
    monkeypatch.setenv("INJECTOR_SERVICE_URL", "http://127.0.0.1:1")
    with live_emulator() as live:
        monkeypatch.setenv("CLOUDTASKS_EMULATOR_HOST", at(live))
        with admin_at(at(live)) as admin:
            for queue in ("i", "w-0"):
                admin.create_queue(Queue(f"{PARENT}/{queue}"))
        said = [found["said"] for found in finding(capsys, "rights on group w")]
    assert len(said) == 3
    assert all(re.fullmatch(rf"this machine lacks \S+ on {PARENT}/w-1", each) for each in said)


@pytest.mark.parametrize("withheld", [set(), {"storage.objects.delete"}])
def test_doctor_asks_what_this_machine_may_do_with_the_bucket(
    web, bucket, monkeypatch, capsys, withheld
):
    web.add_passthru("http://127.0.0.1")
    monkeypatch.setenv("INJECTOR_STORE_URL", "gs://bucket/chunks")
    bucket.withheld = withheld
    [found] = finding(capsys, "rights on the store")
    assert found["verdict"] == ("fault" if withheld else "ok")
    if withheld:
        assert "storage.objects.delete" in found["said"]
        assert "gcloud storage buckets add-iam-policy-binding gs://bucket" in found["mend"]
