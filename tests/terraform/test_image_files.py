import json
import re

from handlers.access import OPEN
from handlers.app import create_app
from tests.house import settings_of
from tests.terraform.workspace import ROOT

INSTRUCTION = re.compile(r"^([A-Z]+) ((?:.*\\\n)*.*)$", re.MULTILINE)


def stages():
    """Return the instructions of each stage of the Dockerfile."""
    text = (ROOT / "Dockerfile").read_text()
    found = [(name, value.replace("\\\n", "")) for name, value in INSTRUCTION.findall(text)]
    starts = [place for place, (name, _) in enumerate(found) if name == "FROM"]
    return [found[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)]


def of_the_image(name):
    """Return the instructions of that name in the last stage."""
    return [value for found, value in stages()[-1] if found == name]


def test_an_image_is_built_in_two_stages_on_a_slim_base():
    bases = [stage[0][1].split()[0] for stage in stages()]
    assert bases == ["python:3.13-slim", "python:3.13-slim"]
    assert of_the_image("RUN") == []


def test_everything_that_is_installed_is_pinned_by_hash():
    runs = " ".join(value for stage in stages() for name, value in stage if name == "RUN")
    installs = [part for part in re.split(r"&&", runs) if " install " in part]
    assert installs
    for install in installs:
        assert "--require-hashes" in install or "--no-deps dist/" in install
    for file in ("bootstrap.txt", "service.txt"):
        pins = (ROOT / "requirements" / file).read_text()
        named = re.findall(r"^[\w.-]+==", pins, re.MULTILINE)
        assert len(named) == len(re.findall(r"^[\w.-]+==.*\\\n    --hash", pins, re.MULTILINE))


def test_the_image_runs_as_nobody():
    (user,) = of_the_image("USER")
    assert re.fullmatch(r"[1-9]\d{3,}:[1-9]\d{3,}", user)


def test_no_shell_stands_between_gunicorn_and_its_signals():
    (command,) = of_the_image("CMD")
    assert json.loads(command) == ["gunicorn", "--config", "python:handlers.gunicorn_config"]
    assert of_the_image("ENTRYPOINT") == []


def test_nothing_is_loaded_before_workers_are_forked():
    (command,) = of_the_image("CMD")
    assert "preload" not in command
    assert "preload" not in (ROOT / "handlers" / "gunicorn_config.py").read_text()


def test_the_health_check_asks_a_route_that_is_open():
    (check,) = of_the_image("HEALTHCHECK")
    arguments = json.loads(check.split(" CMD ")[1])
    path = re.search(r"\)\}(/\w+)'", arguments[-1])[1]
    rules = {rule.rule: rule.endpoint for rule in create_app(settings_of()).url_map.iter_rules()}
    assert rules[path] in OPEN


def test_the_image_is_made_of_what_it_needs_and_no_more():
    lines = (ROOT / ".dockerignore").read_text().split()
    assert lines[0] == "*"
    let_in = {line.removeprefix("!") for line in lines if line.startswith("!")}
    copied = {
        name
        for stage in stages()
        for found, value in stage
        if found == "COPY" and "--from" not in value
        for name in value.split()[:-1]
    }
    assert copied == let_in
    assert all((ROOT / name).exists() for name in let_in)
