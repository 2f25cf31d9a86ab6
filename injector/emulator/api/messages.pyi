from collections.abc import MutableMapping, MutableSequence
from typing import Self, TypeVar

_K = TypeVar("_K")
_V = TypeVar("_V")

class EnumValue:
    name: str
    number: int

class EnumDescriptor:
    values_by_name: dict[str, EnumValue]
    values_by_number: dict[int, EnumValue]

class FieldDescriptor:
    name: str
    camelcase_name: str
    type: int
    is_repeated: bool
    has_presence: bool
    message_type: Descriptor | None
    enum_type: EnumDescriptor | None

class Descriptor:
    name: str
    full_name: str
    fields: list[FieldDescriptor]
    fields_by_name: dict[str, FieldDescriptor]

class Message:
    DESCRIPTOR: Descriptor
    def __init__(self, **fields: object) -> None: ...
    @classmethod
    def FromString(cls, serialized: bytes) -> Self: ...
    def ByteSize(self) -> int: ...
    def ClearField(self, name: str) -> None: ...
    def CopyFrom(self, other: Self) -> None: ...
    def HasField(self, name: str) -> bool: ...
    def ListFields(self) -> list[tuple[FieldDescriptor, object]]: ...
    def MergeFrom(self, other: Self) -> None: ...
    def MergeFromString(self, serialized: bytes) -> int: ...
    def SerializeToString(self) -> bytes: ...
    def SetInParent(self) -> None: ...
    def WhichOneof(self, name: str) -> str | None: ...

class Repeated(list[_V]):
    def add(self, **fields: object) -> _V: ...

class MessageMap(dict[_K, _V]): ...

class Any(Message):
    type_url: str
    value: bytes

class AppEngineHttpRequest(Message):
    http_method: int
    app_engine_routing: AppEngineRouting
    relative_uri: str
    headers: MutableMapping[str, str]
    body: bytes

class AppEngineRouting(Message):
    service: str
    version: str
    instance: str
    host: str

class Attempt(Message):
    schedule_time: Timestamp
    dispatch_time: Timestamp
    response_time: Timestamp
    response_status: Status

class BadRequest(Message):
    class FieldViolation(Message):
        field: str
        description: str

    field_violations: Repeated[BadRequest.FieldViolation]

class BatchCreateTasksMetadata(Message):
    start_time: Timestamp
    end_time: Timestamp
    state: int
    failed_requests: MessageMap[int, Status]

class BatchCreateTasksRequest(Message):
    parent: str
    requests: Repeated[CreateTaskRequest]
    request_id: str

class BatchCreateTasksResponse(Message):
    tasks: Repeated[Task]

class BatchDeleteTasksMetadata(Message):
    start_time: Timestamp
    end_time: Timestamp
    state: int
    failed_requests: MessageMap[int, Status]

class BatchDeleteTasksRequest(Message):
    parent: str
    names: MutableSequence[str]
    request_id: str

class Binding(Message):
    role: str
    members: MutableSequence[str]
    condition: Message

class CancelOperationRequest(Message):
    name: str

class CmekConfig(Message):
    name: str
    kms_key: str

class CreateQueueRequest(Message):
    parent: str
    queue: Queue

class CreateTaskRequest(Message):
    parent: str
    task: Task
    response_view: int

class DeleteOperationRequest(Message):
    name: str

class DeleteQueueRequest(Message):
    name: str

class DeleteTaskRequest(Message):
    name: str

class Duration(Message):
    seconds: int
    nanos: int

class Empty(Message): ...

class ErrorInfo(Message):
    reason: str
    domain: str
    metadata: MutableMapping[str, str]

class FieldMask(Message):
    paths: MutableSequence[str]

class GetCmekConfigRequest(Message):
    name: str

class GetIamPolicyRequest(Message):
    class Options(Message):
        requested_policy_version: int

    resource: str
    options: GetIamPolicyRequest.Options

class GetLocationRequest(Message):
    name: str

class GetOperationRequest(Message):
    name: str

class GetQueueRequest(Message):
    name: str

class GetTaskRequest(Message):
    name: str
    response_view: int

class Help(Message):
    class Link(Message):
        description: str
        url: str

    links: Repeated[Help.Link]

class HttpRequest(Message):
    url: str
    http_method: int
    headers: MutableMapping[str, str]
    body: bytes
    oauth_token: OAuthToken
    oidc_token: OidcToken

