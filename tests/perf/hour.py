"""A virtual hour, twice: Pods arrive, run and end on the embedded cluster, and both hours must have gone the same way.

The scheduler is the real one with its default profile; the kubelet is the fake one. Nothing here waits: what is
printed as wall time is work.
"""

import argparse
import asyncio
import cProfile
import hashlib
import itertools
import logging
import pstats
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from random import Random
from typing import Any, Final

from koordpy.clock import LoopClock
from koordpy.cluster.embedded.cluster import EmbeddedCluster
from koordpy.cluster.fake_kubelet import RUNS_FOR, FakeKubelet
from koordpy.config.expand import default_configuration, resolve
from koordpy.framework.build import build_all
from koordpy.framework.registry import Registry
from koordpy.queue.backoff import Backoff
from koordpy.scheduler.scheduler import Scheduler, Surroundings
from koordpy.telemetry.metrics import Metrics
from koordpy.telemetry.problems import ProblemLog
from koordpy.testing import device_manifest, node_manifest, pod_manifest
from koordpy.virtual_time import run
from koordpy_api.koordinator import DEVICE_ALLOCATED, GPU_CORE, GPU_MEMORY_RATIO, NVIDIA_GPU
from koordpy_api.objects import Device, Node, Pod

KINDS: Final = {"Pod": Pod.KIND, "Node": Node.KIND, "Device": Device.KIND}
HOUR_S: Final = 3600.0
CARDS: Final = 8
"""Of a node that has any."""

NODES_PER_CARRIER: Final = 8
"""One node in so many has cards; they are asked for by day and night, and four at once must sometimes wait."""

SHAPES: Final[Sequence[tuple[Mapping[str, str], float]]] = (
    ({"cpu": "2", "memory": "4Gi"}, 6),
    ({"cpu": "8", "memory": "16Gi"}, 3),
    ({"cpu": "2", "memory": "8Gi", GPU_CORE: "25", GPU_MEMORY_RATIO: "25"}, 3),
    ({"cpu": "4", "memory": "16Gi", GPU_CORE: "50", GPU_MEMORY_RATIO: "50"}, 3),
    ({"cpu": "8", "memory": "32Gi", NVIDIA_GPU: "1"}, 3),
    ({"cpu": "16", "memory": "64Gi", NVIDIA_GPU: "4"}, 1),
)
"""What Pods ask for, and how many of them do."""


@dataclass(frozen=True)
class Report:
    """What came of one hour. digest: of every Pod's node and cards. Peaks are of what was bound and had not ended."""

    bound: int
    finished: int
    waiting: int
    attempts: int
    wait_p50_s: float
    wait_p90_s: float
    wait_p99_s: float
    wait_longest_s: float
    peak_pods: int
    peak_cpu: float
    peak_cards: float
    digest: str


@dataclass(frozen=True)
class Size:
    nodes: int
    pods: int
    seed: int


class Ledger:
    """Told of every version of every Pod: who came, was bound and ended when, and what was in use at most."""

    def __init__(self) -> None:
        self.waits_s: dict[str, float] = {}
        self.finished = 0
        self.peak_pods, self.peak_cpu, self.peak_cards = 0, 0.0, 0.0
        self._came: dict[str, float] = {}
        self._holds: dict[str, tuple[float, float]] = {}
        self._cpu = self._cards = 0.0

    def see(self, document: Mapping[str, Any]) -> None:
        name, now = document["metadata"]["name"], asyncio.get_running_loop().time()
        self._came.setdefault(name, now)
        if document["status"].get("phase") in ("Succeeded", "Failed"):
            if name in self._holds:
                self.finished += 1
                self._count(-1, *self._holds.pop(name))
        elif document["spec"].get("nodeName") and name not in self.waits_s:
            self.waits_s[name] = now - self._came[name]
            self._holds[name] = _asked(document)
            self._count(1, *self._holds[name])

    def _count(self, sign: int, cpu: float, cards: float) -> None:
        self._cpu += sign * cpu
        self._cards += sign * cards
        self.peak_pods = max(self.peak_pods, len(self._holds))
        self.peak_cpu = max(self.peak_cpu, self._cpu)
        self.peak_cards = max(self.peak_cards, self._cards)


def _asked(document: Mapping[str, Any]) -> tuple[float, float]:
    """Cores and cards."""
    requests = document["spec"]["containers"][0]["resources"]["requests"]
    return float(requests["cpu"]), float(requests.get(NVIDIA_GPU, 0)) + float(requests.get(GPU_CORE, 0)) / 100


def hour(size: Size) -> Report:
    """One whole hour on an event loop of its own."""
    return run(_hour(size))


