"""Cloud Run and App Engine as far as their services' traffic goes, for Google's own clients."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field

import grpc
from google.cloud import appengine_admin_v1, run_v2
from google.longrunning.operations_pb2 import Operation

from injector.queues.traffic import CloudTraffic, traffic_at

RUN = "projects/p/locations/l/services/web"
APP = "apps/a/services/web"
RUN_PATH, APP_PATH = "/google.cloud.run.v2.Services/", "/google.appengine.v1.Services/"
BY_REVISION = run_v2.TrafficTargetAllocationType.TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION
TO_LATEST = run_v2.TrafficTargetAllocationType.TRAFFIC_TARGET_ALLOCATION_TYPE_LATEST


class Failure(Exception):
    """A call that ends with a status."""

    def __init__(self, code: grpc.StatusCode) -> None:
        super().__init__(code.name)
        self.code = code


@dataclass
class Platforms(grpc.GenericRpcHandler):
    """A service on each platform, what its traffic was set to, and failures of the next calls."""

    run: run_v2.Service = field(
        default_factory=lambda: run_v2.Service(
            name=RUN,
            etag="e0",
            latest_ready_revision=f"{RUN}/revisions/old",
            traffic=[
                {"type_": TO_LATEST, "percent": 100},
                {"type_": BY_REVISION, "revision": "new", "tag": "canary"},
            ],
        )
    )
    app: appengine_admin_v1.Service = field(
        default_factory=lambda: appengine_admin_v1.Service(
            name=APP, split={"allocations": {"old": 1.0}}
        )
    )
    splits: list[dict[str, float]] = field(default_factory=list)
    failures: list[grpc.StatusCode] = field(default_factory=list)
    update_failures: list[grpc.StatusCode] = field(default_factory=list)

    def service(self, details):
        """Find what answers a call."""
        found = {
            f"{RUN_PATH}GetService": (self._get_run, run_v2.GetServiceRequest),
            f"{RUN_PATH}UpdateService": (self._update_run, run_v2.UpdateServiceRequest),
            f"{APP_PATH}GetService": (self._get_app, appengine_admin_v1.GetServiceRequest),
            f"{APP_PATH}UpdateService": (self._update_app, appengine_admin_v1.UpdateServiceRequest),
        }.get(details.method)
        if found is None:
            return None
        answer, request = found

        def reply(asked, context):
            try:
                return answer(asked)
            except Failure as failure:
                context.abort(failure.code, f"fails as {failure.code.name}")

        return grpc.unary_unary_rpc_method_handler(reply, request.deserialize, _serialized)

    def _get_run(self, request):
        self._check(request.name, RUN)
        return self.run

    def _get_app(self, request):
        self._check(request.name, APP)
        return self.app

    def _update_run(self, request):
        self._check(request.service.name, RUN)
        if self.update_failures:
            raise Failure(self.update_failures.pop(0))
        assert list(request.update_mask.paths) == ["traffic"]
        if request.service.etag != self.run.etag:
            raise Failure(grpc.StatusCode.ABORTED)
        percents = {each.revision: each.percent for each in request.service.traffic if each.percent}
        assert sum(percents.values()) == 100
        self.run.traffic = request.service.traffic
        self.run.etag = f"e{len(self.splits) + 1}"
        self.splits.append(percents)
        return _done(run_v2.Service.pb(self.run))

    def _update_app(self, request):
        self._check(request.name, APP)
        assert list(request.update_mask.paths) == ["split"]
        shares = dict(request.service.split.allocations)
        assert abs(sum(shares.values()) - 1) < 1e-9
        self.app.split = request.service.split
        self.splits.append(shares)
        return _done(appengine_admin_v1.Service.pb(self.app))

    def _check(self, name, own):
        if self.failures:
            raise Failure(self.failures.pop(0))
        if name != own:
            raise Failure(grpc.StatusCode.NOT_FOUND)


def _serialized(message) -> bytes:
    if isinstance(message, Operation):
        return message.SerializeToString()
    return type(message).serialize(message)


def _done(service) -> Operation:
    operation = Operation(name="operations/1", done=True)
    operation.response.Pack(service)
    return operation


@contextmanager
def served() -> Iterator[tuple[Platforms, str]]:
    """Serve both platforms, and give them with their address."""
    fake = Platforms()
    with ThreadPoolExecutor(2) as pool:
        server = grpc.server(pool, handlers=(fake,))
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            yield fake, f"127.0.0.1:{port}"
        finally:
            server.stop(0).wait()


@contextmanager
def platforms() -> Iterator[tuple[Platforms, CloudTraffic]]:
    """Serve both platforms, and give what splits traffic there by Google's clients."""
    with served() as (fake, address), closing(traffic_at(address)) as traffic:
        yield fake, traffic
