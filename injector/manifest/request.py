"""From a record to the task that is created for it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat

from injector.delivery.ports import Create, TaskTemplate, Token
from injector.errors import Misused, Rejected
from injector.layout import Layout
from injector.manifest.body import body_fields, compile_body
from injector.manifest.columns import Columns, FillAll, compile_all
from injector.manifest.http import (
    MAX_HEADERS,
    TOO_LARGE_HEADERS,
    header_problem,
    header_size,
    origin_of,
    url_problem,
)
from injector.manifest.identity import Identities, Identity, identities_of, identity_of
from injector.manifest.record import Record
from injector.manifest.row import Row, row_reader
from injector.manifest.schedule import Due, due_of, settle
from injector.manifest.schema import ByField, Http, Manifest, Task
from injector.manifest.template import (
    compile_text,
    compile_url,
    fields_of,
    text_pieces,
    url_pieces,
)
from injector.naming import (
    MAX_TASK_ID,
    digests_of,
    draw_of_chunk,
    draws_of,
    name_task,
    task_id,
    task_ids,
)
from injector.pacing.ramp import CHUNK, Ramp
from injector.wire import MAX_TASK_SIZE, task_size

Headers = tuple[tuple[str, str], ...]

_BYTES_A_CHARACTER = 4


@dataclass(frozen=True, slots=True)
class Request:
    """A manifest's request, compiled: each part takes the record's row, `urls` those of many."""

    url: Callable[[Row], str]
    urls: FillAll
    headers: tuple[tuple[str, Callable[[Row], str]], ...]
    body: Callable[[Row, bytes], bytes]


@dataclass(frozen=True, slots=True)
class Renderer:
    """A manifest, compiled: turns each record into the create of its task.

    `layout_of` gives the queues of a chunk, counted as in the job that the tasks are named after.
    `fields` names what a record may need to have. `room` is how much a record may add to a
    task before its size has to be counted byte by byte.
    """

    job: str
    layout_of: Callable[[int], Layout]
    fields: tuple[str, ...]
    template: TaskTemplate
    whole_chunks: bool
    max_task_size: int
    room: int
    row_of: Callable[[bytes], Row]
    request: Request
    identity: Identity
    identities: Identities
    due: Due

    def create(self, record: Record, *, now: float) -> Create:
        """Return the record's create; raise Rejected with the reason when there can be none.

        `now`, in Unix seconds, is what a schedule time is judged against.
        """
        row = self.row_of(record.raw)
        identity, suffix = self.identity(row, record)
        queue, name = self._place(record, identity, suffix)
        url, headers, body = self._parts(row, record)
        due = self.due(row, record.ordinal)
        if due is not None:
            due = settle(due, now=now)
        create = Create(queue, name, url, body, headers, due, self.template)
        if self._may_be_too_large(url, headers, body):
            self._check_size(create)
        return create

    def create_all(self, records: Sequence[Record], *, now: float) -> list[Create]:
        """Return what `create` does of each, at a third of the cost.

        Raises Rejected when there can be none for some of them; `create` then says for which.
        """
        rows = [self.row_of(record.raw) for record in records]
        columns = Columns(rows)
        queues, names = self._places(records, columns)
        urls = self.request.urls(columns)
        if problem := next(filter(None, map(url_problem, urls)), ""):
            raise Rejected(problem)
        varying = bool(self.request.headers)
        headers: Iterable[Headers] = map(self._headers, rows) if varying else repeat(())
        both = list(zip(rows, records, strict=True))
        bodies = [self.request.body(row, record.raw) for row, record in both]
        dues = [settle(self.due(row, record.ordinal), now=now) for row, record in both]
        creates = map(Create, queues, names, urls, bodies, headers, dues, repeat(self.template))
        return self._checked(list(creates))

    def _checked(self, creates: list[Create]) -> list[Create]:
        """Check the sizes, one by one only where the longest parts together could be too large."""
        url = max((create.url for create in creates), key=len, default="")
        body = max((create.body for create in creates), key=len, default=b"")
        if self.request.headers or self._may_be_too_large(url, (), body):
            for create in creates:
                if self._may_be_too_large(create.url, create.headers, create.body):
                    self._check_size(create)
        return creates

    def _places(
        self, records: Sequence[Record], columns: Columns
    ) -> tuple[Sequence[str], Sequence[str]]:
        """Choose the queues and ids of many tasks, as `_place` does of one."""
        identities, suffixes = self.identities(columns, records)
        digests = digests_of(self.job, identities)
        chunks = [record.place // CHUNK for record in records]
        if self.whole_chunks:
            lots = {chunk: draw_of_chunk(self.job, chunk) for chunk in set(chunks)}
            queue_of = {chunk: self.layout_of(chunk).queue_of(lot) for chunk, lot in lots.items()}
            queues = [queue_of[chunk] for chunk in chunks]
        elif len(set(chunks)) == 1:
            queues = self.layout_of(chunks[0]).queues_of(draws_of(digests))
        else:
            drawn = zip(chunks, draws_of(digests), strict=True)
            queues = [self.layout_of(chunk).queue_of(draw) for chunk, draw in drawn]
        return queues, task_ids(digests, suffixes)

    def name(self, record: Record) -> tuple[str, str]:
        """Return the queue and the id of the record's task, at a fraction of `create`'s cost.

        Raises Rejected for a record without identity; others may have a name and yet no task.
        """
        return self._place(record, *self.identity(self.row_of(record.raw), record))

    def _place(self, record: Record, identity: bytes, suffix: str) -> tuple[str, str]:
        """Choose the task's queue and id: functions of the record, and of its chunk's layout."""
        chunk = record.place // CHUNK
        if self.whole_chunks:
            name, draw = task_id(self.job, identity, suffix), draw_of_chunk(self.job, chunk)
        else:
            name, draw = name_task(self.job, identity, suffix)
        return self.layout_of(chunk).queue_of(draw), name

    def check(self, record: Record, *, now: float) -> None:
        """Raise Rejected exactly when `create` would, at half its cost."""
        row = self.row_of(record.raw)
        self.identity(row, record)
        url, headers, body = self._parts(row, record)
        settle(self.due(row, record.ordinal), now=now)
        if self._may_be_too_large(url, headers, body):
            self.create(record, now=now)

    def size_of(self, create: Create) -> int:
        """Return how many bytes the task has as the service stores it."""
        return task_size(create)

    def _parts(self, row: Row, record: Record) -> tuple[str, Headers, bytes]:
        """Fill URL, headers and body."""
        request = self.request
        url = request.url(row)
        if problem := url_problem(url):
            raise Rejected(problem)
        headers = self._headers(row) if request.headers else ()
        return url, headers, request.body(row, record.raw)

    def _headers(self, row: Row) -> Headers:
        headers = tuple((name, fill(row)) for name, fill in self.request.headers)
        for name, value in headers:
            if problem := header_problem(value):
                raise Rejected(f"header {name}: {problem}")
        if header_size((*self.template.headers, *headers)) >= MAX_HEADERS:
            raise Rejected(TOO_LARGE_HEADERS)
        return headers

    def _may_be_too_large(self, url: str, headers: Headers, body: bytes) -> bool:
        added = len(body) + _BYTES_A_CHARACTER * len(url)
        if headers:
            added += header_size(headers)
        return added > self.room

    def _check_size(self, create: Create) -> None:
        size = task_size(create)
        if size > self.max_task_size:
            raise Rejected(f"the task has {size} bytes, over the {self.max_task_size} it may have")


def compile_request(  # noqa: PLR0913  (a manifest, and what its group may add)
    manifest: Manifest,
    queues: tuple[str, ...],
    *,
    ramp: Ramp | None = None,
    max_task_size: int = MAX_TASK_SIZE,
    named_after: str = "",
    layout_of: Callable[[int], Layout] | None = None,
) -> Renderer:
    """Compile the manifest for the group's queues.

    `ramp` is the group's; it spreads a job that starts at a set time. None means 500/50/5.
    `named_after` is the job whose id names the tasks, empty for the manifest's own. `layout_of`
    gives a chunk's queues; None means `queues`, each with its even share.
    """
    layout = Layout(queues)
    fields = fields_used(manifest)
    position = {name: index for index, name in enumerate(fields)}
    template = task_template(manifest)
    return Renderer(
        job=named_after or manifest.job,
        layout_of=layout_of or (lambda _chunk: layout),
        fields=fields,
        template=template,
        whole_chunks=manifest.create_mode == "batch",
        max_task_size=max_task_size,
        room=max_task_size - _fixed_size(template, queues),
        row_of=row_reader(fields),
        request=_request(task_of(manifest).http, position),
        identity=identity_of(manifest.identity, position),
        identities=identities_of(manifest.identity, position),
        due=due_of(task_of(manifest).schedule, position, ramp or Ramp()),
    )


def fields_used(manifest: Manifest) -> tuple[str, ...]:
    """Name every field that the manifest takes from a record."""
    task = task_of(manifest)
    http = task.http
    names = [*fields_of(url_pieces(http.url)), *_body_fields(http)]
    names += [name for text in http.headers.values() for name in fields_of(text_pieces(text))]
    marked = (manifest.identity, task.schedule)
    names += [mark.field for mark in marked if isinstance(mark, ByField)]
    return tuple(dict.fromkeys(names))


def task_template(manifest: Manifest) -> TaskTemplate:
    """Return what all tasks of the job share."""
    task = task_of(manifest)
    http = task.http
    return TaskTemplate(
        method=http.method,
        headers=_fixed_headers(http),
        token=_token(http),
        dispatch_deadline_s=task.dispatch_deadline,
    )


def task_of(manifest: Manifest) -> Task:
    """Return the manifest's task; raise Misused when its records become messages."""
    if manifest.task is None:
        raise Misused(f"job {manifest.job} has no task: its records become messages")
    return manifest.task


