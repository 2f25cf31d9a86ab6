"""The manifest: what a person asks for."""

import codecs
import math
from fractions import Fraction
from typing import Annotated

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    JsonValue,
    Tag,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from injector.manifest.attributes import (
    MAX_ATTRIBUTES,
    attribute_name,
    attribute_template,
)
from injector.manifest.body import plain_json
from injector.manifest.fields import (
    AnyText,
    Count,
    Instant,
    Number,
    Seconds,
    Text,
    choice,
    lacking,
    matching,
    within,
    wrong,
)
from injector.manifest.http import (
    fixed_header_problem,
    header_name,
    header_value,
    origin_of,
    url_template,
    webhook_url,
)
from injector.manifest.nodes import Plain

BODY_METHODS = ("POST", "PUT", "PATCH")
METHODS = (*BODY_METHODS, "GET", "HEAD", "DELETE", "OPTIONS")
FORMATS = ("jsonl", "csv", "parquet")
COLUMN_TYPES = ("text", "integer", "number", "boolean", "json")
SHARE_OR_COUNT = r"(100|[1-9]?[0-9])(\.[0-9]+)?%|[0-9]{1,12}"
CLOUD_PLATFORM = "https://www.googleapis.com/auth/cloud-platform"


def _shape(value: object) -> str:
    """Tell a text from a mapping and a list; complaints leave these tags out."""
    if isinstance(value, list):
        return "<list>"
    return "<mapping>" if isinstance(value, dict | BaseModel) else "<text>"


def _schedule_shape(value: object) -> str:
    if isinstance(value, At) or (isinstance(value, dict) and "at" in value):
        return "<at>"
    return "<field>" if isinstance(value, ByField | dict) else "<text>"


def _codec(name: str) -> str:
    try:
        return codecs.lookup(name).name
    except LookupError as error:
        raise wrong(f"encoding {name!r} is not known; write one such as utf-8") from error


def _limit(value: object) -> object:
    """Accept a share such as 1%, or a count, and keep it as text."""
    return str(value) if isinstance(value, int | Plain) and not isinstance(value, bool) else value


class Strict(BaseModel):
    """A mapping that knows its keys and never changes."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class ByField(Strict):
    """A field of the record."""

    field: Text


class At(Strict):
    """An instant from which tasks are spread on the group's curve."""

    at: Instant


Account = Annotated[
    Text,
    matching(
        r"[^@\s]+@[^@\s]+", "write its e-mail address, such as NAME@PROJECT.iam.gserviceaccount.com"
    ),
]


TopicName = Annotated[
    Text,
    matching(
        r"projects/[^/\s]+/topics/[A-Za-z][\w.~+%-]{0,254}", "write projects/PROJECT/topics/TOPIC"
    ),
]


class Oidc(Strict):
    """An OIDC token, for one's own services; the audience is the URL's origin by default."""

    service_account: Account
    audience: Text | None = None


class OAuth(Strict):
    """An OAuth token, for Google's APIs."""

    service_account: Account
    scope: Text = CLOUD_PLATFORM


Body = Annotated[
    Annotated[AnyText, Tag("<text>")]
    | Annotated[dict[str, JsonValue], BeforeValidator(plain_json), Tag("<mapping>")]
    | Annotated[list[JsonValue], BeforeValidator(plain_json), Tag("<list>")],
    Discriminator(_shape),
]
Header = Annotated[AnyText, AfterValidator(header_name)]
HeaderValue = Annotated[AnyText, AfterValidator(header_value)]


class Http(Strict):
    """The request that a task makes.

    `body` is `record` (the record as it is), `none`, a text, or a JSON template; it is the
    record by default where the method allows a body.
    """

    url: Annotated[Text, AfterValidator(url_template)]
    """The URL, an RFC 6570 template over the record's fields."""
    method: Annotated[Text, choice(*METHODS)] = "POST"
    """The HTTP method."""
    headers: dict[Header, HeaderValue] = {}
    """Headers; `{name}` in them is the field's text."""
    body: Body | None = None
    """`record`, `none`, a text, or JSON in which `{name}` stands for a field."""
    oidc: Oidc | None = None
    """An OIDC token, for one's own services."""
    oauth: OAuth | None = None
    """An OAuth token, for Google's APIs."""

    @model_validator(mode="after")
    def _agree(self) -> "Http":
        if self.content != "none" and self.method not in BODY_METHODS:
            raise wrong(f"method {self.method} carries no body; leave body out, or use POST")
        if self.oidc and self.oauth:
            raise wrong("oidc and oauth exclude each other; keep one")
        names = [name.lower() for name in self.headers]
        if twice := next((name for name in names if names.count(name) > 1), ""):
            raise wrong(f"header {twice} is given twice; names do not differ by case")
        if (self.oidc or self.oauth) and "authorization" in names:
            raise wrong("header Authorization is replaced by the token; keep one of the two")
        if problem := fixed_header_problem(self.headers.items()):
            raise wrong(problem)
        if self.oidc and not (self.oidc.audience or origin_of(self.url)):
            raise wrong("oidc needs an audience, since each record decides the host")
        return self

    @property
    def content(self) -> JsonValue:
        """What the body is made of: `body`, or what the method suggests when there is none."""
        if self.body is None:
            return "record" if self.method in BODY_METHODS else "none"
        return self.body


