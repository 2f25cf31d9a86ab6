"""Traffic of Cloud Run and App Engine services. Needs the extra `traffic`."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from decimal import Decimal
from functools import cache

import grpc
from google.api_core import exceptions
from google.api_core.operation import Operation
from google.cloud import appengine_admin_v1, run_v2
from google.cloud.appengine_admin_v1.services.services.transports import (
    ServicesGrpcTransport as AppEngineTransport,
)
from google.cloud.run_v2.services.services.transports import ServicesGrpcTransport as RunTransport

from injector.errors import Misused, NotFound, Retryable

CALL_TIMEOUT_S = 20.0
DONE_WITHIN_S = 40.0
_BY_REVISION = run_v2.TrafficTargetAllocationType.TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION
_ROLES = (
    "grant roles/run.developer on a Cloud Run service, roles/appengine.serviceAdmin for App Engine"
)
_AGAIN = (
    exceptions.ServerError,
    exceptions.TooManyRequests,
    exceptions.Aborted,
    exceptions.RetryError,
)


class CloudTraffic:
    """Reads and sets how the traffic of a service is split; each client is made once needed."""

    def __init__(
        self,
        run: Callable[[], run_v2.ServicesClient] = run_v2.ServicesClient,
        app_engine: Callable[
            [], appengine_admin_v1.ServicesClient
        ] = appengine_admin_v1.ServicesClient,
    ) -> None:
        self._opened = ExitStack()
        self._run = cache(lambda: self._opened.enter_context(run()))
        self._app_engine = cache(lambda: self._opened.enter_context(app_engine()))

    def close(self) -> None:
        """Close the connections of the clients that were made."""
        self._opened.close()

    def split(self, service: str) -> Mapping[str, Decimal]:
        """Return the percent of each version that gets any."""
        with _told(service):
            if service.startswith("apps/"):
                found = self._app_engine().get_service(
                    request={"name": service}, timeout=CALL_TIMEOUT_S
                )
                shares = found.split.allocations.items()
                return {name: _percent(share) for name, share in shares if share}
            return _of_run(self._run().get_service(name=service, timeout=CALL_TIMEOUT_S))

    def set_split(self, service: str, split: Mapping[str, Decimal], *, shard_by: str) -> None:
        """Split the traffic, and wait until that is done; nothing else of the service changes."""
        with _told(service):
            if service.startswith("apps/"):
                self._set_app_engine(service, split, shard_by)
            else:
                self._set_run(service, split)

    def _set_run(self, service: str, split: Mapping[str, Decimal]) -> None:
        client = self._run()
        found = client.get_service(name=service, timeout=CALL_TIMEOUT_S)
        tags = [
            run_v2.TrafficTarget(type_=each.type_, revision=each.revision, tag=each.tag)
            for each in found.traffic
            if each.tag
        ]
        shares = [
            run_v2.TrafficTarget(type_=_BY_REVISION, revision=name, percent=int(percent))
            for name, percent in split.items()
        ]
        changed = run_v2.Service(name=service, etag=found.etag, traffic=[*shares, *tags])
        request = {"service": changed, "update_mask": {"paths": ["traffic"]}}
        _wait(client.update_service(request=request, timeout=CALL_TIMEOUT_S))

    def _set_app_engine(self, service: str, split: Mapping[str, Decimal], shard_by: str) -> None:
        shares = {name: float(percent / 100) for name, percent in split.items()}
        changed = {"split": {"allocations": shares, "shard_by": shard_by.upper()}}
        request = {"name": service, "service": changed, "update_mask": {"paths": ["split"]}}
        _wait(self._app_engine().update_service(request=request, timeout=CALL_TIMEOUT_S))


def traffic_at(host: str) -> CloudTraffic:
    """Return what splits the traffic of Google's platforms, or of what stands in for them."""
    if not host:
        return CloudTraffic()
    channel = grpc.insecure_channel(host)
    return CloudTraffic(
        lambda: run_v2.ServicesClient(transport=RunTransport(channel=channel)),
        lambda: appengine_admin_v1.ServicesClient(transport=AppEngineTransport(channel=channel)),
    )


def _of_run(service: run_v2.Service) -> Mapping[str, Decimal]:
    """Return the split by revision; the latest one has the share that goes to the latest."""
    latest = service.latest_ready_revision.rpartition("/")[2]
    found: dict[str, Decimal] = {}
    for target in service.traffic:
        if target.percent:
            name = target.revision if target.type_ == _BY_REVISION else latest
            found[name] = found.get(name, Decimal(0)) + target.percent
    return found or {latest: Decimal(100)}


def _percent(share: float) -> Decimal:
    return (Decimal(str(share)) * 100).quantize(Decimal("0.1")).normalize() + 0


def _wait(operation: Operation) -> None:
    operation.result(timeout=DONE_WITHIN_S)


@contextmanager
def _told(service: str) -> Iterator[None]:
    """Turn the clients' errors into ours."""
    try:
        yield
    except (*_AGAIN, TimeoutError) as error:
        raise Retryable(f"{service}: {error}") from error
    except exceptions.NotFound as error:
        raise NotFound(f"{service} is not there: {error}") from error
    except exceptions.Forbidden as error:
        raise Misused(f"{service} may not be read or changed: {error}; {_ROLES}") from error
    except exceptions.GoogleAPICallError as error:
        raise Misused(f"{service}: {error}") from error
