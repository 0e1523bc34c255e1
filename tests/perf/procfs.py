"""What processes cost, read from /proc by the same code for all of them."""

import contextlib
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PROC: Final = Path("/proc")
TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
KIB: Final = 1024


@dataclass(frozen=True, slots=True)
class Reading:
    """The counters at one moment: at on time.monotonic's scale, the rest in CPU seconds since their start.

    others: all CPU seconds that this machine gave to anybody else, or its host took away.
    capacity: all that there were, idle ones included.
    """

    at: float
    contestant: float
    api_server: float
    etcd: float
    bench: float
    others: float
    capacity: float


@dataclass(frozen=True, slots=True)
class Meter:
    """Knows whose counters to read. contestant: 0 before it is started."""

    servers: Mapping[str, int]
    contestant: int = 0

    def read(self) -> Reading:
        at = time.monotonic()
        busy, capacity = _machine_s()
        contestant = cpu_s(self.contestant) if self.contestant else 0.0
        api_server, etcd = (cpu_s(self.servers[name]) for name in ("kube-apiserver", "etcd"))
        bench = time.process_time()
        others = busy - contestant - api_server - etcd - bench
        return Reading(at, contestant, api_server, etcd, bench, others, capacity)


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of a process and its children. peak: the most that each ever had (VmHWM). proportional: now, and what
    several processes share is counted once in all (PSS)."""

    resident: int
    peak: int
    proportional: int


def cpu_s(pid: int) -> float:
    """User and system time of a process, of its children, and of those of them that have ended."""
    ticks = 0
    for each in _tree(pid):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a child may end at any time
            fields = (PROC / str(each) / "stat").read_text().rpartition(")")[2].split()
            ticks += sum(int(fields[index]) for index in (11, 12, 13, 14))
    return ticks / TICKS_PER_S


def memory(pid: int) -> Memory:
    """Not cheap: the kernel walks every page."""
    resident = peak = proportional = 0
    for each in _tree(pid):
        folder = PROC / str(each)
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            lines = _amounts((folder / "status").read_text())
            resident += lines["VmRSS"]
            peak += lines["VmHWM"]
            proportional += _amounts((folder / "smaps_rollup").read_text())["Pss"]
    return Memory(resident, peak, proportional)


def cpu_model() -> str:
    lines = (PROC / "cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown model")


def memory_of_machine() -> int:
    """Bytes."""
    return _amounts((PROC / "meminfo").read_text())["MemTotal"]


def _amounts(text: str) -> dict[str, int]:
    """The lines that read `Name:  123 kB`, in bytes."""
    words = (line.split() for line in text.splitlines() if line.endswith(" kB"))
    return {name.rstrip(":"): int(kib) * KIB for name, kib, _ in words}


def _tree(pid: int) -> list[int]:
    children: list[int] = []
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for thread in (PROC / str(pid) / "task").iterdir():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread may end at any time
                children += map(int, (thread / "children").read_text().split())
    return [pid, *(each for child in children for each in _tree(child))]


def _machine_s() -> tuple[float, float]:
    """CPU seconds that this machine's cores were busy, or taken by its host; and all there were."""
    with (PROC / "stat").open() as stat:
        user, nice, system, idle, waiting, *interrupts_and_steal = map(int, stat.readline().split()[1:9])
    busy = user + nice + system + sum(interrupts_and_steal)
    return busy / TICKS_PER_S, (busy + idle + waiting) / TICKS_PER_S
