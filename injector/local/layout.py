"""What a local run consists of: which programs, on which ports, with which environment."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from injector.clock import Clock, FastClock, SystemClock
from injector.local.programs import Program

USUAL_DEADLINE_S = 120.0
LONGEST_DEADLINE_S = 1800.0
GROUPS = """\
# The queue groups of this local run; a manifest names one of them.
groups:
  local:
    injector_queues: projects/local/locations/us-central1/queues/local-injector
    queues: projects/local/locations/us-central1/queues/local-[00-03]
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalRun:
    """A local run: its folder, its queue groups, its clock and its ports.

    `folder` keeps the ledger, the chunks, the emulator's state and the logs. The clock runs
    `speed` times as fast as the machine's from `origin`, in Unix seconds. `target_port` None
    means that there is no target but the user's own.
    """

    folder: Path
    groups: Path
    origin: float
    speed: float = 1.0
    service_port: int = 8080
    emulator_port: int = 8123
    control_port: int = 8124
    target_port: int | None = 8090
    queues: tuple[str, ...] = field(default=())
    topics: tuple[str, ...] = field(default=())

    @property
    def clock(self) -> Clock:
        """Return the clock that all programs of the run share."""
        return SystemClock() if self.speed == 1 else FastClock(self.speed, self.origin)

    @property
    def service_url(self) -> str:
        """Return the service's base URL."""
        return f"http://127.0.0.1:{self.service_port}"

    @property
    def control_url(self) -> str:
        """Return where the emulator is controlled, and shows what it has."""
        return f"http://127.0.0.1:{self.control_port}"

    @property
    def target_url(self) -> str:
        """Return the target's base URL; empty where there is none."""
        return f"http://127.0.0.1:{self.target_port}" if self.target_port is not None else ""

    @property
    def environment(self) -> Mapping[str, str]:
        """Return what the service and the commands need to work with this run."""
        target = {"INJECTOR_TARGET_URL": self.target_url} if self.target_url else {}
        return {
            "CLOUDTASKS_EMULATOR_HOST": f"127.0.0.1:{self.emulator_port}",
            "INJECTOR_AUTH": "off",
            "INJECTOR_CLOCK_ORIGIN": repr(self.origin),
            "INJECTOR_CLOCK_SPEED": repr(self.speed),
            "INJECTOR_GROUPS": str(self.groups),
            "INJECTOR_LEDGER_URL": f"sqlite:///{self.folder / 'ledger.db'}",
            "INJECTOR_SERVICE_URL": self.service_url,
            "INJECTOR_STORE_URL": str(self.folder / "chunks"),
            **target,
            "PUBSUB_EMULATOR_HOST": f"127.0.0.1:{self.emulator_port}",
        }

    def programs(self) -> Iterator[Program]:
        """Yield the programs in the order in which they start."""
        if self.target_port is not None:
            yield self._target(self.target_port)
        yield self._emulator()
        yield self._service()

    def _target(self, port: int) -> Program:
        return Program(
            name="target",
            command=_python(
                *("-m", "injector.local.target", str(port), str(self.folder / "deliveries.log")),
                f"127.0.0.1:{self.emulator_port}",
                *(subscription_of(topic) for topic in self.topics),
            ),
            log=self._log("target"),
            ready_url=f"{self.target_url}/tally",
        )

    def _emulator(self) -> Program:
        queues = (part for queue in self.queues for part in ("--queue", queue))
        topics = (part for topic in self.topics for part in _topic(topic))
        return Program(
            name="emulator",
            command=_injector(
                "emulator",
                *("--port", str(self.emulator_port)),
                *("--control-port", str(self.control_port)),
                *("--speed", repr(self.speed), "--origin", repr(self.origin)),
                *("--dynamics", "faithful"),
                *("--state-file", str(self.folder / "emulator.db")),
                *queues,
                *topics,
            ),
            log=self._log("emulator"),
            ready_url=f"{self.control_url}/healthz",
        )

    def _service(self) -> Program:
        return Program(
            name="service",
            command=_injector("serve"),
            log=self._log("service"),
            ready_url=f"{self.service_url}/readyz",
            env={
                **self.environment,
                "INJECTOR_PORT": str(self.service_port),
                "INJECTOR_DISPATCH_DEADLINE_S": repr(self._dispatch_deadline_s),
                "INJECTOR_MONITORING": "on" if _monitoring_is_installed() else "off",
            },
        )

    @property
    def _dispatch_deadline_s(self) -> float:
        """Give a fan-out the time that this machine needs, which is longer by a fast clock."""
        return min(LONGEST_DEADLINE_S, USUAL_DEADLINE_S * max(1.0, self.speed))

    def _log(self, name: str) -> Path:
        return self.folder / f"{name}.log"


def subscription_of(topic: str) -> str:
    """Name the subscription by which the target gets a topic's messages."""
    return f"{topic.replace('/topics/', '/subscriptions/')}-target"


def _topic(topic: str) -> tuple[str, ...]:
    return "--topic", topic, "--subscription", f"{subscription_of(topic)}={{topic: {topic}}}"


def _monitoring_is_installed() -> bool:
    """Tell whether the emulator can be asked how queues stand: by the client's library."""
    return find_spec("google.cloud") is not None and (
        find_spec("google.cloud.monitoring_v3") is not None
    )


def _injector(*arguments: str) -> tuple[str, ...]:
    return _python("-m", "injector", *arguments)


def _python(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, *arguments)
