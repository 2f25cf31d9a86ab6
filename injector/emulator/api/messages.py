"""The raw protobuf classes of what the emulator speaks.

google-cloud-tasks wraps them in proto-plus, which costs ten times as much per message; beneath
the wrappers are the same classes. Their types are in the stub beside this file.
"""

from google.cloud.location import locations_pb2
from google.cloud.tasks_v2 import types
from google.iam.v1 import iam_policy_pb2, policy_pb2
from google.longrunning import operations_pb2
from google.protobuf import (
    any_pb2,
    descriptor,
    duration_pb2,
    empty_pb2,
    field_mask_pb2,
    json_format,
    message,
    timestamp_pb2,
)
from google.rpc import error_details_pb2, status_pb2

Any = any_pb2.Any
AppEngineHttpRequest = types.AppEngineHttpRequest.pb()
AppEngineRouting = types.AppEngineRouting.pb()
Attempt = types.Attempt.pb()
BadRequest = error_details_pb2.BadRequest
BatchCreateTasksMetadata = types.BatchCreateTasksMetadata.pb()
BatchCreateTasksRequest = types.BatchCreateTasksRequest.pb()
BatchCreateTasksResponse = types.BatchCreateTasksResponse.pb()
BatchDeleteTasksMetadata = types.BatchDeleteTasksMetadata.pb()
BatchDeleteTasksRequest = types.BatchDeleteTasksRequest.pb()
Binding = policy_pb2.Binding
CancelOperationRequest = operations_pb2.CancelOperationRequest
CmekConfig = types.CmekConfig.pb()
CreateQueueRequest = types.CreateQueueRequest.pb()
CreateTaskRequest = types.CreateTaskRequest.pb()
DeleteOperationRequest = operations_pb2.DeleteOperationRequest
DeleteQueueRequest = types.DeleteQueueRequest.pb()
DeleteTaskRequest = types.DeleteTaskRequest.pb()
Duration = duration_pb2.Duration
Empty = empty_pb2.Empty
ErrorInfo = error_details_pb2.ErrorInfo
FieldMask = field_mask_pb2.FieldMask
GetCmekConfigRequest = types.GetCmekConfigRequest.pb()
GetIamPolicyRequest = iam_policy_pb2.GetIamPolicyRequest
GetLocationRequest = locations_pb2.GetLocationRequest
GetOperationRequest = operations_pb2.GetOperationRequest
GetQueueRequest = types.GetQueueRequest.pb()
GetTaskRequest = types.GetTaskRequest.pb()
Help = error_details_pb2.Help
HttpRequest = types.HttpRequest.pb()
HttpTarget = types.HttpTarget.pb()
ListLocationsRequest = locations_pb2.ListLocationsRequest
ListLocationsResponse = locations_pb2.ListLocationsResponse
ListOperationsRequest = operations_pb2.ListOperationsRequest
ListOperationsResponse = operations_pb2.ListOperationsResponse
ListQueuesRequest = types.ListQueuesRequest.pb()
ListQueuesResponse = types.ListQueuesResponse.pb()
ListTasksRequest = types.ListTasksRequest.pb()
ListTasksResponse = types.ListTasksResponse.pb()
LocalizedMessage = error_details_pb2.LocalizedMessage
Location = locations_pb2.Location
OAuthToken = types.OAuthToken.pb()
OidcToken = types.OidcToken.pb()
Operation = operations_pb2.Operation
PathOverride = types.PathOverride.pb()
PauseQueueRequest = types.PauseQueueRequest.pb()
Policy = policy_pb2.Policy
PurgeQueueRequest = types.PurgeQueueRequest.pb()
QueryOverride = types.QueryOverride.pb()
Queue = types.Queue.pb()
RateLimits = types.RateLimits.pb()
ResumeQueueRequest = types.ResumeQueueRequest.pb()
RetryConfig = types.RetryConfig.pb()
RunTaskRequest = types.RunTaskRequest.pb()
SetIamPolicyRequest = iam_policy_pb2.SetIamPolicyRequest
StackdriverLoggingConfig = types.StackdriverLoggingConfig.pb()
Status = status_pb2.Status
Task = types.Task.pb()
TestIamPermissionsRequest = iam_policy_pb2.TestIamPermissionsRequest
TestIamPermissionsResponse = iam_policy_pb2.TestIamPermissionsResponse
Timestamp = timestamp_pb2.Timestamp
UpdateCmekConfigRequest = types.UpdateCmekConfigRequest.pb()
UpdateQueueRequest = types.UpdateQueueRequest.pb()
UriOverride = types.UriOverride.pb()
WaitOperationRequest = operations_pb2.WaitOperationRequest

BASIC, FULL = 1, 2
LAST_HTTP_METHOD, LAST_SCHEME, LAST_ENFORCE_MODE = 7, 2, 2

Descriptor = descriptor.Descriptor
FieldDescriptor = descriptor.FieldDescriptor
Message = message.Message
DecodeError = message.DecodeError
ParseError = json_format.ParseError
MessageToDict = json_format.MessageToDict
ParseDict = json_format.ParseDict
