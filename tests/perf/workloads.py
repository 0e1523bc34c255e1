"""What is measured, as a table: how many nodes and pods of which shape, who works on them, and how often.

The same workload has the same objects for everybody who works on it. Names and shapes hang on the number alone.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from koordpy.config.expand import default_configuration, resolve
from koordpy.testing import device_manifest, gpu, node_manifest, pod_manifest
from koordpy_api.koordinator import GPU_CORE, GPU_MEMORY, GPU_MEMORY_RATIO, NVIDIA_GPU

NAMESPACE: Final = "bench"
SCHEDULER_NAME: Final = resolve(default_configuration())[0].scheduler_name
ZONE: Final = "topology.kubernetes.io/zone"
FIRST: Final = "bench-first"
"""The PriorityClass of the pods that never fit."""

Manifest = dict[str, Any]


class Contestant(StrEnum):
    """Who works on a backlog. The ceilings schedule nothing: they write to nodes that were chosen before."""

    KOORDPY = "koordpy"
    KUBE_SCHEDULER = "kube-scheduler"
    CEILING = "ceiling"
    CEILING_OF_BINDS = "ceiling of binds"


class Kind(StrEnum):
    """backlog: all pods are there before anybody starts. steady: they arrive evenly. memory: they are bound already."""

    BACKLOG = "backlog"
    STEADY = "steady"
    MEMORY = "memory"


# -- shapes ------------------------------------------------------------------------------------------------------------


def large_node(number: int) -> Manifest:
    return node_manifest(f"node-{number:05}", cpu="32", memory="256Gi", labels={ZONE: "zone1"})


CARDS: Final = 8
CARD_MEMORY: Final = "80Gi"


def card_node(number: int) -> Manifest:
    return node_manifest(f"node-{number:05}", cpu="96", memory="768Gi")


def card_id(node: int, minor: int) -> str:
    """As long as a real one."""
    return f"GPU-{node:08x}-0000-4000-8000-{minor:012x}"


def cards_of(number: int) -> Manifest:
    devices = [gpu(minor, memory=CARD_MEMORY, uuid=card_id(number, minor)) for minor in range(CARDS)]
    return device_manifest(f"node-{number:05}", devices)


def plain_pod(number: int) -> Manifest:
    return _pod(number, {"cpu": "100m", "memory": "200Mi"})


def pod_of_100(number: int) -> Manifest:
    return _pod(number, {"cpu": f"{51 + number % 100}m", "memory": "200Mi"})


def pod_like_no_other(number: int) -> Manifest:
    return _pod(number, {"cpu": f"{51 + number % 100}m", "memory": f"{200 * 1024 + number // 100}Ki"})


def affine_pod(number: int) -> Manifest:
    """As in upstream's own benchmark of node affinity: every node is in zone1."""
    pod = plain_pod(number)
    zones = {"key": ZONE, "operator": "In", "values": ["zone1", "zone2"]}
    required = {"nodeSelectorTerms": [{"matchExpressions": [zones]}]}
    pod["spec"]["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    return pod


PATTERN: Final = "qqhqqhqwqqhqqhqqthqq"
"""Of 20 pods that ask for cards: q a quarter of one, h a half, w a whole one, t two."""
ASKED: Final[Mapping[str, Mapping[str, str]]] = {
    "q": {GPU_CORE: "25", GPU_MEMORY_RATIO: "25"},
    "h": {GPU_CORE: "50", GPU_MEMORY: "40Gi"},
    "w": {NVIDIA_GPU: "1"},
    "t": {NVIDIA_GPU: "2"},
}
SHARES: Final[Mapping[str, float]] = {"q": 0.25, "h": 0.5, "w": 1, "t": 2}
"""How many cards that is."""


def card_pod(number: int) -> Manifest:
    return _pod(number, {"cpu": "1", "memory": "4Gi", **ASKED[PATTERN[number % len(PATTERN)]]})


def impossible_pod(number: int) -> Manifest:
    """First in the queue, and more than any node has. It asks nobody to make room: koordpy cannot yet."""
    pod = pod_manifest(
        f"never-{number:06}",
        namespace=NAMESPACE,
        requests={"cpu": "64", "memory": "200Mi"},
        scheduler_name=SCHEDULER_NAME,
    )
    pod["spec"]["priorityClassName"] = FIRST
    return pod


def priority_class() -> Manifest:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": FIRST},
        "value": 1_000_000,
        "preemptionPolicy": "Never",
    }


def _pod(number: int, requests: Mapping[str, str]) -> Manifest:
    return pod_manifest(f"pod-{number:06}", namespace=NAMESPACE, requests=dict(requests), scheduler_name=SCHEDULER_NAME)


