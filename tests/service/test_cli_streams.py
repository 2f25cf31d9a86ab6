"""The command line where its streams are closed, full or a pipe, and where values are odd."""

import os
import subprocess
import sys

import pytest

from injector.cli.main import run

MANIFEST = """\
job: j
group: g
records: r.jsonl
task: {http: {url: "http://t.example/{id}"}}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder with a manifest of three records, and no settings."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("INJECTOR_")]:
        monkeypatch.delenv(name)
    (tmp_path / "m.yaml").write_text(MANIFEST)
    (tmp_path / "r.jsonl").write_text('{"id":1}\n{"id":2}\n{"id":3}\n')
    return tmp_path


def shell(command):
    """Run what follows `injector` in a shell; return the exit code and all that is shown."""
    done = subprocess.run(
        ["bash", "-c", command.replace("injector", f"{sys.executable} -m injector")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stdout + done.stderr
    assert "a fault of injector" not in done.stdout + done.stderr
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("closed", [">&-", "--json <&-", "2>&- <&- | tail -1"])
def test_plan_works_where_a_stream_is_closed(closed):
    code, _ = shell(f"injector plan m.yaml {closed}")
    assert code == 0


def test_closed_standard_input_holds_no_records():
    code, shown = shell("injector plan m.yaml --records - <&- && false")
    assert code == 2
    assert "standard input: " in shown


@pytest.mark.parametrize("command", ["plan m.yaml", "schema", "--help"])
def test_full_disk_under_the_output_is_said_in_one_line(command):
    code, shown = shell(f"injector {command} > /dev/full")
    assert code == 1
    assert shown.splitlines()[-1] == "injector: cannot go on: No space left on device"


@pytest.mark.parametrize("command", ["plan nowhere.yaml", "sumbit"])
def test_full_disk_under_the_errors_leaves_the_exit_code(command):
    code, _ = shell(f"injector {command} 2> /dev/full")
    assert code == 2


def test_what_libraries_log_is_not_shown():
    program = (
        "import logging; from injector.cli.main import quiet; quiet();"
        "logging.getLogger('gcsfs').error('retrying', exc_info=ValueError('x'))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert shown.stderr == ""


def test_records_come_through_a_pipe():
    code, shown = shell("injector plan m.yaml --records <(gzip -c r.jsonl)")
    assert "3, 0 of them rejected" in shown
    assert code == 0


def test_manifest_through_a_pipe_finds_its_records_in_the_current_folder():
    code, shown = shell("injector plan <(cat m.yaml)")
    assert "3, 0 of them rejected" in shown
    assert code == 0


@pytest.mark.parametrize("latency", ["nan", "inf", "-inf", "1e308", "0", "-1", "1801"])
def test_latency_that_no_target_has_is_refused(latency, capsys):
    assert run(["plan", "m.yaml", "--target-latency", latency]) == 2
    assert "Invalid value for '--target-latency'" in capsys.readouterr().err


@pytest.mark.parametrize("port", ["-1", "0", "65536", "x"])
@pytest.mark.parametrize("name", ["--port", "--emulator-port", "--control-port", "--target-port"])
def test_port_that_is_none_is_refused_before_anything_is_shown(name, port, capsys):
    assert run(["up", name, port]) == 2
    shown = capsys.readouterr()
    assert f"Invalid value for '{name}'" in shown.err
    assert shown.out == ""


@pytest.mark.parametrize("url", ["ftp://x", ":::", "x", "http://", "http://h/?a=b", "http://h:x"])
def test_service_that_is_no_url_is_refused_at_once(url, capsys):
    assert run(["jobs", "--service", url]) == 2
    shown = capsys.readouterr().err
    assert "needs the service's own base URL" in shown
    assert "Trying again" not in shown


def test_chart_that_cannot_be_written_is_an_error_that_names_the_file(capsys):
    assert run(["plan", "m.yaml", "--plot", "nowhere/x.svg"]) == 2
    assert "injector: nowhere/x.svg: No such file or directory; name" in capsys.readouterr().err


def test_unknown_group_is_told_with_its_place_and_the_nearest(folder, capsys):
    queues = "projects/p/locations/l/queues"
    groups = f"{{groups: {{good: {{injector_queues: {queues}/i, queues: {queues}/q}}}}}}"
    (folder / "g.yaml").write_text(groups)
    (folder / "m.yaml").write_text(MANIFEST.replace("group: g", "group: goods"))
    assert run(["plan", "m.yaml", "--groups", "g.yaml"]) == 2
    shown = capsys.readouterr().err
    assert "group 'goods' is not configured; did you mean 'good'?" in shown


def test_encoding_on_the_command_line_is_said_to_be_from_there(capsys):
    assert run(["plan", "m.yaml", "--encoding", "klingon"]) == 2
    assert capsys.readouterr().err == (
        "injector: --encoding: encoding 'klingon' is not known; write one such as utf-8\n"
    )


def test_empty_source_names_the_option_that_accepts_it(folder, capsys):
    (folder / "r.jsonl").write_text("")
    assert run(["plan", "m.yaml"]) == 2
    assert "r.jsonl: 0 records; --allow-empty accepts that" in capsys.readouterr().err
