import json
import re

import pytest

from tests.terraform.google_stub import VERSIONS, GoogleStub, read_schema
from tests.terraform.workspace import EXAMPLES, MODULE, Workspace

VARIABLE = re.compile(r'^(variable|output) "(\w+)" \{\n(.*?)^\}$', re.MULTILINE | re.DOTALL)
MESSAGE = re.compile(r'error_message = "((?:[^"\\]|\\.)*)"')


@pytest.fixture(scope="module", params=VERSIONS)
def any_google(request):
    with GoogleStub(request.param) as stub:
        yield stub


def test_files_are_formatted(google):
    outcome = Workspace(MODULE, google.environment).run("fmt", "-check", "-recursive", "-diff")
    assert (outcome.code, outcome.output) == (0, "")


def test_module_and_examples_fit_the_oldest_and_the_newest_provider(any_google, tmp_path):
    copied = Workspace.copied(tmp_path, any_google.environment).initialised()
    assert copied.complaints() == []
    assert [copied.example(name).complaints() for name in EXAMPLES] == [[]] * len(EXAMPLES)


def test_versions_that_are_admitted_are_those_that_are_tried():
    oldest, newest = (read_schema(version)["version"] for version in VERSIONS)
    major = newest.split(".")[0]
    admitted = f'version = ">= {oldest.removesuffix(".0")}, < {int(major) + 1}"'
    for file in (MODULE / "versions.tf", *MODULE.glob("examples/*/main.tf")):
        assert admitted in file.read_text(), file


@pytest.mark.parametrize("file", sorted(MODULE.glob("tests/*.tftest.hcl")), ids=lambda f: f.name)
def test_terraform_s_own_tests_pass(workspace, file):
    outcome = workspace.run("test", "-no-color", f"-filter=tests/{file.name}")
    assert outcome.code == 0, outcome.said
    found = re.search(r"Success! (\d+) passed, 0 failed\.", outcome.output)
    assert int(found[1]) == file.read_text().count('\nrun "')


@pytest.mark.parametrize("file", ["variables.tf", "outputs.tf"])
def test_variables_and_outputs_are_in_alphabetical_order_and_say_what_they_are(file):
    blocks = VARIABLE.findall((MODULE / file).read_text())
    names = [name for _, name, _ in blocks]
    assert names == sorted(names)
    assert [name for _, name, body in blocks if "  description" not in body] == []


def test_every_refusal_shows_a_value_that_would_do():
    messages = MESSAGE.findall((MODULE / "variables.tf").read_text())
    shown = re.compile(r"such as|or -1|cloud-run or app-engine|INGRESS_TRAFFIC_ALL|ZONAL")
    assert [message for message in messages if not shown.search(message)] == []


def test_every_rule_of_the_variables_has_a_value_that_breaks_it():
    rules = (MODULE / "variables.tf").read_text().count("  validation {")
    refusals = (MODULE / "tests" / "refusals.tftest.hcl").read_text().count('\nrun "')
    assert refusals >= rules


def test_every_resource_is_used_and_every_used_one_has_its_schema():
    text = "".join(
        file.read_text() for file in (*MODULE.glob("*.tf"), *MODULE.glob("examples/*/*.tf"))
    )
    used = {kind for kind, _ in re.findall(r'^resource "(\w+)" "(\w+)"', text, re.MULTILINE)}
    for version in VERSIONS:
        assert read_schema(version)["resource_schemas"].keys() == used


def test_a_plan_shows_no_secret(workspace):
    complete = workspace.example("complete")
    secrets = ("-var=ledger_admin_password=swordfish", "-var=webhook_secret=swordfish")
    variables = (*secrets, "-out=plan")
    outcome = complete.run("plan", "-input=false", *variables)
    assert outcome.code == 0, outcome.said
    plan = complete.run("show", "-json", "plan").output
    assert json.loads(plan)["planned_values"]
    assert "swordfish" not in plan + outcome.said
