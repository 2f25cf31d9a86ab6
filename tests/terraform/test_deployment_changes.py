"""What a second plan finds: nothing, unless somebody changed what is Terraform's."""

import json

import pytest

from tests.terraform.conftest import SECRETS
from tests.terraform.deployment import CHANGES, NOTHING, drifted


def plan(deployment):
    """Plan again; return how it ended, and the addresses that would be changed."""
    outcome = deployment.workspace.run("plan", "-detailed-exitcode", "-input=false", "-json")
    events = [json.loads(line) for line in outcome.output.splitlines()]
    changed = [e["change"]["resource"]["addr"] for e in events if e["type"] == "planned_change"]
    return outcome.code, changed


def test_a_second_plan_is_empty(minimal, app_engine):
    assert plan(minimal) == (NOTHING, [])
    assert plan(app_engine) == (NOTHING, [])


def test_a_second_plan_of_everything_is_empty(complete):
    others = (f"-var={name}=another-that-is-not-sent" for name in SECRETS)
    outcome = complete.workspace.run("plan", "-detailed-exitcode", "-input=false", *others)
    assert outcome.code == NOTHING, outcome.said


@pytest.mark.parametrize(
    "ramped", [{"max_dispatches_per_second": 56.953125}, {"max_concurrent_dispatches": 250}]
)
def test_what_the_controller_has_set_stays(minimal, google, ramped):
    with drifted(google, "welcome-injector-0", "rate_limits", ramped):
        assert plan(minimal) == (NOTHING, [])


@pytest.mark.parametrize(
    ("queue", "block", "changed"),
    [
        ("welcome-injector-0", "retry_config", {"max_attempts": 1}),
        ("welcome-injector-0", "stackdriver_logging_config", {"sampling_ratio": 1}),
        ("welcome-0000", "rate_limits", {"max_dispatches_per_second": 1}),
        ("welcome-0000", "rate_limits", {"max_concurrent_dispatches": 1}),
    ],
)
def test_what_is_not_the_controller_s_is_put_back(minimal, google, queue, block, changed):
    with drifted(google, queue, block, changed):
        code, addresses = plan(minimal)
    assert code == CHANGES
    assert [address.endswith(f'["{queue}"]') for address in addresses] == [True]
