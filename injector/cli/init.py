"""`injector init`."""

from pathlib import Path

import click

from injector.cli.options import json_option
from injector.cli.output import print_json
from injector.errors import Misused

MANIFEST = """\
# A job of injector. Check it by `injector plan {file}`, and send it by
# `injector submit {file} --yes --watch`. What begins with # may be left out.

job: {job}                          # may run once under this id
group: {group}                          # a queue group of the service: injector doctor lists them
records: {records}                    # JSONL, CSV or Parquet; .gz, .zst; a path, a glob, gs://, -
# format: csv                         # if the name does not tell
# encoding: utf-8
# types: {{age: integer, vip: boolean}} # CSV columns that are not text

# What makes a record itself, so that it becomes one task however often it is sent:
# its place (index), its content, or a field.
identity: index                       # or content, or {{field: user_id}}

{becomes}
stop_when_rejected: 1%                # the job pauses itself above it; or a count
# weight: 1                           # its share among the group's jobs of the same priority
# priority: 0                         # higher goes first
# notify: {{webhook: "https://hooks.example/injector"}}  # told when the job has ended; or topic:
"""


TASK = """\
task:
  http:
    url: {url}   # {{field}} is filled from the record: …/users/{{user_id}}
    method: POST
    # headers: {{X-Campaign: welcome}}
    body: record                      # the record as JSON; or none; or a template of your own
    # oidc:                           # a token, for one's own services
    #   service_account: worker@PROJECT.iam.gserviceaccount.com
    #   audience: https://worker.example
  # dispatch_deadline: 10m            # how long the target may take, 15s to 30m
  # schedule: {{at: "2030-01-01T09:00:00Z"}}  # spread from there on; or {{field: when}}
# create_mode: single                 # batch: a call for each chunk, which keeps to one queue
"""

MESSAGE = """\
message:
  data: record                        # the record as JSON; or none; or a template of your own
  # attributes: {{kind: "user.{{kind}}"}} # {{field}} is filled from the record
  # ordering_key: {{field: user_id}}    # keeps the order within a chunk; then nothing is hedged
"""


@click.command()
@click.argument("file", type=click.Path(path_type=Path), default=Path("job.yaml"))
@click.option("--job", default="my-job", show_default=True, help="The job's id.")
@click.option("--group", default="local", show_default=True, help="The queue group.")
@click.option("--records", default="users.csv", show_default=True, help="Where the records are.")
@click.option(
    "--url", default="http://127.0.0.1:8090/", show_default=True, help="Whom the tasks call."
)
@click.option("--topic", "is_message", is_flag=True, help="For a group that is a topic.")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@json_option()
def command(  # noqa: PLR0913  (one for each option)
    file: Path,
    *,
    job: str,
    group: str,
    records: str,
    url: str,
    is_message: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Write a commented manifest to FILE, ready for `injector plan`.

    As it is, it fits what `injector up` runs on this machine.

    Example: injector init welcome.yaml --records users.csv --topic
    """
    if file.exists() and not force:
        raise Misused(f"{file} is there already; name another file, or add --force")
    becomes = (MESSAGE if is_message else TASK).format(url=url)
    text = MANIFEST.format(file=file, job=job, group=group, records=records, becomes=becomes)
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Misused(f"{file}: {error.strerror}; name a file that can be written") from error
    if as_json:
        print_json({"written": str(file)})
    else:
        click.echo(f"{file} is written; next: injector plan {file}")