class HttpTarget(Message):
    class Header(Message):
        key: str
        value: str

    class HeaderOverride(Message):
        header: HttpTarget.Header

    uri_override: UriOverride
    http_method: int
    header_overrides: Repeated[HttpTarget.HeaderOverride]
    oauth_token: OAuthToken
    oidc_token: OidcToken

class ListLocationsRequest(Message):
    name: str
    filter: str
    page_size: int
    page_token: str

class ListLocationsResponse(Message):
    locations: Repeated[Location]
    next_page_token: str

class ListOperationsRequest(Message):
    name: str
    filter: str
    page_size: int
    page_token: str
    return_partial_success: bool

class ListOperationsResponse(Message):
    operations: Repeated[Operation]
    next_page_token: str
    unreachable: MutableSequence[str]

class ListQueuesRequest(Message):
    parent: str
    filter: str
    page_size: int
    page_token: str

class ListQueuesResponse(Message):
    queues: Repeated[Queue]
    next_page_token: str

class ListTasksRequest(Message):
    parent: str
    response_view: int
    page_size: int
    page_token: str

class ListTasksResponse(Message):
    tasks: Repeated[Task]
    next_page_token: str

class LocalizedMessage(Message):
    locale: str
    message: str

class Location(Message):
    name: str
    location_id: str
    display_name: str
    labels: MutableMapping[str, str]
    metadata: Any

class OAuthToken(Message):
    service_account_email: str
    scope: str

class OidcToken(Message):
    service_account_email: str
    audience: str

class Operation(Message):
    name: str
    metadata: Any
    done: bool
    error: Status
    response: Any

class PathOverride(Message):
    path: str

class PauseQueueRequest(Message):
    name: str

class Policy(Message):
    version: int
    bindings: Repeated[Binding]
    audit_configs: Repeated[Message]
    etag: bytes

class PurgeQueueRequest(Message):
    name: str

class QueryOverride(Message):
    query_params: str

class Queue(Message):
    name: str
    app_engine_routing_override: AppEngineRouting
    http_target: HttpTarget
    rate_limits: RateLimits
    retry_config: RetryConfig
    state: int
    purge_time: Timestamp
    stackdriver_logging_config: StackdriverLoggingConfig

class RateLimits(Message):
    max_dispatches_per_second: float
    max_burst_size: int
    max_concurrent_dispatches: int

class ResumeQueueRequest(Message):
    name: str

class RetryConfig(Message):
    max_attempts: int
    max_retry_duration: Duration
    min_backoff: Duration
    max_backoff: Duration
    max_doublings: int

class RunTaskRequest(Message):
    name: str
    response_view: int

class SetIamPolicyRequest(Message):
    resource: str
    policy: Policy
    update_mask: FieldMask

class StackdriverLoggingConfig(Message):
    sampling_ratio: float

class Status(Message):
    code: int
    message: str
    details: Repeated[Any]

class Task(Message):
    name: str
    app_engine_http_request: AppEngineHttpRequest
    http_request: HttpRequest
    schedule_time: Timestamp
    create_time: Timestamp
    dispatch_deadline: Duration
    dispatch_count: int
    response_count: int
    first_attempt: Attempt
    last_attempt: Attempt
    view: int
    retry_config: RetryConfig

class TestIamPermissionsRequest(Message):
    resource: str
    permissions: MutableSequence[str]

class TestIamPermissionsResponse(Message):
    permissions: MutableSequence[str]

class Timestamp(Message):
    seconds: int
    nanos: int

class UpdateCmekConfigRequest(Message):
    cmek_config: CmekConfig
    update_mask: FieldMask

class UpdateQueueRequest(Message):
    queue: Queue
    update_mask: FieldMask

class UriOverride(Message):
    scheme: int
    host: str
    port: int
    path_override: PathOverride
    query_override: QueryOverride
    uri_override_enforce_mode: int

class WaitOperationRequest(Message):
    name: str
    timeout: Duration

BASIC: int
FULL: int
LAST_HTTP_METHOD: int
LAST_SCHEME: int
LAST_ENFORCE_MODE: int

class DecodeError(Exception): ...
class ParseError(Exception): ...

def MessageToDict(
    message: Message,
    *,
    preserving_proto_field_name: bool = ...,
    always_print_fields_with_no_presence: bool = ...,
    use_integers_for_enums: bool = ...,
) -> dict[str, object]: ...
def ParseDict(js_dict: dict[str, object], message: Message) -> Message: ...
