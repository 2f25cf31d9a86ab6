"""Locations, encryption keys and IAM policies."""

import pytest
from google.iam.v1 import policy_pb2

from injector.emulator.api.service import Rules
from tests.emulator.direct import refused

LOCATION = "projects/p/locations/us-central1"
KEY = "projects/k/locations/us-central1/keyRings/r/cryptoKeys/c"
CONFIG = f"{LOCATION}/cmekConfig"
VIEWER = {"role": "roles/cloudtasks.viewer", "members": ["user:a@b.test"]}


def test_locations_are_listed_in_pages(direct):
    first = direct.client.list_locations({"name": "projects/p", "page_size": 30})
    rest = direct.client.list_locations(
        {"name": "projects/p", "page_size": 30, "page_token": first.next_page_token}
    )
    ids = [location.location_id for location in [*first.locations, *rest.locations]]
    assert len(first.locations) == 30
    assert ids == sorted(ids)
    assert {"us-central1", "europe-west1", "asia-northeast1"} <= set(ids)
    assert rest.next_page_token == ""


@pytest.mark.parametrize(
    "text",
    ["locationId=us-central1", 'location_id = "us-central1"', "name:us-central1",
     "labels.cloud.googleapis.com/region=us-central1"],
)  # fmt: skip
def test_locations_can_be_filtered(direct, text):
    listed = direct.client.list_locations({"name": "projects/p", "filter": text}).locations
    assert [location.location_id for location in listed] == ["us-central1"]


@pytest.mark.parametrize("text", ["size=3", "locationId", "locationId=("])
def test_filter_of_locations_that_means_nothing_is_refused(direct, text):
    with refused("INVALID_ARGUMENT"):
        direct.client.list_locations({"name": "projects/p", "filter": text})


def test_page_token_belongs_to_its_filter_of_locations(direct):
    request = {"name": "projects/p", "filter": "name:us", "page_size": 1}
    token = direct.client.list_locations(request).next_page_token
    with refused("INVALID_ARGUMENT"):
        direct.client.list_locations({**request, "filter": "name:europe", "page_token": token})


def test_location_tells_its_region(direct):
    location = direct.client.get_location({"name": LOCATION})
    assert (location.name, location.location_id) == (LOCATION, "us-central1")
    assert dict(location.labels) == {"cloud.googleapis.com/region": "us-central1"}


def test_unknown_location_is_not_found(emulate, direct):
    with refused("NOT_FOUND"):
        direct.client.get_location({"name": "projects/p/locations/atlantis"})
    emulator = emulate(rules=Rules(locations=frozenset({"atlantis"})))
    listed = emulator.client.list_locations({"name": "projects/p"}).locations
    assert [location.location_id for location in listed] == ["atlantis"]


def test_no_key_is_configured_by_default(direct):
    config = direct.client.get_cmek_config(name=CONFIG)
    assert (config.name, config.kms_key) == (CONFIG, "")


def test_key_is_kept_per_location_and_can_be_turned_off(direct):
    other = "projects/p/locations/europe-west1/cmekConfig"
    direct.client.update_cmek_config(cmek_config={"name": CONFIG, "kms_key": KEY})
    assert direct.client.get_cmek_config(name=CONFIG).kms_key == KEY
    assert direct.client.get_cmek_config(name=other).kms_key == ""
    direct.client.update_cmek_config(
        cmek_config={"name": CONFIG}, update_mask={"paths": ["kms_key"]}
    )
    assert direct.client.get_cmek_config(name=CONFIG).kms_key == ""


@pytest.mark.parametrize(
    "config",
    [
        {"name": CONFIG, "kms_key": "key"},
        {"name": CONFIG, "kms_key": KEY.replace("us-central1", "europe-west1")},
        {"name": LOCATION, "kms_key": KEY},
    ],
)
def test_bad_key_or_name_is_refused(direct, config):
    with refused("INVALID_ARGUMENT", "CmekConfig"):
        direct.client.update_cmek_config(cmek_config=config)


def test_unknown_path_of_a_key_config_is_refused(direct):
    with refused("INVALID_ARGUMENT", "kms_key"):
        direct.client.update_cmek_config(
            cmek_config={"name": CONFIG}, update_mask={"paths": ["nope"]}
        )


def test_policy_is_empty_until_set_and_then_kept(direct):
    queue = direct.queue()
    empty = direct.client.get_iam_policy(request={"resource": queue})
    assert list(empty.bindings) == []
    assert empty.etag
    policy = policy_pb2.Policy(version=1, bindings=[VIEWER], etag=empty.etag)
    kept = direct.client.set_iam_policy(request={"resource": queue, "policy": policy})
    assert kept == direct.client.get_iam_policy(request={"resource": queue})
    assert kept.bindings[0].role == VIEWER["role"]
    assert kept.etag != empty.etag


