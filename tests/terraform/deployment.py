"""What a deployment has come to, once applied."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

from tests.terraform.google_stub import GoogleStub
from tests.terraform.workspace import Workspace

Values = Mapping[str, object]

QUEUE = "google_cloud_tasks_queue"
NOTHING, CHANGES = 0, 2
"""How a plan ends that was asked for its verdict."""


@contextmanager
def drifted(google: GoogleStub, queue: str, block: str, values: Values) -> Iterator[None]:
    """Let reading a queue find something else than what was applied."""

    def drift(kind: str, state: Values) -> Values:
        if kind != QUEUE or state["name"] != queue:
            return state
        return state | {block: [state[block][0] | values]}

    google.provider.drift = drift
    yield
    google.provider.drift = lambda _, state: state


@dataclass(frozen=True)
class Deployment:
    """An example that has been applied: its resources, as terraform's state has them."""

    workspace: Workspace

    @classmethod
    def of(cls, workspace: Workspace, *variables: str) -> "Deployment":
        """Apply it."""
        outcome = workspace.run("apply", "-auto-approve", "-input=false", *variables)
        assert outcome.code == 0, outcome.said
        assert "Warning" not in outcome.said, outcome.said
        return cls(workspace)

    @cached_property
    def state(self) -> Values:
        """Return what `terraform show` says of the state."""
        return json.loads(self.workspace.run("show", "-json").output)["values"]

    @cached_property
    def outputs(self) -> Values:
        """Return the outputs; those of an output that is the whole module, if there is one."""
        found = {name: output["value"] for name, output in self.state["outputs"].items()}
        return found.get("injector", found)

    @cached_property
    def resources(self) -> list[Values]:
        """Return all resources, those of the example and those of the module."""
        root = self.state["root_module"]
        return [*root.get("resources", []), *root["child_modules"][0]["resources"]]

    def all(self, kind: str) -> Mapping[str, Values]:
        """Return the resources of a type by their address in the module."""
        return {
            resource["address"].removeprefix("module.injector."): resource["values"]
            for resource in self.resources
            if resource["type"] == kind
        }

    def one(self, kind: str) -> Values:
        """Return the only resource of a type."""
        (found,) = self.all(kind).values()
        return found