class Message(Strict):
    """What each record becomes where the group's destination is a topic."""

    data: Body = "record"
    """`record`, `none`, a text, or JSON in which `{name}` stands for a field."""
    attributes: dict[
        Annotated[AnyText, AfterValidator(attribute_name)],
        Annotated[AnyText, AfterValidator(attribute_template)],
    ] = {}
    """Attributes; `{name}` in them is the field's text. `injector-id` is added to them."""
    ordering_key: ByField | None = None
    """The field whose text is the ordering key; with one there are no hedges."""

    @model_validator(mode="after")
    def _fit(self) -> "Message":
        if len(self.attributes) > MAX_ATTRIBUTES:
            raise wrong(
                f"{len(self.attributes)} attributes are too many; Pub/Sub takes 100, and one of "
                "them is injector-id"
            )
        return self


class Notify(Strict):
    """Whom to tell when the job has ended."""

    webhook: Annotated[Text, AfterValidator(webhook_url)] | None = None
    """An https URL that gets a POST with the totals; tried again for a day."""
    topic: TopicName | None = None
    """A Pub/Sub topic that gets a message with the totals; tried again for a day."""

    @model_validator(mode="after")
    def _one(self) -> "Notify":
        if (self.webhook is None) == (self.topic is None):
            raise wrong("needs either a webhook or a topic; give one of the two")
        return self

    @property
    def address(self) -> str:
        """Return the URL of the webhook, or the topic's full name."""
        return self.webhook or self.topic or ""


class Task(Strict):
    """What each record becomes.

    `dispatch_deadline` is how long the target may take, 15 s to 30 min; the service's own
    default is 10 min.
    """

    http: Http
    """The request that the task makes."""
    dispatch_deadline: (
        Annotated[Seconds, within(15, 1800, unit=" s", why="Cloud Tasks allows 15s to 30m")] | None
    ) = None
    """How long the target may take; 10 min by default."""
    schedule: Annotated[
        Annotated[Text, choice("now"), Tag("<text>")]
        | Annotated[At, Tag("<at>")]
        | Annotated[ByField, Tag("<field>")],
        Discriminator(_schedule_shape),
    ] = "now"
    """`now`, `{at: TIME}` to spread from there on the ramp, or `{field: NAME}`."""


class Manifest(Strict):
    """A job: which records become which tasks, in which group."""

    job: Annotated[
        Text,
        matching(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}", "use 1 to 100 letters, digits, - and _"),
    ]
    """The job's id; it may run once under it."""
    group: Text
    """The configured queue group that the tasks go to."""
    records: Text
    """A path, a glob, a URL, or `-` for standard input."""
    format: Annotated[Text, choice(*FORMATS)] | None = None
    """The records' format, if the name does not tell it."""
    encoding: Annotated[Text, AfterValidator(_codec)] = "utf-8"
    """The records' encoding."""
    types: dict[str, Annotated[Text, choice(*COLUMN_TYPES)]] = {}
    """Types of the CSV columns that are not text."""
    identity: Annotated[
        Annotated[Text, choice("index", "content"), Tag("<text>")]
        | Annotated[ByField, Tag("<mapping>")],
        Discriminator(_shape),
    ] = "index"
    """What names a record's task: its place, its content, or a field."""
    message: Message | None = None
    """What each record becomes where the group is a topic."""
    task: Annotated[Task | None, Field(validate_default=True)] = None
    """What each record becomes where the group is one of queues."""
    stop_when_rejected: Annotated[
        Text,
        BeforeValidator(_limit),
        matching(SHARE_OR_COUNT, "write a share such as 1%, or a count"),
        WithJsonSchema({"type": ["string", "integer"], "pattern": r"^\d+(\.\d+)?%$"}),
    ] = "1%"
    """The share or count of rejects above which the job pauses itself."""
    create_timeout: Annotated[
        Seconds,
        within(
            0.1, 30, unit=" s", why="Cloud Tasks refuses a call deadline over 30 s in the future"
        ),
    ] = 20.0
    """How long one create may take."""
    create_mode: Annotated[Text, choice("single", "batch")] = "single"
    """One call for each task, or batches that keep a chunk in one queue."""
    weight: Annotated[Number, within(0.01, 1000)] = 1.0
    """The job's share among jobs of its priority in the group."""
    priority: Annotated[Count, within(-100, 100)] = 0
    """Jobs of a higher priority go first."""
    notify: Notify | None = None
    """Whom to tell when the job has ended."""

    @field_validator("task")
    @classmethod
    def _has_one(cls, task: Task | None, info: ValidationInfo) -> Task | None:
        message = info.data.get("message", info)  # one that is wrong is there all the same
        if task is None and message is None:
            raise lacking("needs 'task', or 'message' where the group is a topic; add it")
        if task is not None and message is not None:
            raise lacking(
                "task and message exclude each other; keep task for queues, message for a topic"
            )
        return task

    @model_validator(mode="after")
    def _has_no_batches_of_messages(self) -> "Manifest":
        if self.message and self.create_mode == "batch":
            raise wrong("create_mode is of tasks; messages are always sent many to a call")
        return self

    def rejects_allowed(self, records: int) -> int:
        """Return how many of so many records may be rejected before the job pauses itself."""
        return share_or_count(self.stop_when_rejected, records)


def share_or_count(limit: str, records: int) -> int:
    """Return how many of so many records a share such as 1% is, or the count as it is."""
    if limit.endswith("%"):
        return math.floor(records * Fraction(limit[:-1]) / 100)
    return int(limit)
