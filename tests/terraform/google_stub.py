"""hashicorp/google without a cloud: its schema, served to the real terraform by this process.

    with GoogleStub("8.7.0") as google:
        subprocess.run(["terraform", "validate"], env=google.environment)

A stub ignores which version terraform asks for, and keeps nothing: what was applied is in the
state that terraform has. `drift` changes what reading a resource finds, as somebody else would
who changed it.
"""

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from concurrent import futures
from pathlib import Path
from typing import Self

import grpc
import msgpack

from tests.terraform.google_answers import ANSWERS
from tests.terraform.google_rules import broken
from tests.terraform.google_values import UNKNOWN, Value, planned, refused, settled

HERE = Path(__file__).parent
VERSIONS = ("6.50.0", "8.7.0")

_ADDRESS = "registry.terraform.io/hashicorp/google"
_NESTING = {"single": 1, "list": 2, "set": 3, "map": 4, "group": 5}
_ERROR = 1

Drift = Callable[[str, dict[str, object]], Mapping[str, object]]
"""Takes a resource's type and its state, and returns the state that is found."""

pb, rpc = grpc.protos_and_services("tests/terraform/plugin/tfplugin6.proto")


def read_schema(version: str) -> Mapping[str, object]:
    """Return the provider's schema, and the version that the file says it is of."""
    found = json.loads((HERE / "schemas" / f"google-{version}.json").read_text())
    return found["provider_schemas"][_ADDRESS] | {"version": found["x_provider_version"]}


class GoogleStub:
    """A provider that terraform reaches over a socket in a folder of its own."""

    def __init__(self, version: str) -> None:
        self.provider = Provider(read_schema(version))

    def __enter__(self) -> Self:
        """Start to serve."""
        self._folder = tempfile.TemporaryDirectory(prefix="tf")
        self._server = grpc.server(
            futures.ThreadPoolExecutor(8), options=[("grpc.max_send_message_length", -1)]
        )
        rpc.add_ProviderServicer_to_server(self.provider, self._server)
        self._server.add_insecure_port(f"unix:{self._socket}")
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop at once."""
        self._server.stop(0).wait()
        self._folder.cleanup()

    @property
    def _socket(self) -> str:
        return f"{self._folder.name}/s"

    @property
    def environment(self) -> Mapping[str, str]:
        """Return the environment in which terraform finds this stub, and nothing else."""
        settings = Path(self._folder.name, "terraform.rc")
        settings.write_text("disable_checkpoint = true\n")
        attached = {
            "Protocol": "grpc",
            "ProtocolVersion": 6,
            "Pid": os.getpid(),
            "Test": True,
            "Addr": {"Network": "unix", "String": self._socket},
        }
        return {
            "PATH": os.environ["PATH"],
            "HOME": self._folder.name,
            "CHECKPOINT_DISABLE": "1",
            "TF_CLI_CONFIG_FILE": str(settings),
            "TF_IN_AUTOMATION": "1",
            "TF_REATTACH_PROVIDERS": json.dumps({_ADDRESS: attached}),
        }


class Provider(rpc.ProviderServicer):
    """Answers terraform. Its methods have the protocol's names."""

    def __init__(self, schema: Mapping[str, object]) -> None:
        self.schema = schema
        self.drift: Drift = lambda _, state: state

    def GetProviderSchema(self, _request, _context):  # noqa: N802
        return pb.GetProviderSchema.Response(
            provider=_schema_message(self.schema["provider"]),
            resource_schemas=_schema_messages(self.schema["resource_schemas"]),
            data_source_schemas=_schema_messages(self.schema["data_source_schemas"]),
        )

    def ValidateProviderConfig(self, _request, _context):  # noqa: N802
        return pb.ValidateProviderConfig.Response()

    def ConfigureProvider(self, _request, _context):  # noqa: N802
        return pb.ConfigureProvider.Response()

    def ValidateDataResourceConfig(self, _request, _context):  # noqa: N802
        return pb.ValidateDataResourceConfig.Response()

    def StopProvider(self, _request, _context):  # noqa: N802
        return pb.StopProvider.Response()

    def ValidateResourceConfig(self, request, _context):  # noqa: N802
        kind, config = request.type_name, _decoded(request.config) or {}
        faults = (*refused(self._block(kind), config), *broken(kind, config))
        return pb.ValidateResourceConfig.Response(
            diagnostics=[
                pb.Diagnostic(severity=_ERROR, summary=why, attribute=_path_message(path))
                for path, why in faults
            ]
        )

    def UpgradeResourceState(self, request, _context):  # noqa: N802
        state = json.loads(request.raw_state.json)
        return pb.UpgradeResourceState.Response(upgraded_state=_encoded(state))

    def ReadResource(self, request, _context):  # noqa: N802
        state = self.drift(request.type_name, _decoded(request.current_state))
        return pb.ReadResource.Response(new_state=_encoded(state))

    def ReadDataSource(self, request, _context):  # noqa: N802
        block = self.schema["data_source_schemas"][request.type_name]["block"]
        plan = planned(block, _decoded(request.config), None)
        state = _answered(block, plan, request.type_name)
        return pb.ReadDataSource.Response(state=_encoded(state))

    def PlanResourceChange(self, request, _context):  # noqa: N802
        wanted = _decoded(request.proposed_new_state)
        if wanted is not None:
            prior = _decoded(request.prior_state)
            wanted = planned(self._block(request.type_name), wanted, prior)
        return pb.PlanResourceChange.Response(planned_state=_encoded(wanted))

    def ApplyResourceChange(self, request, _context):  # noqa: N802
        state = _decoded(request.planned_state)
        if state is not None:
            state = _answered(self._block(request.type_name), state, request.type_name)
        return pb.ApplyResourceChange.Response(new_state=_encoded(state))

    def _block(self, kind: str) -> Value:
        return self.schema["resource_schemas"][kind]["block"]


