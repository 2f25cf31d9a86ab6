"""docs/deploy.md against what it speaks of."""

import re

import pytest

from injector.cli.main import COMMANDS
from tests.terraform.workspace import MODULE, ROOT

GUIDE = (ROOT / "docs" / "deploy.md").read_text()
COMMANDS_SHOWN = "\n".join(re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL))
ON_CLOUD_RUN, ON_APP_ENGINE = GUIDE.split("## On App Engine")


@pytest.mark.parametrize(
    ("text", "example"), [(ON_CLOUD_RUN, "minimal"), (ON_APP_ENGINE, "app-engine")]
)
def test_every_output_that_is_asked_for_is_the_example_s(text, example):
    main = (MODULE / "examples" / example / "main.tf").read_text()
    there = set(re.findall(r'^output "(\w+)"', main, re.MULTILINE))
    text = text.split("## Roll out")[0]
    assert set(re.findall(r"terraform output -(?:raw|json) (\w+)", text)) <= there


def test_every_command_of_ours_is_one():
    named = set(re.findall(r"^injector (\w+)|`injector (\w+)", GUIDE, re.MULTILINE))
    assert {first or second for first, second in named} <= set(COMMANDS)


def test_every_make_target_is_one():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = re.findall(r"`make ([a-z-]+)`|make -C \S+ ([a-z-]+)", GUIDE)
    assert {first or second for first, second in named} <= targets


def test_every_role_that_the_module_grants_is_told():
    text = "".join(file.read_text() for file in MODULE.glob("*.tf"))
    granted = set(re.findall(r'"roles/([a-zA-Z.]+)"', text))
    granted |= {f"cloudtasks.{name}" for name in ("enqueuer", "taskDeleter", "viewer")}
    told = GUIDE.split("## Roles")[1].split("What you need")[0]
    assert granted == set(re.findall(r"`([a-z]+\.[A-Za-z]+)`", told))


def test_every_link_leads_somewhere():
    for target in re.findall(r"\]\(([^)#]+)\)", GUIDE):
        assert (ROOT / "docs" / target).exists(), target


def test_instance_and_region_are_the_example_s(minimal):
    instance = re.search(r"--instance=(\S+)", COMMANDS_SHOWN)[1]
    assert minimal.one("google_sql_database_instance")["name"] == instance
    region = re.search(r"--location=(\S+)", COMMANDS_SHOWN)[1]
    assert minimal.one("google_cloud_run_v2_service")["location"] == region
