"""What a query's parameter needs, told to whoever gave another."""

from typing import Annotated

import pytest
from flask import Flask
from pydantic import Field

from handlers.asking import query
from handlers.models import Asked, JobsQuery
from injector.errors import Misused
from injector.staging.attempt import NAME


class Described(Asked):
    """A query whose text has no example."""

    kind: Annotated[str, Field(pattern="^[a-z]+$")] = ""
    """The kind in small letters."""


@pytest.mark.parametrize(
    ("model", "asked", "words"),
    [
        (Described, "kind=A1", "kind='A1': needs text: The kind in small letters."),
        (JobsQuery, "staging=x", "staging='x': needs text such as 001764547200-1a2b3c4d"),
        (JobsQuery, "staging=٠٠١٧٦٤٥٤٧٢٠٠-1a2b3c4d", "needs text such as"),
    ],
)
def test_a_text_that_will_not_do_is_answered_with_one_that_would(model, asked, words):
    with (
        Flask(__name__).test_request_context(f"/?{asked}"),
        pytest.raises(Misused, match=words.replace(".", r"\.")),
    ):
        query(model)


def test_the_example_is_a_name_that_a_staging_may_have():
    [example] = JobsQuery.model_json_schema()["properties"]["staging"]["examples"]
    assert NAME.fullmatch(example)
