"""`injector init`."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shlex import quote

import click

from injector.cli.options import json_option
from injector.cli.output import print_json
from injector.errors import Misused
from injector.settings import read_settings_without_groups

MANIFEST = """\
# A job of injector. Check it by `injector plan {file}`, and send it by
# `injector submit {file} --yes --watch`. What begins with # may be left out.

job: {job}  # may run once under this id
group: {group}  # {what}; injector doctor lists them
records: {records}  # JSONL, CSV or Parquet; .gz, .zst; a path, a glob, gs://, -
# format: csv  # if the name does not tell
# encoding: utf-8
# types: {{age: integer, vip: boolean}}  # CSV columns that are not text

# What makes a record itself, so that it becomes one task however often it is sent:
# its place (index), its content, or a field.
identity: {identity}{others}

{becomes}
stop_when_rejected: 1%  # the job pauses itself above it; or a count
# weight: 1  # its share among the group's jobs of the same priority
# priority: 0  # higher goes first
# notify: {{webhook: "https://hooks.example/injector"}}  # told when the job has ended; or topic:
"""


TASK = """\
task:
  http:
    url: {url}  # {{field}} is filled from the record: …/users/{{user_id}}
    method: POST
    # headers: {{X-Campaign: welcome}}
    body: record  # the record as JSON; or none; or a template of your own
    # oidc:  # a token, for one's own services
    #   service_account: worker@PROJECT.iam.gserviceaccount.com
    #   audience: https://worker.example
  # dispatch_deadline: 10m  # how long the target may take, 15s to 30m
  # schedule: {{at: "{tomorrow}"}}  # spread from there on; or {{field: when}}
# create_mode: single  # batch: a call for each chunk, which keeps to one queue
"""

MESSAGE = """\
message:
  data: record  # the record as JSON; or none; or a template of your own
  # attributes: {kind: "user.{kind}"}  # {field} is filled from the record
  # ordering_key: {field: user_id}  # keeps the order within a chunk; then nothing is hedged
"""

COLUMN = 46
"""Where the remarks stand, two spaces after all but the longest lines."""

LOCAL_TARGET = "http://127.0.0.1:8090"

QUEUES = ("local", "a queue group of the service")
TOPIC = ("local-topic", "a group whose destination is a topic")


@click.command()
@click.argument("file", type=click.Path(path_type=Path), default=Path("job.yaml"))
@click.option("--job", default="my-job", show_default=True, help="The job's id.")
@click.option(
    "--group", help=f"The queue group [{QUEUES[0]}; with --topic {TOPIC[0]}, which you make]."
)
@click.option("--records", default="users.csv", show_default=True, help="Where the records are.")
@click.option("--url", help="Whom the tasks call [the target of `injector up`, on its usual port].")
@click.option(
    "--identity",
    default="index",
    show_default=True,
    metavar="index|content|FIELD",
    help="What makes a record itself: its place, its content, or a field.",
)
@click.option("--topic", "is_message", is_flag=True, help="For a group that is a topic.")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@json_option()
def command(  # noqa: PLR0913  (one for each option)
    file: Path,
    *,
    job: str,
    group: str | None,
    records: str,
    url: str | None,
    identity: str,
    is_message: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Write a commented manifest to FILE, ready for `injector plan`.

    As it is, it fits what `injector up` runs on this machine; a group for --topic has to be added
    to that run's groups file first.

    Example: injector init welcome.yaml --records users.csv --identity user_id
    """
    if file.exists() and not force:
        raise Misused(f"{file} is there already; name another file, or add --force")
    usual, what = TOPIC if is_message else QUEUES
    text = _aligned(
        MANIFEST.format(
            file=_for_a_shell(file),
            job=_value(job),
            group=_value(group or usual),
            what=what,
            records=_value(records),
            identity=_identity(identity),
            others="  # or content, or {field: user_id}" if identity == "index" else "",
            becomes=MESSAGE if is_message else _task(url or _local_target(), now=datetime.now(UTC)),
        )
    )
    _write(file, text)
    _tell(file, group_to_make=usual if is_message and not group else None, as_json=as_json)


def _tell(file: Path, *, group_to_make: str | None, as_json: bool) -> None:
    if as_json:
        print_json({"written": str(file)})
        return
    click.echo(f"{file} is written; next: injector plan {file}")
    if group_to_make:
        click.echo(f"group {group_to_make} is yours to make, one that has a topic: docs/topics.md")


def _task(url: str, *, now: datetime) -> str:
    """Write the task; its time is one that Cloud Tasks takes, within 30 days."""
    tomorrow = f"{now + timedelta(days=1):%Y-%m-%d}T09:00:00Z"
    return TASK.format(url=_value(url), tomorrow=tomorrow)


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Misused(f"{file}: {error.strerror}; name a file that can be written") from error


def _local_target() -> str:
    """Return whom the tasks of a run on this machine call."""
    return f"{read_settings_without_groups().target_url or LOCAL_TARGET}/"


def _for_a_shell(file: Path) -> str:
    """Write the file's name for a remark, as a shell takes it."""
    return quote(str(file)) if str(file).isprintable() else "FILE"


def _identity(wanted: str) -> str:
    """Write the identity as the manifest has it; what is neither word is a field's name."""
    if wanted in {"index", "content"}:
        return wanted
    return f"{{field: {_value(wanted, within='{{field: {}}}')}}}"


def _value(text: str, *, within: str = "{}") -> str:
    """Write the text as the value of a key, quoted where a manifest would read it otherwise."""
    return text if _reads_as_it_is(text, within) else _quoted(text)


def _reads_as_it_is(text: str, within: str) -> bool:
    """Say whether a manifest that has the text without quotes gives back the same."""
    from injector.manifest.document import read_document  # noqa: PLC0415  (YAML is slow to load)
    from injector.manifest.nodes import Plain  # noqa: PLC0415

    try:
        document = read_document(f"key: {within.format(text)}  # a remark")
    except Misused:
        return False
    match document.value:
        case {"key": Plain(kind="text") as read} | {"key": {"field": Plain(kind="text") as read}}:
            return read == text and text.isprintable() and not document.problems
    return False


def _quoted(text: str) -> str:
    """Quote the text as YAML does, without a sign that could be taken for a remark."""
    plain = (each if each.isprintable() and each not in '"#\\' else _escaped(each) for each in text)
    return f'"{"".join(plain)}"'


def _escaped(sign: str) -> str:
    return f"\\U{ord(sign):08X}"


def _aligned(text: str) -> str:
    """Put the remark of each line in one column, or where the line is too long, above it."""
    return "".join(f"{line}\n" for written in text.splitlines() for line in _placed(written))


def _placed(written: str) -> Iterator[str]:
    line, mark, remark = written.rpartition("  # ")
    if not (mark and line.strip()):
        yield written
    elif len(line) + 2 <= COLUMN:
        yield f"{line:<{COLUMN}}# {remark}"
    else:
        yield f"{line[: len(line) - len(line.lstrip())]}# {remark}"
        yield line
