"""What each command loads: no more than it needs, since a person waits for it."""

import json
import os
import subprocess
import sys

import pytest

HEAVY = {
    "aiohttp",
    "alembic",
    "flask",
    "google",
    "grpc",
    "leather",
    "plotille",
    "pyarrow",
    "sqlalchemy",
}
HTTP = {"requests", "tenacity"}
SCREEN = {"rich"}
PROGRAM = """
import json, sys
from injector.cli.main import run
code = run(sys.argv[1:])
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})), file=sys.stderr)
sys.exit(code)
"""


def loaded(*arguments: str, program: str = PROGRAM):
    """Run a command of its own, and return the packages that it loaded."""
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize(
    "name", ["init", "status", "jobs", "pause", "set", "audit", "submit", "redrive", "report", "rm"]
)
def test_commands_load_what_talks_to_the_service_only_when_they_ask_it(name):
    assert not loaded(name, "--help") & (HEAVY | HTTP)


def test_plan_of_a_file_loads_neither_googles_client_nor_a_ledger_nor_http():
    found = loaded("plan", "m.yaml", "--groups", "g.yaml")
    assert "pydantic" in found
    assert not found & (HEAVY | HTTP | SCREEN)


def test_asking_the_service_reads_no_yaml_though_groups_are_configured(monkeypatch):
    monkeypatch.setenv("INJECTOR_GROUPS", "g.yaml")
    assert "ruamel" in loaded("plan", "m.yaml")
    asking = "from injector.cli.options import service_at; service_at(None)"
    assert not loaded("--version", program=f"{asking}\n{PROGRAM}") & (HEAVY | {"ruamel"})


@pytest.mark.parametrize(
    "arguments", [["schema"], ["watch", "--help"], ["group", "ramp", "--help"]]
)
def test_commands_load_what_draws_only_for_a_terminal(arguments):
    assert not loaded(*arguments) & SCREEN


def test_completion_does_not_import_the_commands():
    program = (
        "import atexit, sys; from injector.cli.main import run;"
        "heavy = {'pydantic', 'requests', 'grpc', 'rich'};"
        "atexit.register(lambda: sys.stderr.write(str(heavy & set(sys.modules)))); run([])"
    )
    env = {**os.environ, "_INJECTOR_COMPLETE": "bash_complete"}
    env |= {"COMP_WORDS": "injector pa", "COMP_CWORD": "1"}
    command = [sys.executable, "-c", program]
    shown = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert (shown.stdout, shown.stderr) == ("plain,pause\n", "set()")
