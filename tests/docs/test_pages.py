"""The pages for readers: each link leads somewhere in a clone, and what they list is whole."""

import re
from importlib.metadata import version

import click
import pytest

from injector.cli.main import cli
from tests.docs.reading import PAGES, ROOT

LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")
PAGES_OF_A_CLONE = [page for page in PAGES if "reference" not in page.parts]


def commands_with_json(command=cli, path=()):
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from commands_with_json(command.get_command(context, name), (*path, name))
    elif any(parameter.name == "as_json" for parameter in command.params):
        yield path


@pytest.mark.parametrize("page", PAGES_OF_A_CLONE, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_link_to_a_page_leads_to_one_that_is_in_a_clone(page):
    assert [
        link
        for link in LINK.findall(page.read_text())
        if not (page.parent / link).exists() or "reference/" in link
    ] == []


def test_images_are_named_by_the_version_that_the_command_tells():
    files = [*PAGES, *(ROOT / "terraform").rglob("*.tf")]
    tags = [
        tag for file in files for tag in re.findall(r"/injector:(\d[\w.]*\w)", file.read_text())
    ]
    assert len(tags) >= 5
    assert set(tags) == {version("cloud-tasks-injector")}


def test_no_row_of_the_index_is_there_twice():
    rows = re.findall(r"^\| (.*?) \| (.*) \|$", (ROOT / "docs/index.md").read_text(), re.MULTILINE)
    assert len(rows) > 10
    assert len({target for _, target in rows}) == len(rows)


@pytest.mark.parametrize("path", list(commands_with_json()), ids=" ".join)
def test_each_command_that_prints_json_says_in_which_shape(path):
    rows = (ROOT / "docs/json.md").read_text()
    is_operation = path[0] == "group" and path[-1] in {"plan", "apply"} and len(path) == 3
    group = "group operations" if path[:2] == ("group", "operations") else ""
    wanted = f"`{path[-1]}` of each operation" if is_operation else f"`{' '.join(path)}`"
    listed = re.findall(rf"^\| `{group}`.*`{path[-1]}`", rows, re.MULTILINE) if group else ()
    assert wanted in rows or listed
