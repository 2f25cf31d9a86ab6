"""What the system says of a process, and ports for new ones: what several benchmarks need."""

import os
import socket
from pathlib import Path


def cpu_s(pid: int) -> float:
    """Return the CPU seconds, user and system, that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_bytes(pid: int) -> int:
    """Return the memory that a process holds."""
    pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def peak_bytes() -> int:
    """Return the most memory that this program has held; `ru_maxrss` would count its starter's."""
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])


def descriptors(pid: int) -> int:
    """Count the files and sockets that a process has open."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def children(pid: int) -> list[int]:
    """Return the processes that a process has started and that still run."""
    started = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [int(child) for child in started.split()]


def free_ports(count: int) -> list[int]:
    """Return ports that nothing listens on."""
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]
    finally:
        for probe in probes:
            probe.close()
