import pytest

from injector.errors import Conflict, InjectorError, Misused, NotFound, Retryable
from injector.staging.files import find_files, speaking_of


@pytest.mark.parametrize(
    ("error", "verdict", "message"),
    [
        (FileNotFoundError(2, "x"), NotFound, "a.csv: there is no such file"),
        (PermissionError(13, "Permission denied"), Misused, "a.csv: may not be opened"),
        (IsADirectoryError(21, "Is a directory"), Misused, "a.csv: Is a directory"),
        (OSError(36, "File name too long"), Misused, "a.csv: File name too long"),
        (OSError(40, "Too many levels of symbolic links"), Misused, "a.csv: Too many levels"),
        (ImportError("Please install gcsfs"), Misused, "Please install gcsfs"),
        (ValueError("Protocol not known: x"), Misused, "Protocol not known"),
        (IndexError("list index out of range"), Misused, "a.csv: is no path and no URL"),
        (OSError(28, "No space left on device"), Retryable, "No space left"),
        (TimeoutError("slow"), Retryable, "a.csv: TimeoutError: slow"),
        (RuntimeError("<html>\n" + "x" * 9999), Retryable, "a.csv: RuntimeError: <html> x"),
    ],
)
def test_whatever_a_file_system_raises_becomes_a_verdict_that_names_the_file(
    error, verdict, message
):
    with pytest.raises(verdict) as caught, speaking_of("a.csv"):
        raise error

    assert message in str(caught.value)
    assert len(str(caught.value)) < 400
    assert caught.value.__cause__ is error


def test_a_verdict_is_not_judged_again():
    with pytest.raises(Conflict, match=r"^as it was$"), speaking_of("a.csv"):
        raise Conflict("as it was")


def test_an_interrupt_is_none_of_its_business():
    with pytest.raises(KeyboardInterrupt), speaking_of("a.csv"):
        raise KeyboardInterrupt


@pytest.mark.parametrize("pattern", ["in/*.csv", "in/[ab].csv"])
def test_files_are_called_as_the_pattern_calls_them(tmp_path, monkeypatch, pattern):
    (tmp_path / "in").mkdir()
    for name in ("b.csv", "a.csv"):
        (tmp_path / "in" / name).write_text("n\n1\n")
    monkeypatch.chdir(tmp_path)

    assert [file.name for file in find_files(pattern)] == ["in/a.csv", "in/b.csv"]
    assert [file.name for file in find_files(f"{tmp_path}/{pattern}")] == [
        f"{tmp_path}/in/a.csv",
        f"{tmp_path}/in/b.csv",
    ]


def test_what_is_no_plain_file_has_no_size_that_is_known_beforehand(tmp_path):
    [device] = find_files("/dev/null")
    [stdin] = find_files("-")

    assert (device.size, stdin.size) == (None, None)
    with pytest.raises(InjectorError, match="standard input: can be read only once"):
        stdin.read(0, 4)


@pytest.mark.parametrize("location", ["gs://", "gcs://", "gs:///users.csv"])
def test_a_url_without_a_bucket_is_refused_before_anybody_is_asked(location):
    with pytest.raises(Misused, match="names no bucket; write one such as gs://BUCKET"):
        find_files(location)
