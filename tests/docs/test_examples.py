import ast
from io import StringIO

import click
import pytest
from ruamel.yaml import YAML

from injector.cli.main import cli
from injector.manifest import load_groups, load_manifest
from tests.docs.reading import commands, examples, ids

MANIFESTS = [one for one in examples("yaml") if "\njob:" in f"\n{one.text}"]
GROUPS = [one for one in examples("yaml") if one.text.startswith("groups:")]
COMMANDS = commands()


def invocation(command, words):
    """Read the words as the command line would, without doing anything."""
    if isinstance(command, click.Group):
        return invocation(command.get_command(click.Context(command), words[0]), words[1:])
    return command.make_context(command.name, list(words))


def test_there_are_examples_of_each_kind():
    assert min(len(MANIFESTS), len(GROUPS)) > 1
    assert len(COMMANDS) > 30


@pytest.mark.parametrize("example", MANIFESTS, ids=ids(MANIFESTS))
def test_each_manifest_in_the_documentation_is_one(example, tmp_path):
    (tmp_path / "m.yaml").write_text(example.text)
    assert load_manifest(tmp_path / "m.yaml").job


@pytest.mark.parametrize("example", GROUPS, ids=ids(GROUPS))
def test_each_groups_file_in_the_documentation_is_one(example):
    assert load_groups(example.text, source=example.place)


@pytest.mark.parametrize("example", COMMANDS, ids=ids(COMMANDS))
def test_each_command_in_the_documentation_takes_those_options(example):
    assert invocation(cli, example[1]).command.name


@pytest.mark.parametrize("example", examples("yaml"), ids=ids(examples("yaml")))
def test_each_yaml_in_the_documentation_can_be_read(example):
    assert YAML(typ="safe").load(StringIO(example.text))


@pytest.mark.parametrize("example", examples("python"), ids=ids(examples("python")))
def test_each_python_in_the_documentation_can_be_read(example):
    assert ast.parse(example.text).body
