import pytest

from injector.errors import Misused
from injector.operations.kind import Reach
from injector.operations.kinds import KINDS
from injector.operations.traffic_split import TRAFFIC_SPLIT

SERVICE = "apps/a/services/s"


def test_of_all_kinds_only_a_traffic_split_asks_how_far_the_service_may_reach():
    refused = []
    for name, kind in KINDS.items():
        try:
            kind.admits({"service": SERVICE}, Reach(traffic=("apps/a/services/other",)))
        except Misused:
            refused.append(name)
    assert refused == ["traffic-split"]


def test_a_traffic_split_within_reach_is_admitted_and_one_beyond_is_told_what_is():
    TRAFFIC_SPLIT.admits({"service": SERVICE}, Reach(traffic=(SERVICE,)))
    with pytest.raises(Misused, match=f"only that of {SERVICE}"):
        TRAFFIC_SPLIT.admits({"service": "apps/a/services/other"}, Reach(traffic=(SERVICE,)))
