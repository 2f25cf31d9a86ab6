"""`injector init`."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from injector.cli.main import run
from injector.manifest import load_manifest
from injector.manifest.document import read_document


def test_init_writes_a_manifest_that_validates_as_it_is_and_with_each_comment(folder, capsys):
    assert run(["init", "job.yaml", "--job", "first"]) == 0
    assert load_manifest(folder / "job.yaml").job == "first"
    assert "injector plan job.yaml" in capsys.readouterr().out
    text = (folder / "job.yaml").read_text()
    for line in re.findall(r"^ *# [a-z_]+: .*", text, re.MULTILINE):
        with_it = text.replace(line, line.replace("# ", "", 1))
        if "oidc" not in line and "service_account" not in line and "audience" not in line:
            load_manifest(with_it, source=line)


@pytest.mark.parametrize(
    ("written", "identity"),
    [("content", "content"), ("user_id", {"field": "user_id"}), ("user id", {"field": "user id"})]
    + [(word, {"field": word}) for word in ("yes", "no", "on", "True", "NULL", "a: b")],
)
def test_init_takes_what_makes_a_record_itself(folder, written, identity):
    assert run(["init", "--identity", written]) == 0
    found = load_manifest(folder / "job.yaml").model_dump(mode="json")["identity"]
    assert found == identity


@given(name=st.text(min_size=1).filter(lambda name: name not in {"index", "content"}))
@example(name='a"  # \\ b')
@example(name="\U0001f600\x85\x07")
def test_init_writes_any_field_so_that_the_manifest_gives_it_back(tmp_path_factory, name):
    path = str(tmp_path_factory.getbasetemp() / "any.yaml")
    assert run(["init", path, "--force", "--identity", name]) == 0
    document = read_document(Path(path))
    assert document.problems == ()
    field = document.value["identity"]["field"]
    assert (field, getattr(field, "kind", "text")) == (name, "text")


@given(
    words=st.fixed_dictionaries(
        {name: st.text(min_size=1) for name in ("job", "group", "records", "url")}
    )
)
@example(words={"job": "no", "group": "- a", "records": "a: b # c", "url": "{x}: 'y\""})
@example(words={"job": "1", "group": "--- |", "records": "*.csv", "url": "&a !b"})
@example(words={"job": "é\u2028", "group": "~", "records": "a  # b", "url": "%x\ud800"})
def test_init_writes_any_word_so_that_the_manifest_gives_it_back(tmp_path_factory, words):
    path = str(tmp_path_factory.getbasetemp() / "words.yaml")
    said = [f"--{name}={word}" for name, word in words.items()]
    assert run(["init", path, "--force", *said]) == 0
    document = read_document(Path(path))
    assert document.problems == ()
    read = {name: document.value[name] for name in ("job", "group", "records")}
    read["url"] = document.value["task"]["http"]["url"]
    assert read == words
    assert {getattr(word, "kind", "text") for word in read.values()} == {"text"}


def test_init_quotes_no_word_that_reads_as_it_is(folder):
    assert run(["init", "--url", "https://é.example/{user_id}?a=b:c#d"]) == 0
    text = (folder / "job.yaml").read_text()
    assert re.search(r"^    url: https://é\.example/\{user_id\}\?a=b:c#d\b", text, re.MULTILINE)


def test_init_calls_the_target_of_the_run_that_the_environment_names(folder, monkeypatch):
    assert run(["init", "usual.yaml"]) == 0
    monkeypatch.setenv("INJECTOR_TARGET_URL", "http://127.0.0.1:29090")
    assert run(["init", "other.yaml"]) == 0
    urls = [load_manifest(folder / name).task.http.url for name in ("usual.yaml", "other.yaml")]
    assert urls == ["http://127.0.0.1:8090/", "http://127.0.0.1:29090/"]


def test_init_names_the_file_as_a_shell_takes_it(folder):
    assert run(["init", "my job.yaml"]) == 0
    assert "`injector plan 'my job.yaml'`" in (folder / "my job.yaml").read_text()
    assert run(["init", "a\nb: c.yaml"]) == 0
    assert load_manifest(folder / "a\nb: c.yaml").job == "my-job"


def test_the_time_that_init_proposes_is_one_that_cloud_tasks_takes(folder, capsys):
    run(["init"])
    text = (folder / "job.yaml").read_text()
    (folder / "job.yaml").write_text(text.replace("# schedule:", "schedule:"))
    (folder / "users.csv").write_text("user_id\n1\n2\n")
    capsys.readouterr()
    assert run(["plan", "job.yaml", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rejected"] == 0


def test_remarks_of_a_new_manifest_stand_in_one_column_or_above(folder):
    run(["init", "--job", "a-job-of-a-rather-long-name-that-leaves-no-room"])
    lines = (folder / "job.yaml").read_text().splitlines()
    beside = [line.rindex("# ") for line in lines if re.search(r"\S  +# ", line)]
    assert len(beside) > 8
    assert set(beside) == {46}
    assert lines[lines.index("# may run once under this id") + 1].startswith("job: a-job-of-a")


def test_init_for_a_topic_names_a_group_of_its_own_and_says_that_it_has_to_be_made(folder, capsys):
    run(["init", "--topic"])
    assert load_manifest(folder / "job.yaml").group == "local-topic"
    assert "group local-topic is yours to make" in capsys.readouterr().out
    run(["init", "--topic", "--group", "mine", "--force"])
    assert load_manifest(folder / "job.yaml").group == "mine"
    assert "yours to make" not in capsys.readouterr().out


def test_init_overwrites_nothing_unless_forced(folder, capsys):
    (folder / "job.yaml").write_text("mine")
    assert run(["init"]) == 2
    assert "add --force" in capsys.readouterr().err
    assert (folder / "job.yaml").read_text() == "mine"
    assert run(["init", "--force", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"written": "job.yaml"}


def test_a_new_manifest_can_be_planned_at_once(folder, capsys):
    run(["init"])
    (folder / "users.csv").write_text("user_id\n1\n2\n")
    assert run(["plan", "job.yaml", "--json"]) == 0
    assert '"records": 2' in capsys.readouterr().out