def test_policy_that_changed_meanwhile_is_not_overwritten(direct):
    queue = direct.queue()
    etag = direct.client.get_iam_policy(request={"resource": queue}).etag
    policy = policy_pb2.Policy(bindings=[VIEWER], etag=etag)
    direct.client.set_iam_policy(request={"resource": queue, "policy": policy})
    with refused("ABORTED", "concurrent policy changes"):
        direct.client.set_iam_policy(
            request={"resource": queue, "policy": policy_pb2.Policy(etag=etag)}
        )
    blind = policy_pb2.Policy()
    direct.client.set_iam_policy(request={"resource": queue, "policy": blind})


@pytest.mark.parametrize("verb", ["get_iam_policy", "set_iam_policy"])
def test_policy_of_a_missing_queue_is_not_found(direct, verb):
    with refused("NOT_FOUND"):
        getattr(direct.client, verb)(request={"resource": f"{LOCATION}/queues/none"})


def test_permissions_are_all_granted_on_a_queue_and_none_elsewhere(direct):
    queue = direct.queue()
    asked = ["cloudtasks.queues.get", "cloudtasks.tasks.create"]
    test = direct.client.test_iam_permissions
    assert test(resource=queue, permissions=asked).permissions == asked
    assert not test(resource=f"{LOCATION}/queues/none", permissions=asked).permissions
    with refused("INVALID_ARGUMENT", "wildcards"):
        test(resource=queue, permissions=["cloudtasks.*"])


def test_mask_of_a_policy_keeps_what_it_does_not_name(direct):
    queue = direct.queue()
    direct.client.set_iam_policy({"resource": queue, "policy": {"bindings": [VIEWER]}})
    policy = policy_pb2.Policy(version=3)
    merged = direct.client.set_iam_policy(
        {"resource": queue, "policy": policy, "update_mask": {"paths": ["version"]}}
    )
    assert merged.version == 3
    assert [binding.role for binding in merged.bindings] == [VIEWER["role"]]


def test_unknown_field_in_the_mask_of_a_policy_is_refused(direct):
    request = {"resource": direct.queue(), "policy": {}, "update_mask": {"paths": ["owner"]}}
    with refused("INVALID_ARGUMENT"):
        direct.client.set_iam_policy(request)


CONDITION = {"expression": "request.time < timestamp('2027-01-01T00:00:00Z')"}


@pytest.mark.parametrize(
    "policy",
    [
        {"version": 2},
        {"bindings": [{"role": "", "members": ["allUsers"]}]},
        {"bindings": [{"role": "viewer", "members": ["allUsers"]}]},
        {"bindings": [{"role": VIEWER["role"], "members": ["a@b.test"]}]},
        {"bindings": [{"role": VIEWER["role"], "members": ["user:"]}]},
        {"version": 1, "bindings": [{**VIEWER, "condition": CONDITION}]},
    ],
)
def test_policy_that_the_service_would_not_take_is_refused(direct, policy):
    queue = direct.queue()
    before = direct.client.get_iam_policy(request={"resource": queue})
    with refused("INVALID_ARGUMENT"):
        direct.client.set_iam_policy(request={"resource": queue, "policy": policy})
    assert direct.client.get_iam_policy(request={"resource": queue}) == before


@pytest.mark.parametrize(
    "member",
    [
        "allAuthenticatedUsers",
        "domain:b.test",
        "projectOwner:p",
        "deleted:serviceAccount:s@p.iam.gserviceaccount.com?uid=1",
        "principalSet://iam.googleapis.com/locations/global/workforcePools/w/*",
    ],
)
def test_policy_may_name_every_kind_of_member(direct, member):
    roles = ("roles/cloudtasks.enqueuer", "projects/p/roles/own")
    bindings = [{"role": role, "members": [member], "condition": CONDITION} for role in roles]
    policy = {"version": 3, "bindings": bindings}
    kept = direct.client.set_iam_policy({"resource": direct.queue(), "policy": policy})
    assert [list(binding.members) for binding in kept.bindings] == [[member], [member]]


def test_version_of_a_policy_that_does_not_exist_is_refused(direct):
    options = {"requested_policy_version": 2}
    with refused("INVALID_ARGUMENT"):
        direct.client.get_iam_policy({"resource": direct.queue(), "options": options})
