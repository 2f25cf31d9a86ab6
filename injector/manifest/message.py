"""From a record to the message that is published for it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from injector.delivery.ports import Create, TaskTemplate
from injector.errors import Lacking, Rejected
from injector.manifest.attributes import MAX_ORDERING_KEY, MAX_VALUE, size_problem
from injector.manifest.body import body_fields, compile_body
from injector.manifest.identity import Identity, identity_of
from injector.manifest.record import Record
from injector.manifest.row import Row, row_reader
from injector.manifest.schema import ByField, Message
from injector.manifest.template import Fill, compile_text, fields_of, text_at, text_pieces
from injector.naming import task_id
from injector.publish_wire import MAX_REQUEST, message_size, request_size

Attributes = tuple[tuple[str, str], ...]

_MOST_ATTRIBUTES = 100 * (256 + 1024 + 16)


@dataclass(frozen=True, slots=True)
class MessageRenderer:
    """A manifest's message, compiled: turns each record into what is published for it.

    `fields` names what a record may need to have. The id is that which a task of the record
    would have: subscribers tell a message that comes twice by it.
    """

    job: str
    topic: str
    fields: tuple[str, ...]
    template: TaskTemplate
    max_request: int
    row_of: Callable[[bytes], Row]
    data: Callable[[Row, bytes], bytes]
    attributes: tuple[tuple[str, Fill], ...]
    ordering_key: Fill
    identity: Identity

    def create(self, record: Record, *, now: float) -> Create:
        """Return what is to be published; raise Rejected with the reason when nothing can be."""
        del now  # A message is published at once.
        row = self.row_of(record.raw)
        create = Create(
            queue=self.topic,
            task_id=self._name(row, record),
            url="",
            body=self.data(row, record.raw),
            headers=self._attributes(row) if self.attributes else (),
            template=self.template,
            ordering_key=self._ordering_key(row),
        )
        self._check_size(create)
        return create

    def create_all(self, records: Sequence[Record], *, now: float) -> list[Create]:
        """Return what `create` does of each; raise Rejected when there can be none for one."""
        return [self.create(record, now=now) for record in records]

    def check(self, record: Record, *, now: float) -> None:
        """Raise Rejected exactly when `create` would."""
        self.create(record, now=now)

    def name(self, record: Record) -> tuple[str, str]:
        """Return the topic and the message's `injector-id`."""
        return self.topic, self._name(self.row_of(record.raw), record)

    def size_of(self, create: Create) -> int:
        """Return how many bytes the message has on its way."""
        return message_size(create)

    def _name(self, row: Row, record: Record) -> str:
        identity, suffix = self.identity(row, record)
        return task_id(self.job, identity, suffix)

    def _attributes(self, row: Row) -> Attributes:
        filled = tuple((name, fill(row)) for name, fill in self.attributes)
        for name, value in filled:
            if problem := size_problem(value, MAX_VALUE):
                raise Rejected(f"attribute {name} {problem}")
        return filled

    def _ordering_key(self, row: Row) -> str:
        key = self.ordering_key(row)
        if problem := size_problem(key, MAX_ORDERING_KEY):
            raise Rejected(f"the ordering key {problem}")
        return key

    def _check_size(self, create: Create) -> None:
        """Count byte by byte only what may be too large."""
        if len(create.body) + _MOST_ATTRIBUTES <= self.max_request:
            return
        size = request_size(create)
        if size > self.max_request:
            raise Rejected(
                f"the message has {size} bytes with its attributes, over the {self.max_request} "
                "of a publish request"
            )


def compile_message(
    message: Message,
    identity: str | ByField,
    topic: str,
    *,
    job: str,
    max_request: int = MAX_REQUEST,
) -> MessageRenderer:
    """Compile the message of a job whose id is in the messages' own."""
    fields = message_fields(message, identity)
    position = {name: index for index, name in enumerate(fields)}
    split = [(name, text_pieces(text)) for name, text in message.attributes.items()]
    varying = [(name, pieces) for name, pieces in split if fields_of(pieces)]
    return MessageRenderer(
        job=job,
        topic=topic,
        fields=fields,
        template=TaskTemplate(headers=_fixed(message)),
        max_request=max_request,
        row_of=row_reader(fields),
        data=_data(message, position),
        attributes=tuple((name, compile_text(pieces, position)) for name, pieces in varying),
        ordering_key=_key(message, position),
        identity=identity_of(identity, position),
    )


def message_fields(message: Message, identity: str | ByField) -> tuple[str, ...]:
    """Name every field that a message takes from a record."""
    names = [] if message.data in ("record", "none") else [*body_fields(message.data)]
    names += [name for text in message.attributes.values() for name in fields_of(text_pieces(text))]
    marked = (identity, message.ordering_key)
    names += [mark.field for mark in marked if isinstance(mark, ByField)]
    return tuple(dict.fromkeys(names))


def _fixed(message: Message) -> Attributes:
    """Return the attributes that do not vary."""
    given = message.attributes.items()
    return tuple((name, text) for name, text in given if not fields_of(text_pieces(text)))


def _data(message: Message, position: dict[str, int]) -> Callable[[Row, bytes], bytes]:
    if message.data == "record":
        return lambda _row, raw: raw
    if message.data == "none":
        return lambda _row, _raw: b""
    fill = compile_body(message.data, position)
    return lambda row, _raw: fill(row)


def _key(message: Message, position: dict[str, int]) -> Fill:
    if message.ordering_key is None:
        return lambda _row: ""
    name, index = message.ordering_key.field, position[message.ordering_key.field]

    def fill(row: Row) -> str:
        text = text_at(row, index, name)
        if not text:
            raise Lacking(name)
        return text

    return fill
