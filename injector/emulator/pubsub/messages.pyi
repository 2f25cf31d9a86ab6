from collections.abc import MutableMapping, MutableSequence

from injector.emulator.api.messages import Duration, FieldMask, Message, Repeated, Timestamp

class AcknowledgeRequest(Message):
    subscription: str
    ack_ids: MutableSequence[str]

class DeleteSubscriptionRequest(Message):
    subscription: str

class DeleteTopicRequest(Message):
    topic: str

class GetSubscriptionRequest(Message):
    subscription: str

class GetTopicRequest(Message):
    topic: str

class ListSubscriptionsRequest(Message):
    project: str
    page_size: int
    page_token: str

class ListSubscriptionsResponse(Message):
    subscriptions: Repeated[Subscription]
    next_page_token: str

class ListTopicSubscriptionsRequest(Message):
    topic: str
    page_size: int
    page_token: str

class ListTopicSubscriptionsResponse(Message):
    subscriptions: MutableSequence[str]
    next_page_token: str

class ListTopicsRequest(Message):
    project: str
    page_size: int
    page_token: str

class ListTopicsResponse(Message):
    topics: Repeated[Topic]
    next_page_token: str

class ModifyAckDeadlineRequest(Message):
    subscription: str
    ack_ids: MutableSequence[str]
    ack_deadline_seconds: int

class PublishRequest(Message):
    topic: str
    messages: Repeated[PubsubMessage]

class PublishResponse(Message):
    message_ids: MutableSequence[str]

class PubsubMessage(Message):
    data: bytes
    attributes: MutableMapping[str, str]
    message_id: str
    publish_time: Timestamp
    ordering_key: str

class PullRequest(Message):
    subscription: str
    return_immediately: bool
    max_messages: int

class PullResponse(Message):
    received_messages: Repeated[ReceivedMessage]

class ReceivedMessage(Message):
    ack_id: str
    message: PubsubMessage
    delivery_attempt: int

class StreamingPullRequest(Message):
    subscription: str
    ack_ids: MutableSequence[str]
    modify_deadline_seconds: MutableSequence[int]
    modify_deadline_ack_ids: MutableSequence[str]
    stream_ack_deadline_seconds: int
    max_outstanding_messages: int
    max_outstanding_bytes: int

class StreamingPullResponse(Message):
    class SubscriptionProperties(Message):
        message_ordering_enabled: bool

    received_messages: Repeated[ReceivedMessage]
    subscription_properties: StreamingPullResponse.SubscriptionProperties

class Subscription(Message):
    name: str
    topic: str
    ack_deadline_seconds: int
    message_retention_duration: Duration
    enable_message_ordering: bool
    enable_exactly_once_delivery: bool
    filter: str
    state: int

class Topic(Message):
    name: str
    state: int

class UpdateSubscriptionRequest(Message):
    subscription: Subscription
    update_mask: FieldMask

class UpdateTopicRequest(Message):
    topic: Topic
    update_mask: FieldMask
