from types import SimpleNamespace

import pytest

from handlers.known import known_group
from injector.errors import NotFound


@pytest.mark.parametrize(
    ("groups", "remedy"),
    [
        (["welcome"], "did you mean 'welcome'?"),
        (["b", "a"], "it has a, b"),
        ([], "none is configured (INJECTOR_GROUPS)"),
    ],
)
def test_a_group_that_is_not_there_is_told_with_what_would_do(groups, remedy):
    with pytest.raises(NotFound) as told:
        known_group(SimpleNamespace(groups=dict.fromkeys(groups)), "welcom")
    assert str(told.value) == f"the service has no group 'welcom'; {remedy}"
