"""The service, as the command line talks to it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast
from uuid import uuid4

from injector.clock import Clock, SystemClock

if TYPE_CHECKING:
    import requests

Json = dict[str, object]

ATTEMPTS = 5
PAGE = 200
CREATED = 201


@dataclass(frozen=True, slots=True)
class Service:
    """The service at a base URL; `identity` returns the token that shows who asks, or nothing.

    Tries `attempts` times in all what was not taken, with growing, jittered waits that
    `announce` is told of. All calls may be repeated: a job is registered once however often it
    is sent, and other changes carry a key under which they are made once.
    """

    url: str
    identity: Callable[[], str] = lambda: ""
    clock: Clock = field(default_factory=SystemClock)
    announce: Callable[[str], None] = lambda _: None
    attempts: int = ATTEMPTS

    def register(
        self, manifest: Json, staged: Json, *, parent: str = "", keeps_names: bool = False
    ) -> tuple[Json, bool]:
        """Register the job; return it, and whether it is new.

        `parent` is the job whose records it sends again, by the same names or by new ones.
        """
        body: Json = {"manifest": manifest, "staged": staged}
        if parent:
            body |= {"parent": parent, "keeps_names": keeps_names}
        answer = self._ask("POST", "/jobs", json=body)
        return _object(answer), answer.status_code == CREATED

    def act(self, job: str, act: str, **body: object) -> Json:
        """Do something with the job, such as pause; return what the service then shows."""
        return _object(self._ask("POST", f"/jobs/{job}/{act}", json=dict(body), once=True))

    def change(self, job: str, changes: Json) -> Json:
        """Change settings of the job and return it."""
        return _object(self._ask("PATCH", f"/jobs/{job}", json=changes, once=True))

    def remove(self, job: str) -> None:
        """Remove a job that has ended."""
        self._ask("DELETE", f"/jobs/{job}", once=True)

    def audit(self, job: str) -> Iterator[Json]:
        """Yield the newest changes of the job first, page by page."""
        return self._pages(f"/jobs/{job}/audit", "changes", {})

    def manifest(self, job: str) -> Json:
        """Return the manifest that the job was submitted with."""
        return _object(self._ask("GET", f"/jobs/{job}/manifest"))

    def summary(self, job: str) -> Json:
        """Return the job accounted for as a whole."""
        return _object(self._ask("GET", f"/jobs/{job}/summary"))

    def groups(self) -> list[Json]:
        """Return the groups."""
        return cast("list[Json]", _object(self._ask("GET", "/groups"))["groups"])

    def queues(self, group: str) -> list[Json]:
        """Return the queues of a group as they are now; raises NotFound."""
        found = _object(self._ask("GET", f"/groups/{group}/queues"))
        return cast("list[Json]", found["queues"])

    def rights(self, group: str) -> list[Json]:
        """Return what the service may not do with the group's queues and its store."""
        return cast("list[Json]", _object(self._ask("GET", f"/groups/{group}/rights"))["lacks"])

    def job(self, job: str) -> Json:
        """Return the job; raises NotFound."""
        return _object(self._ask("GET", f"/jobs/{job}"))

    def jobs(self, state: str = "", staging: str = "") -> Iterator[Json]:
        """Yield the jobs, page by page; of one state, or with their chunks in that folder."""
        query = {"state": state, "staging": staging}
        return self._pages("/jobs", "jobs", {name: text for name, text in query.items() if text})

    def rejects(self, job: str) -> Iterator[Json]:
        """Yield the records of a job that were refused for good, page by page."""
        return self._pages(f"/jobs/{job}/rejects", "rejects", {})

    def report(self, job: str, *, first: int, chunks: int, every: bool) -> bytes:
        """Return what became of the records of some chunks, as JSON lines.

        Of every record, or of those that were not plainly created.
        """
        query = {"first": str(first), "chunks": str(chunks), "all": str(every).lower()}
        return self._ask("GET", f"/jobs/{job}/report", params=query).content

    def health(self) -> "requests.Response":
        """Return whether the service answers and its ledger too, whatever it says."""
        from injector.cli import asking  # noqa: PLC0415  (slow, and only asking needs it)

        return asking.health(self.url, self._headers())

    def group(self, name: str) -> Json:
        """Return the group; raises NotFound."""
        return _object(self._ask("GET", f"/groups/{name}"))

    def operate(self, group: str, kind: str, spec: Json) -> tuple[Json, bool]:
        """Begin an operation on the group; return it, and whether it is new."""
        body: Json = {"kind": kind, "spec": spec}
        answer = self._ask("POST", f"/groups/{group}/operations", json=body)
        return _object(answer), answer.status_code == CREATED

    def plan(self, group: str, kind: str, spec: Json) -> Json:
        """Return what an operation on the group would do."""
        body: Json = {"kind": kind, "spec": spec}
        return _object(self._ask("POST", f"/groups/{group}/plans", json=body))

    def operations(self, group: str = "") -> list[Json]:
        """Return the newest operations first, of one group or of all."""
        query = {"group": group} if group else {}
        found = _object(self._ask("GET", "/operations", params=query))
        return cast("list[Json]", found["operations"])

    def operation(self, operation: str) -> Json:
        """Return the operation; raises NotFound."""
        return _object(self._ask("GET", f"/operations/{operation}"))

    def steer(self, operation: str, act: str) -> Json:
        """Pause, resume or cancel the operation, and return it."""
        return _object(self._ask("POST", f"/operations/{operation}/{act}", json={}, once=True))

    def _pages(self, path: str, key: str, query: Mapping[str, str]) -> Iterator[Json]:
        after: object = None
        while True:
            page = {**query, "limit": str(PAGE)} | ({} if after is None else {"after": str(after)})
            answer = _object(self._ask("GET", path, params=page))
            yield from cast("list[Json]", answer[key])
            after = answer.get("next")
            if after is None:
                return

    def _ask(
        self,
        method: str,
        path: str,
        *,
        json: Json | None = None,
        params: Mapping[str, str] | None = None,
        once: bool = False,
    ) -> "requests.Response":
        """Ask, again if need be; what is marked `once` is done once however often it is sent."""
        from injector.cli import asking  # noqa: PLC0415  (slow, and only asking needs it)

        headers = self._headers()
        if once:
            headers["Idempotency-Key"] = uuid4().hex
        return asking.ask(
            asking.Call(self.url, method, path, headers, json, params),
            attempts=self.attempts,
            sleep=self.clock.sleep,
            announce=self.announce,
        )

    def _headers(self) -> dict[str, str]:
        """Say who asks; raises Misused where the token that is needed cannot be had."""
        token = self.identity()
        return {"Authorization": f"Bearer {token}"} if token else {}


def _object(answer: "requests.Response") -> Json:
    from injector.cli.asking import object_of  # noqa: PLC0415  (loaded when it was asked)

    return object_of(answer)
