"""A row of a report; apart from the ledger, since those who read reports do without it."""

import msgspec


class Row(msgspec.Struct, frozen=True):
    """What became of a record; `task` is the full name, empty where nothing was to be created.

    Of a message, `task` is its `injector-id`, and `message_id` what Pub/Sub calls it. Outcomes
    are created, existed, rejected (with the reason) and open, for a record that is not settled
    yet. `line` is the physical line in `file`.
    """

    ordinal: int
    file: str
    line: int
    outcome: str
    task: str
    reason: str = ""
    message_id: str = ""
