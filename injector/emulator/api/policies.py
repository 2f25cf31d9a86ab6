"""IAM policies of queues; nobody's access is checked against them."""

from hashlib import blake2b

from injector.emulator.api import masks, messages, paths
from injector.emulator.api.refusals import invalid
from injector.emulator.api.service import Service
from injector.emulator.rpc import Code, RpcError

_MOST_PERMISSIONS = 100


def get_iam_policy(service: Service, request: messages.GetIamPolicyRequest) -> messages.Policy:
    """Return a queue's policy; an empty one if none was set."""
    service.queue(request.resource)
    return service.policies.get(request.resource) or _stamped(messages.Policy())


def set_iam_policy(service: Service, request: messages.SetIamPolicyRequest) -> messages.Policy:
    """Replace a queue's policy, or the fields of the mask, unless it changed meanwhile (etag)."""
    before = get_iam_policy(service, messages.GetIamPolicyRequest(resource=request.resource))
    policy = messages.Policy()
    policy.CopyFrom(request.policy)
    if policy.etag and policy.etag != before.etag:
        raise RpcError(
            Code.ABORTED,
            "There were concurrent policy changes. Please retry the whole read-modify-write "
            "with exponential backoff.",
        )
    policy = _masked(policy, before, list(request.update_mask.paths))
    _check(policy)
    service.policies[request.resource] = _stamped(policy)
    return service.policies[request.resource]


def test_iam_permissions(
    service: Service, request: messages.TestIamPermissionsRequest
) -> messages.TestIamPermissionsResponse:
    """Return the permissions asked for: all of them, or none if there is no such queue."""
    paths.location_of_queue(request.resource)
    if len(request.permissions) > _MOST_PERMISSIONS:
        raise invalid("At most 100 permissions can be tested at once.")
    if any("*" in permission for permission in request.permissions):
        raise invalid("Permissions with wildcards are not allowed.")
    known = request.resource in service.registry.queues
    return messages.TestIamPermissionsResponse(permissions=request.permissions if known else [])


def _masked(policy: messages.Policy, before: messages.Policy, paths: list[str]) -> messages.Policy:
    """Return the policy before with the fields of the mask replaced; without one, the new one."""
    if not paths or paths == ["*"]:
        return policy
    merged = messages.Policy()
    merged.CopyFrom(before)
    masks.copy_fields(policy, merged, paths)
    return merged


def _check(policy: messages.Policy) -> None:
    if policy.version not in (0, 1, 3):
        raise invalid("Policy.version must be 0, 1 or 3.")
    if any(not binding.role for binding in policy.bindings):
        raise invalid("Policy.bindings need a role.")


def _stamped(policy: messages.Policy) -> messages.Policy:
    policy.ClearField("etag")
    policy.etag = blake2b(policy.SerializeToString(), digest_size=8).digest()
    return policy