def _answered(block: Value, plan: Value, kind: str) -> Value:
    known = ANSWERS.get(kind, lambda _: {})
    asked = {name: value for name, value in plan.items() if value != UNKNOWN}
    return settled(block, plan, known(asked), kind=kind)


def _schema_messages(schemas: Mapping[str, Mapping[str, object]]) -> Mapping[str, object]:
    return {name: _schema_message(schema) for name, schema in schemas.items()}


def _schema_message(schema: Mapping[str, object]) -> object:
    return pb.Schema(version=schema.get("version", 0), block=_block_message(schema["block"]))


def _block_message(block: Value) -> object:
    return pb.Schema.Block(
        attributes=[
            pb.Schema.Attribute(
                name=name,
                type=json.dumps(attribute["type"]).encode(),
                **{flag: attribute.get(flag, False) for flag in _FLAGS},
            )
            for name, attribute in block.get("attributes", {}).items()
        ],
        block_types=[
            pb.Schema.NestedBlock(
                type_name=name,
                block=_block_message(inner["block"]),
                nesting=_NESTING[inner["nesting_mode"]],
                min_items=inner.get("min_items", 0),
                max_items=inner.get("max_items", 0),
            )
            for name, inner in block.get("block_types", {}).items()
        ],
    )


_FLAGS = ("required", "optional", "computed", "sensitive", "write_only")


def _path_message(path: Iterable[str | int]) -> object:
    steps = [
        pb.AttributePath.Step(attribute_name=step)
        if isinstance(step, str)
        else pb.AttributePath.Step(element_key_int=step)
        for step in path
    ]
    return pb.AttributePath(steps=steps)


def _decoded(value: object) -> dict[str, object] | None:
    if value.msgpack:
        return msgpack.unpackb(value.msgpack, ext_hook=lambda *_: UNKNOWN, strict_map_key=False)
    return json.loads(value.json) if value.json else None


def _encoded(value: object) -> object:
    return pb.DynamicValue(msgpack=msgpack.packb(value))