async def _hour(size: Size) -> Report:
    rng = Random(f"hour {size.seed}")
    clock = LoopClock()
    cluster = EmbeddedCluster(clock, Random(rng.random()))
    for number in range(size.nodes):
        _create(cluster, node_manifest(f"node-{number:04}", cpu=64, memory="256Gi"))
        if number % NODES_PER_CARRIER == 0:
            _create(cluster, device_manifest(f"node-{number:04}", CARDS))
    metrics, ledger = Metrics(), Ledger()
    problems = ProblemLog(metrics)
    frameworks = build_all(resolve(default_configuration()), Registry(), problems.report)
    scheduler = Scheduler(
        frameworks, Backoff(), Surroundings(cluster, clock, Random(rng.random()), metrics, problems, "hour")
    )
    kubelet = FakeKubelet(cluster, clock, Random(rng.random()))
    running = [
        asyncio.create_task(each)
        for each in (scheduler.run(), kubelet.run(), _watch(cluster, ledger), _arrive(cluster, size, rng))
    ]
    await asyncio.sleep(HOUR_S)
    for each in running:
        if each.done():
            each.result()
        each.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    return _report(cluster, metrics, ledger)


def _create(cluster: EmbeddedCluster, manifest: Mapping[str, Any]) -> None:
    kind = KINDS[manifest["kind"]]
    cluster.store.create(kind, "default" if kind.namespaced else "", manifest)


async def _watch(cluster: EmbeddedCluster, ledger: Ledger) -> None:
    async for change in cluster.store.watch(Pod.KIND, timeout_s=2 * HOUR_S):
        if change.type in ("ADDED", "MODIFIED"):
            ledger.see(change.object.document)


async def _arrive(cluster: EmbeddedCluster, size: Size, rng: Random) -> None:
    """All within the hour, and as evenly as people come; each runs for a minute to twenty."""
    loop = asyncio.get_running_loop()
    shapes, weights = zip(*SHAPES, strict=True)
    for number, moment in enumerate(sorted(rng.uniform(1, HOUR_S) for _ in range(size.pods))):
        await asyncio.sleep(moment - loop.time())
        (requests,) = rng.choices(shapes, weights)
        containers = [{"requests": requests, "limits": requests}]
        runs_for = {RUNS_FOR: f"{rng.randrange(60, 1200)}s"}
        _create(cluster, pod_manifest(f"pod-{number:05}", containers=containers, annotations=runs_for))


def _report(cluster: EmbeddedCluster, metrics: Metrics, ledger: Ledger) -> Report:
    placements = hashlib.sha256()
    waiting = 0
    for stored in cluster.store.list(Pod.KIND).items:
        pod = stored.document
        node, cards = pod["spec"].get("nodeName", ""), pod["metadata"]["annotations"].get(DEVICE_ALLOCATED, "")
        waiting += not node
        placements.update(f"{pod['metadata']['name']} {node} {cards}\n".encode())
    waits = sorted(ledger.waits_s.values())
    samples = itertools.chain.from_iterable(each.samples for each in metrics.registry.collect())
    attempts = sum(each.value for each in samples if each.name == "scheduler_schedule_attempts_total")
    return Report(
        bound=len(waits),
        finished=ledger.finished,
        waiting=waiting,
        attempts=int(attempts),
        wait_p50_s=_percentile(waits, 50),
        wait_p90_s=_percentile(waits, 90),
        wait_p99_s=_percentile(waits, 99),
        wait_longest_s=_percentile(waits, 100),
        peak_pods=ledger.peak_pods,
        peak_cpu=ledger.peak_cpu,
        peak_cards=ledger.peak_cards,
        digest=placements.hexdigest()[:16],
    )


def _percentile(values: Sequence[float], percent: int) -> float:
    return round(values[min(len(values) * percent // 100, len(values) - 1)], 3) if values else 0.0


def main() -> int:
    """Print both hours; 1 if they differ."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--pods", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--profile", action="store_true", help="play one hour, and print where its time went")
    options = parser.parse_args()
    logging.getLogger("koordpy").setLevel(logging.ERROR)
    size = Size(options.nodes, options.pods, options.seed)
    cards = CARDS * -(-size.nodes // NODES_PER_CARRIER)
    print(f"a virtual hour: {size.nodes} nodes, {cards} cards, {size.pods} pods, seed {size.seed}")
    if options.profile:
        with cProfile.Profile() as profile:
            hour(size)
        pstats.Stats(profile).sort_stats("tottime").print_stats(30)
        return 0
    reports = []
    for number in (1, 2):
        began = time.perf_counter()
        reports.append(hour(size))
        print(f"hour {number}: {time.perf_counter() - began:.1f} s of wall time")
    for each in fields(Report):
        values = [getattr(report, each.name) for report in reports]
        print(f"  {each.name:<16} {values[0]}" + ("" if values[0] == values[1] else f", then {values[1]}"))
    print("both hours went the same way" if reports[0] == reports[1] else "the two hours DIFFER")
    return int(reports[0] != reports[1])


if __name__ == "__main__":
    sys.exit(main())
