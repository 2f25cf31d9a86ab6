"""Queue expressions and ramps."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from injector.errors import Misused
from injector.groups import Group, expand, location_of, queue_rate_problem, ramp_problems
from injector.pacing.ramp import Ramp
from injector.queue_names import so_many

PARENT = "projects/p/locations/us-central1/queues/"


def ids(expression):
    return [name.removeprefix(PARENT) for name in expand(PARENT + expression)]


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("welcome", ["welcome"]),
        ("q-[0-3]", ["q-0", "q-1", "q-2", "q-3"]),
        ("q-[08-11]", ["q-08", "q-09", "q-10", "q-11"]),
        ("q-[8-11]", ["q-8", "q-9", "q-10", "q-11"]),
        ("q-[0000-0004:2]a", ["q-0000a", "q-0002a", "q-0004a"]),
        ("q[0-1]-[0-1]", ["q0-0", "q0-1", "q1-0", "q1-1"]),
        ("a, b", ["a", "b"]),
        ("Ab-1", ["Ab-1"]),
        ("-a", ["-a"]),
        ("x" * 100, ["x" * 100]),
    ],
)
def test_expression_names_its_queues_in_order(expression, names):
    assert ids(expression) == names


def test_interleaved_expansion_adds_queues_that_sort_between_the_old_ones():
    names = ids("q-[0000-0199],q-[0000-0198:2]a")
    assert len(names) == 300
    assert sorted(names)[:4] == ["q-0000", "q-0000a", "q-0001", "q-0002"]


@given(first=st.integers(0, 500), count=st.integers(1, 200), width=st.integers(4, 6))
def test_padded_range_names_each_queue_once_in_one_width(first, count, width):
    names = ids(f"q[{first:0{width}}-{first + count - 1:0{width}}]")
    assert [int(name[1:]) for name in names] == list(range(first, first + count))
    assert {len(name) for name in names} == {width + 1}


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("a_b", "letters, digits and hyphens"),
        ("x" * 101, "1 to 100"),
        ("", "1 to 100"),
        ("q-[3-1]", "is not a range"),
        ("q-[01-100]", "is not a range"),
        ("q-[0-9:0]", "is not a range"),
        ("q-[0-", "letters, digits and hyphens"),
        ("a,a", "named twice"),
        ("q-[0-99999999999999999999]", "is over 10000 queues"),
        ("q[0-999][0-999]", "is over 10000 queues"),
        ("q[0-5999],r[0-5999]", "is over 10000 queues"),
    ],
)
def test_wrong_queue_ids_are_refused_with_a_remedy(expression, words):
    with pytest.raises(Misused, match=words):
        expand(PARENT + expression)


@pytest.mark.parametrize(
    ("location", "words"),
    [
        ("us-central", "Cloud Tasks calls it us-central1"),
        ("europe-west", "Cloud Tasks calls it europe-west1"),
        ("US-CENTRAL1", "write us-central1"),
        ("europe-west1 ", "write europe-west1"),
        ("-", "wildcard"),
        ("us-central1-a", "is a zone; name its region, us-central1"),
        ("", "is not a location"),
    ],
)
def test_wrong_locations_are_refused_with_queue_project_and_the_right_name(location, words):
    with pytest.raises(Misused, match=words) as failure:
        expand(f"projects/p/locations/{location}/queues/q")
    assert f"projects/p/locations/{location}/queues/q" in str(failure.value)


def test_group_spread_over_two_regions_is_refused_naming_both():
    with pytest.raises(Misused, match="europe-west1, us-central1"):
        expand(PARENT + "a,projects/p/locations/europe-west1/queues/b")


@pytest.mark.parametrize("expression", ["q", "queues/q", "projects/p/queues/q", "a/b", ""])
def test_names_without_a_parent_are_refused(expression):
    with pytest.raises(Misused, match="is not a queue"):
        expand(expression)


@pytest.mark.parametrize("project", ["my.org:proj", "123456", "p", "example.com:a-b"])
def test_domain_scoped_and_numeric_projects_are_accepted(project):
    (queue,) = expand(f"projects/{project}/locations/l/queues/q")
    assert location_of(queue) == "l"


@pytest.mark.parametrize("rate", [0.1, 5, 7.5, 500])
def test_rates_that_a_queue_can_have_are_accepted(rate):
    assert queue_rate_problem(rate) == ""


@pytest.mark.parametrize("rate", [0, -1, math.nan, math.inf, -math.inf, 500.01, 1e9])
def test_rates_that_a_queue_cannot_have_are_refused(rate):
    assert queue_rate_problem(rate)


@pytest.mark.parametrize(
    ("ramp", "field"),
    [
        (Ramp(initial_rate=0), "initial_rate"),
        (Ramp(max_rate=500.01), "max_rate"),
        (Ramp(max_rate=1e9), "max_rate"),
        (Ramp(max_rate=math.nan), "max_rate"),
        (Ramp(max_rate=math.inf), "max_rate"),
        (Ramp(warm_rate=-1), "warm_rate"),
        (Ramp(growth=0.5), "growth"),
        (Ramp(growth=math.nan), "growth"),
        (Ramp(interval_s=0), "interval"),
        (Ramp(initial_rate=5, max_rate=4), "initial_rate"),
        (Ramp(initial_rate=5.1), ""),
        (Ramp(growth=2.25, interval_s=600), ""),
        (Ramp(growth=1.23, interval_s=150), ""),
        (Ramp(interval_s=299), ""),
    ],
)
def test_ramp_that_cannot_be_names_the_field(ramp, field):
    assert [found for found, _ in ramp_problems(ramp, injector_queues=1)] == [field]


@pytest.mark.parametrize(
    "ramp",
    [
        Ramp(),
        Ramp(initial_rate=0.1),
        Ramp(growth=1.2247, interval_s=150),
        Ramp(growth=1.5, interval_s=600),
        Ramp(growth=1.0, interval_s=1),
        Ramp(initial_rate=50, unsafe=True),
        Ramp(warm_rate=400),
    ],
)
def test_ramp_no_steeper_than_usual_or_marked_unsafe_is_accepted(ramp):
    assert not list(ramp_problems(ramp, injector_queues=1))


def test_more_injector_queues_carry_a_higher_rate():
    assert not list(ramp_problems(Ramp(max_rate=1000), injector_queues=2))
    assert list(ramp_problems(Ramp(max_rate=1000.5), injector_queues=2))


def test_group_knows_its_own_queues_only():
    group = Group("g", (PARENT + "i",), expand(PARENT + "q-[0-1]"))
    assert group.has(PARENT + "q-1")
    assert not group.has(PARENT + "q-2")


@pytest.mark.parametrize(
    ("queues", "words"), [(0, "0 queues"), (1, "1 queue"), (2000, "2,000 queues")]
)
def test_one_queue_is_not_several(queues, words):
    assert so_many(queues) == words
    assert so_many(queues, "new") == words.replace(" ", " new ")
