import pytest

from injector.groups import Group, expand, location_of
from injector.interleave import interleave
from injector.manifest import load_groups
from injector.operations.terraform import group_fields, import_blocks
from injector.pacing.ramp import Ramp

TARGET = "google_cloud_tasks_queue.target"
INJECTOR = "google_cloud_tasks_queue.injector"


def groups_of(deployment) -> dict[str, Group]:
    """Read the groups as the service does."""
    return load_groups(deployment.outputs["cli_environment"]["INJECTOR_GROUPS"], source="groups")


def named(deployment, prefix):
    """Return the full names of the queues whose address begins so."""
    return sorted(
        queue["id"]
        for address, queue in deployment.all("google_cloud_tasks_queue").items()
        if address.startswith(prefix)
    )


def test_queues_that_are_made_are_those_that_the_service_expects(deployment):
    groups = groups_of(deployment).values()
    assert named(deployment, TARGET) == sorted(name for group in groups for name in group.queues)
    assert named(deployment, INJECTOR) == sorted(
        name for group in groups for name in group.injector_queues
    )


def test_queues_are_where_their_names_say(deployment):
    for queue in deployment.all("google_cloud_tasks_queue").values():
        assert queue["location"] == location_of(queue["id"])
        assert queue["project"] == queue["id"].split("/")[1]


def test_a_group_without_wishes_has_forty_queues_and_the_ramp_of_500_50_5(minimal):
    parent = "projects/my-project/locations/europe-west1/queues"
    assert groups_of(minimal) == {
        "welcome": Group(
            "welcome",
            expand(f"{parent}/welcome-injector-0"),
            expand(f"{parent}/welcome-[0000-0039]"),
            ramp=Ramp(max_rate=500.0),
        )
    }


def test_ramps_topics_and_suffixes_reach_the_service(complete):
    groups = groups_of(complete)
    assert {name: len(group.injector_queues) for name, group in groups.items()} == {
        "bulk": 12,
        "events": 1,
        "welcome": 1,
    }
    assert groups["bulk"].ramp == Ramp(max_rate=2000.0, warm_rate=50.0)
    assert groups["events"].topic == "projects/my-project/topics/events"
    assert not groups["events"].queues
    assert groups["welcome"].queues[0].endswith("/queues/welcome-b-0000")


def test_the_queues_of_an_emergency_are_those_that_the_command_line_names(complete):
    parent = "projects/my-project/locations/europe-west1/queues"
    old = expand(f"{parent}/welcome-b-[0000-0007]")
    every = (*old, *interleave(old))
    assert len(every) == 12
    assert sorted(every) == [each for each in named(complete, TARGET) if "welcome-b" in each]
    assert groups_of(complete)["welcome"].queues == every
    assert group_fields(every) == 'queues = 8, between = ["[0000-0006:2]a"]'
    imported = import_blocks(every, group="welcome", module="injector")
    assert all(f'target["{name.rpartition("/")[2]}"]' in imported for name in every)


@pytest.mark.parametrize(
    ("names", "fields"),
    [
        ("q-[0000-0007],q-[0000-0006:2]a,q-[0001-0007:2]a", '[0000-0006:2]a", "[0001-0007:2]a'),
        ("q-[0000-0003],q-0002a", "0002a"),
    ],
)
def test_every_round_of_an_emergency_has_its_place_in_the_module(names, fields):
    queues = expand(f"projects/p/locations/l/queues/{names}")
    assert group_fields(queues).partition(", ")[2] == f'between = ["{fields}"]'


@pytest.mark.parametrize("names", ["mail-a,mail-b", "q-[0001-0004]", "q-[0-3]"])
def test_names_that_the_module_does_not_make_have_no_place_in_it(names):
    assert not group_fields(expand(f"projects/p/locations/l/queues/{names}"))


def test_the_groups_are_told_in_one_way(complete):
    outputs = complete.outputs
    environments = (outputs["cli_environment"], outputs["service_environment"])
    assert {each["INJECTOR_GROUPS"] for each in environments} == {outputs["groups"]}


def test_a_queue_is_as_its_group_wants_it(complete):
    queue = complete.all("google_cloud_tasks_queue")[f'{TARGET}["welcome-b-0000"]']
    (limits,), (retry,) = queue["rate_limits"], queue["retry_config"]
    assert (limits["max_dispatches_per_second"], limits["max_concurrent_dispatches"]) == (62.5, 100)
    assert (retry["max_attempts"], retry["min_backoff"], retry["max_backoff"]) == (
        20,
        "1s",
        "3600s",
    )
    assert retry["max_retry_duration"] == "86400s"


@pytest.mark.parametrize(("group", "rate"), [("bulk", 5 / 12), ("welcome-b", 5.0)])
def test_injector_queues_begin_at_the_ramp_s_first_rate(complete, group, rate):
    queue = complete.all("google_cloud_tasks_queue")[f'{INJECTOR}["{group}-injector-0"]']
    assert queue["rate_limits"][0]["max_dispatches_per_second"] == pytest.approx(rate)


def test_injector_tasks_are_tried_until_their_chunk_is_fed_again(deployment):
    for address, queue in deployment.all("google_cloud_tasks_queue").items():
        if address.startswith(INJECTOR):
            (retry,) = queue["retry_config"]
            assert retry["max_attempts"] == 100
            assert retry["max_backoff"] == "60s"


def test_queues_are_never_asked_for_a_burst(deployment):
    for file in deployment.workspace.folder.parents[1].glob("*.tf"):
        assert "max_burst_size" not in file.read_text()
