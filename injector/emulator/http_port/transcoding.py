"""REST (v2 JSON) as calls of the gRPC methods, by the API's own HTTP rules."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from injector.emulator.api import messages
from injector.emulator.api.methods import METHODS, TASKS
from injector.emulator.http_port.unreadable import unreadable
from injector.emulator.rpc import Code, RpcError

_QUEUE = "projects/*/locations/*/queues/*"
_LOCATION = "projects/*/locations/*"
_OPERATION = "projects/*/locations/*/operations/*"
_OPERATIONS = "/google.longrunning.Operations/"
_LOCATIONS = "/google.cloud.location.Locations/"
_INTEGERS = "enum-encoding=int"
_STANDARD = frozenset(
    {
        "access_token",
        "alt",
        "callback",
        "fields",
        "key",
        "oauth_token",
        "prettyPrint",
        "quotaUser",
        "uploadType",
        "upload_protocol",
        "userIp",
    }
)
"""Parameters that every Google API takes, beside those with `$`; they change nothing here."""

HTTP_STATUS = {
    Code.CANCELLED: 499,
    Code.UNKNOWN: 500,
    Code.INVALID_ARGUMENT: 400,
    Code.DEADLINE_EXCEEDED: 504,
    Code.NOT_FOUND: 404,
    Code.ALREADY_EXISTS: 409,
    Code.PERMISSION_DENIED: 403,
    Code.RESOURCE_EXHAUSTED: 429,
    Code.FAILED_PRECONDITION: 400,
    Code.ABORTED: 409,
    Code.OUT_OF_RANGE: 400,
    Code.UNIMPLEMENTED: 501,
    Code.INTERNAL: 500,
    Code.UNAVAILABLE: 503,
    Code.DATA_LOSS: 500,
    Code.UNAUTHENTICATED: 401,
}


@dataclass(frozen=True, slots=True)
class Rule:
    """One HTTP rule: what is sent where is a call of which method.

    `body` is the field that the HTTP body is; `*` means the whole request, empty none.
    """

    verb: str
    pattern: re.Pattern[str]
    method: str
    response: type[messages.Message]
    body: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """A gRPC call that stands for an HTTP request."""

    method: str
    request: bytes
    response: type[messages.Message]
    integers: bool

    def json(self, answer: bytes) -> dict[str, object]:
        """Return the answer as JSON, enums by name unless numbers were asked for."""
        message = self.response.FromString(answer)
        return messages.MessageToDict(message, use_integers_for_enums=self.integers)


def transcode(verb: str, path: str, query: Mapping[str, str], body: object) -> Call:
    """Return the call that an HTTP request is.

    Raises RpcError if there is no such method, or body or parameters do not fit it.
    """
    for rule in _RULES:
        match = rule.pattern.fullmatch(path)
        if match is not None and rule.verb == verb:
            given = {name: query[name] for name in query if not _is_standard(name)}
            tree = _tree(rule, match.groupdict(), given, body)
            request = _request(rule, tree, parameters=frozenset(given))
            integers = _INTEGERS in query.get("$alt", "")
            return Call(rule.method, request, rule.response, integers)
    raise RpcError(Code.NOT_FOUND, f"Method not found: {verb} {path}")


def error_json(error: RpcError) -> dict[str, object]:
    """Return an error as the JSON API has it."""
    status = messages.Status.FromString(error.details)
    details = messages.MessageToDict(status).get("details", [])
    shown: dict[str, object] = {
        "code": HTTP_STATUS.get(error.code, 500),
        "message": error.message,
        "status": error.code.name,
    }
    return {"error": {**shown, "details": details} if details else shown}


def _tree(
    rule: Rule, path: Mapping[str, str], query: Mapping[str, str], body: object
) -> dict[str, object]:
    tree: dict[str, object] = {}
    if rule.body == "*" and isinstance(body, dict):
        tree.update(body)
    elif rule.body:
        tree[rule.body] = body if isinstance(body, dict) else {}
    for name, value in query.items():
        tree[name] = _camel(value) if name in ("updateMask", "update_mask") else value
    for name, value in path.items():
        _put(tree, name.split("__"), value)
    return tree


def _put(tree: dict[str, object], path: list[str], value: str) -> None:
    inner = tree
    for name in path[:-1]:
        below = inner.setdefault(name, {})
        if not isinstance(below, dict):
            return
        inner = below
    inner[path[-1]] = value


def _camel(mask: str) -> str:
    return re.sub(r"_([a-z0-9])", lambda match: match[1].upper(), mask)


def _is_standard(name: str) -> bool:
    return name.startswith("$") or name in _STANDARD


def _request(rule: Rule, tree: dict[str, object], *, parameters: frozenset[str]) -> bytes:
    message = METHODS[rule.method].request()
    try:
        messages.ParseDict(tree, message)
    except (messages.ParseError, TypeError, ValueError, AttributeError) as error:
        raise unreadable(error, parameters=parameters) from error
    return message.SerializeToString()


def _rule(text: str, method: str, response: type[messages.Message], body: str = "") -> Rule:
    """Read a rule such as `GET {name=projects/*}/locations`."""
    verb, _, template = text.partition(" ")
    pattern = re.sub(r"\{([a-z_.]+)=([^}]+)\}", _group, template)
    return Rule(verb, re.compile(f"/v2/{pattern}"), method, response, body)


def _group(match: re.Match[str]) -> str:
    inner = match[2].replace("*", "[^/]+?")
    return f"(?P<{match[1].replace('.', '__')}>{inner})"


_RULES = (
    _rule(f"GET {{parent={_LOCATION}}}/queues", TASKS + "ListQueues", messages.ListQueuesResponse),
    _rule(f"POST {{parent={_LOCATION}}}/queues", TASKS + "CreateQueue", messages.Queue, "queue"),
    _rule(f"GET {{name={_QUEUE}}}", TASKS + "GetQueue", messages.Queue),
    _rule(f"PATCH {{queue.name={_QUEUE}}}", TASKS + "UpdateQueue", messages.Queue, "queue"),
    _rule(f"DELETE {{name={_QUEUE}}}", TASKS + "DeleteQueue", messages.Empty),
    _rule(f"POST {{name={_QUEUE}}}:purge", TASKS + "PurgeQueue", messages.Queue, "*"),
    _rule(f"POST {{name={_QUEUE}}}:pause", TASKS + "PauseQueue", messages.Queue, "*"),
    _rule(f"POST {{name={_QUEUE}}}:resume", TASKS + "ResumeQueue", messages.Queue, "*"),
    _rule(f"POST {{resource={_QUEUE}}}:getIamPolicy", TASKS + "GetIamPolicy", messages.Policy, "*"),
    _rule(f"POST {{resource={_QUEUE}}}:setIamPolicy", TASKS + "SetIamPolicy", messages.Policy, "*"),
    _rule(
        f"POST {{resource={_QUEUE}}}:testIamPermissions",
        TASKS + "TestIamPermissions",
        messages.TestIamPermissionsResponse,
        "*",
    ),
    _rule(f"GET {{parent={_QUEUE}}}/tasks", TASKS + "ListTasks", messages.ListTasksResponse),
    _rule(f"POST {{parent={_QUEUE}}}/tasks", TASKS + "CreateTask", messages.Task, "*"),
    _rule(
        f"POST {{parent={_QUEUE}}}/tasks:batchCreate",
        TASKS + "BatchCreateTasks",
        messages.Operation,
        "*",
    ),
    _rule(
        f"POST {{parent={_QUEUE}}}/tasks:batchDelete",
        TASKS + "BatchDeleteTasks",
        messages.Operation,
        "*",
    ),
    _rule(f"GET {{name={_QUEUE}/tasks/*}}", TASKS + "GetTask", messages.Task),
    _rule(f"DELETE {{name={_QUEUE}/tasks/*}}", TASKS + "DeleteTask", messages.Empty),
    _rule(f"POST {{name={_QUEUE}/tasks/*}}:run", TASKS + "RunTask", messages.Task, "*"),
    _rule(f"GET {{name={_LOCATION}/cmekConfig}}", TASKS + "GetCmekConfig", messages.CmekConfig),
    _rule(
        f"PATCH {{cmek_config.name={_LOCATION}/cmekConfig}}",
        TASKS + "UpdateCmekConfig",
        messages.CmekConfig,
        "cmek_config",
    ),
    _rule(
        "GET {name=projects/*}/locations",
        _LOCATIONS + "ListLocations",
        messages.ListLocationsResponse,
    ),
    _rule(f"GET {{name={_LOCATION}}}", _LOCATIONS + "GetLocation", messages.Location),
    _rule(
        f"GET {{name={_LOCATION}}}/operations",
        _OPERATIONS + "ListOperations",
        messages.ListOperationsResponse,
    ),
    _rule(f"GET {{name={_OPERATION}}}", _OPERATIONS + "GetOperation", messages.Operation),
    _rule(f"DELETE {{name={_OPERATION}}}", _OPERATIONS + "DeleteOperation", messages.Empty),
    _rule(
        f"POST {{name={_OPERATION}}}:cancel", _OPERATIONS + "CancelOperation", messages.Empty, "*"
    ),
    _rule(
        f"POST {{name={_OPERATION}}}:wait", _OPERATIONS + "WaitOperation", messages.Operation, "*"
    ),
)
