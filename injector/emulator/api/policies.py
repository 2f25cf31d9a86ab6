"""IAM policies of queues; nobody's access is checked against them."""

import re
from hashlib import blake2b

from injector.emulator.api import masks, messages, paths
from injector.emulator.api.refusals import invalid
from injector.emulator.api.service import Service
from injector.emulator.rpc import Code, RpcError

_MOST_PERMISSIONS = 100
_CONDITIONAL = 3
_VERSIONS = (0, 1, _CONDITIONAL)
_is_role = re.compile(r"(?:(?:projects|organizations)/[^/]+/)?roles/[\w.]+").fullmatch
_is_member = re.compile(
    r"allUsers|allAuthenticatedUsers|principal(?:Set)?://.+|project(?:Owner|Editor|Viewer):.+"
    r"|domain:.+|(?:deleted:)?(?:user|serviceAccount|group):.+|deleted:principal(?:Set)?://.+"
).fullmatch


def get_iam_policy(service: Service, request: messages.GetIamPolicyRequest) -> messages.Policy:
    """Return a queue's policy; an empty one if none was set."""
    service.queue(request.resource)
    asked = request.options.requested_policy_version
    _check_version("GetPolicyOptions.requestedPolicyVersion", asked)
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
    service.set_policy(request.resource, _stamped(policy))
    return policy


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
    _check_version("Policy.version", policy.version)
    for binding in policy.bindings:
        if not _is_role(binding.role):
            raise invalid(f"Role {binding.role} is not supported for this resource.")
        for member in binding.members:
            if not _is_member(member):
                raise invalid(f"Invalid member '{member}': it must be of the form 'type:id'.")
        if binding.HasField("condition") and policy.version != _CONDITIONAL:
            raise invalid("A policy whose bindings have conditions must be of version 3.")


def _check_version(name: str, version: int) -> None:
    if version not in _VERSIONS:
        raise invalid(f"{name} must be 0, 1 or 3.")


def _stamped(policy: messages.Policy) -> messages.Policy:
    policy.ClearField("etag")
    policy.etag = blake2b(policy.SerializeToString(), digest_size=8).digest()
    return policy
