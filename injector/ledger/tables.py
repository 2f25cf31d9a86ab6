"""The ledger's tables, kept small: what is counted by the billion is a few bytes a row.

Inside, a job is its integer `key`, never used twice; its id is a person's text. Tables that
grow with a job are clustered by (job, place), so that what belongs together is read together.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    text,
)

REVISION = "0007"
"""The migration that leads to these tables."""


METADATA = MetaData()

jobs = Table(
    "jobs",
    METADATA,
    Column("key", Integer, primary_key=True),
    Column("id", Text, unique=True),  # NULL: deleted, its rows still to be swept
    Column("queue_group", Text, nullable=False),
    Column("manifest_json", Text, nullable=False),
    Column("store", Text, nullable=False),
    Column("records", BigInteger, nullable=False),
    Column("chunks", Integer, nullable=False),
    Column("digest", Text, nullable=False),
    Column("rejected", BigInteger, nullable=False),
    Column("weight", Double, nullable=False),
    Column("priority", Integer, nullable=False),
    Column("max_rate", Double),
    Column("parent", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("cursor", Integer, nullable=False),
    Column("version", Integer, nullable=False),
    Column("registered_at", Double, nullable=False),
    Column("started_at", Double),
    Column("finished_at", Double),
    Column("rejects_allowed", BigInteger),  # NULL: what the manifest says
    Column("named_after", Text, nullable=False, server_default=""),
    Column("redrives", Integer, nullable=False, server_default="0"),
    Column("generation", Integer, nullable=False, server_default="0"),
    Index("jobs_by_group", "queue_group", "state"),
    Index("jobs_by_state", "state", "key"),
    sqlite_autoincrement=True,
)

feeds = Table(
    "feeds",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("job", Integer, nullable=False),
    Column("generation", Integer, nullable=False),
    Column("first", Integer, nullable=False),
    Column("past", Integer, nullable=False),
    Column("scheduled_until", Double, nullable=False),
    Column("fed_at", Double, nullable=False),
    Index("feeds_by_time", "job", "scheduled_until"),
    sqlite_autoincrement=True,
)

receipts = Table(
    "receipts",
    METADATA,
    Column("job", Integer, nullable=False),
    Column("chunk", Integer, nullable=False),
    Column("records", SmallInteger, nullable=False),
    Column("settled", Boolean, nullable=False),
    Column("masks", LargeBinary),  # NULL: every record was created
    PrimaryKeyConstraint("job", "chunk", name="receipts_pkey"),
    Index(
        "receipts_not_plain",
        "job",
        "chunk",
        sqlite_where=text("masks IS NOT NULL"),
        postgresql_where=text("masks IS NOT NULL"),
    ),
    sqlite_with_rowid=False,
)

message_ids = Table(
    "message_ids",
    METADATA,
    Column("job", Integer, nullable=False),
    Column("chunk", Integer, nullable=False),
    Column("ids", LargeBinary, nullable=False),
    PrimaryKeyConstraint("job", "chunk", name="message_ids_pkey"),
    sqlite_with_rowid=False,
)

event_marks = Table(
    "event_marks",
    METADATA,
    Column("topic", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("told", BigInteger, nullable=False),
    PrimaryKeyConstraint("topic", "source", name="event_marks_pkey"),
    sqlite_with_rowid=False,
)

rejects = Table(
    "rejects",
    METADATA,
    Column("job", Integer, nullable=False),
    Column("ordinal", BigInteger, nullable=False),
    Column("line", BigInteger, nullable=False),
    Column("position", SmallInteger, nullable=False),
    Column("reason", Text, nullable=False),
    Column("file", Text, nullable=False),
    PrimaryKeyConstraint("job", "ordinal", name="rejects_pkey"),
    sqlite_with_rowid=False,
)

counters = Table(
    "counters",
    METADATA,
    Column("job", Integer, nullable=False),
    Column("shard", SmallInteger, nullable=False),
    Column("chunks", Integer, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("existed", BigInteger, nullable=False),
    Column("rejected", BigInteger, nullable=False),
    Column("waiting", Integer, nullable=False, server_default="0"),
    PrimaryKeyConstraint("job", "shard", name="counters_pkey"),
    sqlite_with_rowid=False,
)

signals = Table(
    "signals",
    METADATA,
    Column("queue_group", Text, nullable=False),
    Column("minute", Integer, nullable=False),
    Column("shard", SmallInteger, nullable=False),
    Column("counts_json", Text, nullable=False),
    PrimaryKeyConstraint("queue_group", "minute", "shard", name="signals_pkey"),
    Index("signals_by_minute", "minute"),
    sqlite_with_rowid=False,
)

groups = Table(
    "groups",
    METADATA,
    Column("name", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("ramp_json", Text, nullable=False),
    Column("saved_at", Double, nullable=False),
    PrimaryKeyConstraint("name", name="groups_pkey"),
)

decisions = Table(
    "decisions",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("queue_group", Text, nullable=False),
    Column("at", Double, nullable=False),
    Column("action", Text, nullable=False),
    Column("rate", Double, nullable=False),
    Column("concurrency", Integer, nullable=False),
    Column("reason", Text, nullable=False),
    Column("evidence_json", Text, nullable=False),
    Index("decisions_by_group", "queue_group", "id"),
    sqlite_autoincrement=True,
)

leases = Table(
    "leases",
    METADATA,
    Column("name", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("until", Double, nullable=False),
    PrimaryKeyConstraint("name", name="leases_pkey"),
)

audit = Table(
    "audit",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("at", Double, nullable=False),
    Column("job", Text, nullable=False),
    Column("who", Text, nullable=False),
    Column("what", Text, nullable=False),
    Column("old", Text, nullable=False),
    Column("new", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Index("audit_by_job", "job", "id"),
    sqlite_autoincrement=True,
)

takebacks = Table(
    "takebacks",
    METADATA,
    Column("job", Integer, nullable=False),
    Column("next", Integer, nullable=False),
    Column("past", Integer, nullable=False),
    Column("deleted", BigInteger, nullable=False),
    Column("gone", BigInteger, nullable=False),
    Column("not_before", Double, nullable=False),
    PrimaryKeyConstraint("job", name="takebacks_pkey"),
    sqlite_with_rowid=False,
)

notices = Table(
    "notices",
    METADATA,
    Column("job", Integer, nullable=False),
    Column("url", Text, nullable=False),
    Column("due", Double),  # NULL: nothing to tell
    Column("tries", Integer, nullable=False),
    PrimaryKeyConstraint("job", name="notices_pkey"),
    Index("notices_by_time", "due"),
    sqlite_with_rowid=False,
)

answers = Table(
    "answers",
    METADATA,
    Column("key", Text, nullable=False),
    Column("question", Text, nullable=False),
    Column("at", Double, nullable=False),
    Column("status", Integer),  # NULL: not answered yet
    Column("body", Text, nullable=False),
    PrimaryKeyConstraint("key", name="answers_pkey"),
    Index("answers_by_time", "at"),
    sqlite_with_rowid=False,
)

operations = Table(
    "operations",
    METADATA,
    Column("key", Integer, primary_key=True),
    Column("id", Text, nullable=False, unique=True),
    Column("kind", Text, nullable=False),
    Column("queue_group", Text, nullable=False),
    Column("slot", Text, nullable=False),
    Column("live", Text, unique=True),  # group and slot; NULL: it has ended
    Column("who", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("step", Integer, nullable=False),
    Column("steps", Integer, nullable=False),
    Column("reason", Text, nullable=False),
    Column("spec_json", Text, nullable=False),
    Column("memory_json", Text, nullable=False),
    Column("acts_json", Text, nullable=False),
    Column("acts_count", Integer, nullable=False),
    Column("acts_done", Integer, nullable=False),
    Column("started_at", Double, nullable=False),
    Column("next_at", Double, nullable=False),
    Column("ends_at", Double),  # NULL: nobody can say
    Column("ended_at", Double),  # NULL: it is live
    Column("version", Integer, nullable=False),
    Index("operations_by_group", "queue_group", "key"),
    sqlite_autoincrement=True,
)

pins = Table(
    "pins",
    METADATA,
    Column("names", Text, nullable=False),
    Column("first", Integer, nullable=False),
    Column("past", Integer, nullable=False),
    Column("layout", Text, nullable=False),
    PrimaryKeyConstraint("names", "first", name="pins_pkey"),
    sqlite_with_rowid=False,
)

waits = Table(
    "waits",
    METADATA,
    Column("job", Integer, nullable=False),
    Column("chunk", Integer, nullable=False),
    Column("queue", Text, nullable=False),
    Column("generation", Integer, nullable=False),
    PrimaryKeyConstraint("job", "chunk", name="waits_pkey"),
    Index("waits_by_queue", "job", "queue", "generation", "chunk"),
    sqlite_with_rowid=False,
)
