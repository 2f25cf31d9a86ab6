"""Groups from the service's configuration."""

import json
import re

import pytest

from injector.errors import Misused
from injector.manifest import load_groups

GROUPS = """\
groups:
  welcome:
    injector_queues: projects/p/locations/l/queues/welcome-injector-[0-0]
    queues: projects/p/locations/l/queues/welcome-[0000-0039]
    ramp: {initial_rate: 5, growth: 1.5, interval: 5m, max_rate: 500}
"""


def read(text):
    return load_groups(text, source="g.yaml")


def only(text):
    with pytest.raises(Misused) as failure:
        read(text)
    (line,) = str(failure.value).splitlines()
    assert re.match(r"g\.yaml:\d+:\d+: ", line)
    return line


def test_group_is_read_with_its_queues_and_its_ramp():
    group = read(GROUPS)["welcome"]
    assert group.injector_queues == ("projects/p/locations/l/queues/welcome-injector-0",)
    assert len(group.queues) == 40
    assert (group.ramp.initial_rate, group.ramp.interval_s, group.ramp.max_rate) == (5, 300, 500)


def test_group_in_json_reads_the_same():
    queues = "projects/p/locations/l/queues"
    entry = {
        "injector_queues": f"{queues}/welcome-injector-[0-0]",
        "queues": f"{queues}/welcome-[0000-0039]",
    }
    assert read(json.dumps({"groups": {"welcome": entry}}, indent=1)) == read(GROUPS)


def test_rate_without_a_limit_reaches_what_the_injector_queues_can_dispatch():
    text = GROUPS.replace("[0-0]", "[0-3]").replace(", max_rate: 500", "")
    assert read(text)["welcome"].ramp.max_rate == 2000


def test_group_may_publish_to_a_topic_instead_of_queues():
    text = re.sub(
        "queues: projects/p/locations/l/queues/welcome-.0000.*",
        "topic: projects/p/topics/t",
        GROUPS,
    )
    group = read(text)["welcome"]
    assert (group.queues, group.topic) == ((), "projects/p/topics/t")


@pytest.mark.parametrize("rate", ["0.1", "5", "2.5e0", "4.75"])
def test_fractions_of_a_rate_are_kept(rate):
    group = read(GROUPS.replace("initial_rate: 5", f"initial_rate: {rate}"))["welcome"]
    assert group.ramp.initial_rate == float(rate)


@pytest.mark.parametrize(
    "rate", ["0", "-1", ".nan", ".inf", "500.01", "1e9", "no", '"500"', "fast"]
)
@pytest.mark.parametrize("key", ["max_rate", "warm_rate"])
def test_rate_that_a_queue_cannot_have_is_refused(key, rate):
    text = re.sub("ramp: .*", f"ramp: {{initial_rate: -5, {key}: {rate}}}", GROUPS)
    with pytest.raises(Misused, match=f"ramp.{key}: "):
        read(text)


@pytest.mark.parametrize(
    "ramp", ["initial_rate: 50", "growth: 2", "interval: 60s", "growth: 1.5, interval: 4m59s"]
)
def test_steeper_ramp_needs_to_be_called_unsafe(ramp):
    text = re.sub("ramp: .*", f"ramp: {{{ramp}}}", GROUPS)
    assert "set unsafe: true to run it" in only(text)
    assert read(text.replace("ramp: {", "ramp: {unsafe: true, "))["welcome"].ramp.unsafe


@pytest.mark.parametrize("word", ["yes", "on", "1", '"true"'])
def test_unsafe_is_true_or_false_and_nothing_that_looks_like_it(word):
    text = re.sub("ramp: .*", f"ramp: {{unsafe: {word}}}", GROUPS)
    assert "write true or false without quotes" in only(text)


def test_burst_size_is_refused_as_output_only():
    line = only(GROUPS.replace("max_rate: 500", "max_burst_size: 10"))
    assert "unknown key 'max_burst_size': it is output only" in line


def test_misspelt_key_of_a_ramp_is_refused_with_the_nearest():
    line = only(GROUPS.replace("growth", "grwoth"))
    assert line == "g.yaml:5:29: unknown key 'grwoth'; did you mean 'growth'?"


@pytest.mark.parametrize(
    ("location", "words"),
    [
        ("us-central", "Cloud Tasks calls it us-central1"),
        ("US-CENTRAL1", "write us-central1"),
        ("europe-west1 ", "write europe-west1"),
        ("'-'", "is not a location"),
        ("us-central1-a", "is a zone"),
    ],
)
def test_wrong_location_names_key_place_and_remedy(location, words):
    line = only(
        GROUPS.replace("locations/l/queues/welcome-[", f"locations/{location}/queues/welcome-[")
    )
    assert line.startswith("g.yaml:4:5: queues: location")
    assert words in line


def test_group_spread_over_two_regions_is_refused():
    line = only(GROUPS.replace("locations/l/queues/welcome-[", "locations/m/queues/welcome-["))
    assert "group welcome is spread over l, m; keep it in one location" in line


def test_group_needs_queues_or_a_topic_and_not_both():
    assert "give one of the two" in only(re.sub("    queues: .*\n", "", GROUPS))
    assert "give one of the two" in only(GROUPS + "    topic: projects/p/topics/t\n")


def test_queue_of_two_groups_is_refused():
    text = GROUPS + GROUPS.partition("\n")[2].replace("welcome:", "again:")
    assert "is used by group welcome too; use it once" in only(text)


def test_queue_that_feeds_itself_is_refused():
    text = GROUPS.replace("welcome-injector-[0-0]", "welcome-0007")
    assert "welcome-0007 is used by group welcome too" in only(text)


def test_group_without_a_name_or_with_a_wrong_one_is_refused():
    assert "letters, digits" in only(GROUPS.replace("  welcome:", "  wel come:"))