# -- the table ---------------------------------------------------------------------------------------------------------

_DUEL: Final = (Contestant.KOORDPY, Contestant.KUBE_SCHEDULER)
_WITH_CEILING: Final = (*_DUEL, Contestant.CEILING)
_WITH_BOTH: Final = (*_WITH_CEILING, Contestant.CEILING_OF_BINDS)
_NO_UPSTREAM: Final = (Contestant.KOORDPY, Contestant.CEILING, Contestant.CEILING_OF_BINDS)
_ALONE: Final = (Contestant.KOORDPY,)


@dataclass(frozen=True, slots=True)
class Workload:
    """pods: those that fit. rounds: how often each contestant has its turn, if nobody says otherwise.

    score: the scoringStrategy of NodeResourcesFit and DeviceShare, where it is not the default. rate: pods a second, of
    those that arrive evenly. extra: pods that come when the others are bound, to those that were bound before.
    """

    name: str
    says: str
    nodes: int
    pods: int
    rounds: int
    contestants: tuple[Contestant, ...]
    node: Callable[[int], Manifest] = large_node
    pod: Callable[[int], Manifest] = plain_pod
    device: Callable[[int], Manifest] | None = None
    never_fit: int = 0
    score: str = ""
    kind: Kind = Kind.BACKLOG
    rate: int = 0
    extra: int = 0
    is_whole: bool = field(default=True)

    def objects(self) -> Iterator[Manifest]:
        """All but pods that wait."""
        if self.never_fit:
            yield priority_class()
        yield from map(self.node, range(self.nodes))
        if self.device is not None:
            yield from map(self.device, range(self.nodes))
        if self.kind is Kind.MEMORY:
            for number in range(self.pods):
                pod = self.pod(number)
                pod["spec"]["nodeName"] = self.node(number % self.nodes)["metadata"]["name"]
                yield pod

    def backlog(self) -> Iterator[Manifest]:
        """All pods that wait before anybody starts, the impossible ones first."""
        if self.kind is Kind.BACKLOG:
            yield from map(impossible_pod, range(self.never_fit))
            yield from map(self.pod, range(self.pods))

    def arrivals(self) -> Iterator[Manifest]:
        """All pods that come later."""
        if self.kind is Kind.STEADY:
            yield from map(self.pod, range(self.pods))
        if self.kind is Kind.MEMORY:
            yield from map(self.pod, range(self.pods, self.pods + self.extra))

    def resized(self, nodes: int, pods: int) -> "Workload":
        """Another size, whose results do not count for the page."""
        return replace(
            self, nodes=nodes, pods=pods, is_whole=self.is_whole and (nodes, pods) == (self.nodes, self.pods)
        )

    def smaller(self, divisor: int) -> "Workload":
        """A smoke test's size."""
        shrunk = self.resized(max(self.nodes // divisor, 2), max(self.pods // divisor, 10))
        never_fit, extra = self.never_fit // (divisor // 10), self.extra // divisor
        return replace(shrunk, rate=max(self.rate // 10, 1), never_fit=never_fit, extra=extra)


WORKLOADS: Final[Mapping[str, Workload]] = {
    each.name: each
    for each in (
        Workload("basic", "plain pods, all alike", 5_000, 10_000, 5, _WITH_BOTH),
        Workload("signatures-100", "plain pods of 100 kinds", 5_000, 10_000, 3, _WITH_CEILING, pod=pod_of_100),
        Workload("signatures-all", "plain pods, no two alike", 5_000, 10_000, 3, _WITH_CEILING, pod=pod_like_no_other),
        Workload(
            "node-affinity", "a required node affinity for two zones", 5_000, 5_000, 3, _WITH_CEILING, pod=affine_pod
        ),
        Workload(
            "never-fit", "200 pods that fit nowhere, before plain ones", 5_000, 10_000, 3, _WITH_CEILING, never_fit=200
        ),
        Workload(
            "gpu-shares",
            "quarters, halves, whole cards and pairs, on nodes of 8 cards of 80Gi",
            500,
            8_000,
            3,
            _NO_UPSTREAM,
            node=card_node,
            pod=card_pod,
            device=cards_of,
            score="MostAllocated",
        ),
        Workload(
            "steady",
            "plain pods that arrive evenly, 500 a second",
            5_000,
            30_000,
            1,
            _ALONE,
            kind=Kind.STEADY,
            rate=500,
        ),
        Workload(
            "memory",
            "pods that are bound already, then 1,000 more",
            5_000,
            50_000,
            1,
            _ALONE,
            kind=Kind.MEMORY,
            extra=1_000,
        ),
    )
}
