from hypothesis import given
from hypothesis import strategies as st

from injector.delivery.batched import MOST_CREATES, by_queue, each_alone
from injector.delivery.ports import Create, TaskTemplate
from injector.wire import create_task_request

QUEUES = [f"projects/p/locations/l/queues/q{number}" for number in range(3)]
TEXT = st.text(st.characters(codec="utf-8"), max_size=40)
HEADERS = st.lists(st.tuples(TEXT, TEXT), max_size=3).map(tuple)
TEMPLATES = st.builds(TaskTemplate, headers=HEADERS)
CREATES = st.builds(
    Create,
    queue=st.sampled_from(QUEUES),
    task_id=st.text("abc", min_size=1, max_size=500),
    url=TEXT,
    body=st.binary(max_size=3000),
    headers=HEADERS,
    template=TEMPLATES,
)


@given(st.lists(CREATES, max_size=30), st.integers(2_000, 10_000))
def test_every_create_is_in_one_call_of_its_queue(creates: list[Create], most: int) -> None:
    parts = list(by_queue(creates, most_bytes=most))
    assert sorted(place for places, _ in parts for place in places) == list(range(len(creates)))
    for places, part in parts:
        assert [creates[place] for place in places] == list(part)
        assert len({create.queue for create in part}) == 1


@given(st.lists(CREATES, max_size=30), st.integers(2_000, 10_000))
def test_no_call_of_several_creates_is_larger_than_allowed(
    creates: list[Create], most: int
) -> None:
    for _, part in by_queue(creates, most_bytes=most):
        size = sum(len(create_task_request(create)) + 4 for create in part)
        assert len(part) == 1 or size <= most


@given(st.integers(0, 350))
def test_calls_are_as_few_as_the_service_allows(count: int) -> None:
    creates = [Create(QUEUES[0], f"t{number}", "http://t/") for number in range(count)]
    parts = list(by_queue(creates, most_bytes=10_000_000))
    assert len(parts) == -(-count // MOST_CREATES)


@given(st.lists(CREATES, max_size=10))
def test_alone_means_one_create_in_each_call(creates: list[Create]) -> None:
    assert list(each_alone(creates)) == [((n,), (each,)) for n, each in enumerate(creates)]