def _request(http: Http, position: dict[str, int]) -> Request:
    varying = [(name, text_pieces(text)) for name, text in http.headers.items()]
    pieces = url_pieces(http.url)
    url = compile_url(pieces, position)
    return Request(
        url=url,
        urls=compile_all(pieces, url, position),
        headers=tuple(
            (name, compile_text(pieces, position)) for name, pieces in varying if fields_of(pieces)
        ),
        body=_body(http, position),
    )


def _body(http: Http, position: dict[str, int]) -> Callable[[Row, bytes], bytes]:
    if http.content == "record":
        return lambda _row, raw: raw
    if http.content == "none":
        return lambda _row, _raw: b""
    fill = compile_body(http.content, position)
    return lambda row, _raw: fill(row)


def _body_fields(http: Http) -> tuple[str, ...]:
    return () if http.content in ("record", "none") else body_fields(http.content)


def _fixed_headers(http: Http) -> Headers:
    """Return the headers that do not vary; a body gets the content type that it is."""
    headers = http.headers.items()
    fixed = [(name, text) for name, text in headers if not fields_of(text_pieces(text))]
    if http.content != "none" and "content-type" not in {name.lower() for name in http.headers}:
        is_text = isinstance(http.content, str) and http.content != "record"
        kind = "text/plain; charset=utf-8" if is_text else "application/json"
        fixed.append(("Content-Type", kind))
    return tuple(fixed)


def _token(http: Http) -> Token | None:
    if http.oidc:
        audience = http.oidc.audience or origin_of(http.url)
        return Token("oidc", http.oidc.service_account, audience)
    return Token("oauth", http.oauth.service_account, http.oauth.scope) if http.oauth else None


def _fixed_size(template: TaskTemplate, queues: tuple[str, ...]) -> int:
    """Return the most that a task can have apart from its URL, own headers and body."""
    longest = max(queues, key=len, default="")
    empty = Create(longest, "x" * MAX_TASK_ID, "", b"", (), None, template)
    return task_size(empty) + 64
