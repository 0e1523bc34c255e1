"""What every bench found: a line of JSON for each workload of each run of the command, never changed afterwards."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from statistics import median
from typing import Final

import msgspec

from tests.controlplane.fixtures import REPOSITORY

HISTORY: Final = REPOSITORY / "docs" / "performance" / "history.jsonl"


class Quantity(StrEnum):
    """What is measured. Per pod means: per pod that could be bound. A MB is 10^6 bytes."""

    PODS_PER_S = "pods_per_s"
    """To the last Event, from the first change of a pod that was seen."""
    BINDS_PER_S = "binds_per_s"
    """To the last bind."""
    START_S = "start_s"
    """From the start of the process to the first change."""
    EVENTS_BEHIND_S = "events_behind_s"
    """From the last bind to the last Event."""
    CPU_MS = "cpu_ms"
    """Of the contestant, per pod, from the first change to the last Event."""
    CPU_WITH_START_MS = "cpu_with_start_ms"
    """The same, since the process began."""
    PEAK_MB = "peak_mb"
    PSS_MB = "pss_mb"
    API_SERVER_CPU_MS = "api_server_cpu_ms"
    ETCD_CPU_MS = "etcd_cpu_ms"
    BENCH_CPU_MS = "bench_cpu_ms"
    OTHERS_PERCENT = "others_percent"
    """Of all CPU time that there was, what went to processes outside of the run."""
    EVENTS = "events"
    LEFT_OUT = "left_out"
    ARRIVED_PER_S = "arrived_per_s"
    BIND_P50_S = "bind_p50_s"
    """From when a pod came to its bind, as the watch saw both."""
    BIND_P99_S = "bind_p99_s"
    BIND_MAX_S = "bind_max_s"
    EVENT_P50_S = "event_p50_s"
    """From a pod's bind to its Event."""
    EVENT_P99_S = "event_p99_s"
    EVENT_MAX_S = "event_max_s"
    EVENT_END_S = "event_end_s"
    """Of the last pod that was bound."""
    SETTLED_MB = "settled_mb"
    READ_MB = "read_mb"
    """Settled after reading, before anything was scheduled."""


class Run(msgspec.Struct, frozen=True):
    """One turn of one contestant. round: those of one round were measured one after the other."""

    round: int
    contestant: str
    numbers: Mapping[Quantity, float]


class Around(msgspec.Struct, frozen=True):
    """Where and with what. commit: ends with + if the tree had changes. notes: what else a reader must know."""

    date: str
    commit: str
    cores: int
    cpu: str
    memory_gib: float
    versions: Mapping[str, str]
    command: str
    notes: Mapping[str, str]


class Record(msgspec.Struct, frozen=True):
    """One line. is_whole: of the size that the table of workloads says, by all its contestants."""

    workload: str
    says: str
    nodes: int
    pods: int
    is_whole: bool
    around: Around
    runs: Sequence[Run]
    medians: Mapping[str, Mapping[Quantity, float]]

    @property
    def is_empty(self) -> bool:
        """Nobody had a turn, so it says nothing."""
        return not self.runs

    def numbers(self, contestant: str, quantity: Quantity) -> Sequence[float]:
        """In the order of the rounds; empty if it had no turn, or this was not measured."""
        runs = [run for run in self.runs if run.contestant == contestant and quantity in run.numbers]
        return [run.numbers[quantity] for run in sorted(runs, key=lambda run: run.round)]

    def median(self, contestant: str, quantity: Quantity) -> float | None:
        return self.medians.get(contestant, {}).get(quantity)

    def ratio(self, quantity: Quantity, above: str, below: str) -> float | None:
        """The median of the ratios within each round; None if they were not both there."""
        pairs = zip(self.numbers(above, quantity), self.numbers(below, quantity), strict=False)
        ratios = [a / b for a, b in pairs if b]
        return median(ratios) if ratios else None


_ENCODER: Final = msgspec.json.Encoder()
_DECODER: Final = msgspec.json.Decoder(Record)


def medians(runs: Iterable[Run]) -> Mapping[str, Mapping[Quantity, float]]:
    found: dict[str, dict[Quantity, list[float]]] = {}
    for run in runs:
        for quantity, number in run.numbers.items():
            found.setdefault(run.contestant, {}).setdefault(quantity, []).append(number)
    return {who: {what: median(numbers) for what, numbers in each.items()} for who, each in found.items()}


def append(path: Path, record: Record) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(_ENCODER.encode(record) + b"\n")


def read(path: Path = HISTORY) -> list[Record]:
    """The oldest first; empty if there is none yet."""
    return [_DECODER.decode(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def latest(records: Iterable[Record]) -> Iterator[Record]:
    """Of each workload the newest line that is whole and says something, in the order in which they first came."""
    newest = {record.workload: record for record in records if record.is_whole and not record.is_empty}
    yield from newest.values()
