"""What `make bench-cycle` works on: a cluster with cards, and what its pods ask for.

*Shape*: a kind is a number; pods of the same kind ask for the same.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from koordpy.testing import gpu, make_device, make_node, make_pod
from koordpy_api.koordinator import (
    DEVICE_ALLOCATED,
    GPU_CORE,
    GPU_MEMORY,
    GPU_MEMORY_RATIO,
    AllocatedDevice,
    encode_device_allocated,
)
from koordpy_api.objects import KubeObject, Pod
from tests.perf.workloads import CARD_MEMORY, CARDS, ZONE, card_id

ZONES: Final = 3
IMAGE: Final = "registry.example.test/model:1"
MIB: Final = 2**20


def objects(nodes: int) -> Iterator[KubeObject]:
    """Nodes in three zones, a tenth of them better avoided, a third with the image; and on a third a pod with a quarter
    of its first card."""
    for number in range(nodes):
        name = f"node-{number:05}"
        more: dict[str, Any] = {"labels": {ZONE: f"zone{number % ZONES}"}}
        if number % 10 == 0:
            more["taints"] = [{"key": "busy", "value": "", "effect": "PreferNoSchedule"}]
        if number % 3 == 0:
            more["images"] = {IMAGE: 900 * MIB}
        yield make_node(name, cpu=96, memory="768Gi", **more)
        yield make_device(name, [gpu(minor, memory=CARD_MEMORY, uuid=card_id(number, minor)) for minor in range(CARDS)])
        if number % 3 == 1:
            yield _there_before(name, card_id(number, 0), number)


def _there_before(node: str, card: str, number: int) -> Pod:
    held = AllocatedDevice(0, {GPU_CORE: 25, GPU_MEMORY: 20 * 2**30, GPU_MEMORY_RATIO: 25}, card)
    annotations = {DEVICE_ALLOCATED: encode_device_allocated({"gpu": [held]})}
    requests = {"cpu": f"{1 + number % 5}", "memory": "8Gi", GPU_CORE: 25, GPU_MEMORY_RATIO: 25}
    return make_pod(f"before-{node}", node=node, requests=requests, annotations=annotations, phase="Running")


# -- what pods ask for: the kind → the rest of a pod -------------------------------------------------------------------


def plain(kind: int) -> dict[str, Any]:
    return {"requests": {"cpu": f"{100 + kind % 100}m", "memory": f"{200 * 1024 + kind // 100}Ki"}}


def cards(kind: int) -> dict[str, Any]:
    """A fifth of a card's cores, and a fifth of its memory or a little more: so little that a run's last pods, where
    no two are alike, are still four a card as its first."""
    return {"requests": {**plain(kind)["requests"], GPU_CORE: "20", GPU_MEMORY: f"{16 * 2**20 + kind}Ki"}}


def everything(kind: int) -> dict[str, Any]:
    """Something for every plugin: also a port, a zone required and one preferred, and an image."""
    port = {"containerPort": 8000, "hostPort": 20_000 + kind % 20_000}
    return {"containers": [{"image": IMAGE, "ports": [port], **cards(kind)}], "affinity": _affinity(kind)}


def _affinity(kind: int) -> dict[str, Any]:
    def term(*zones: int) -> dict[str, Any]:
        values = [f"zone{each % ZONES}" for each in zones]
        return {"matchExpressions": [{"key": ZONE, "operator": "In", "values": values}]}

    return {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term(kind, kind + 1)]},
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": term(kind)}],
        }
    }


Ask = Callable[[int], dict[str, Any]]
ASKS: Final[Mapping[str, Ask]] = {"plain": plain, "cards": cards, "everything": everything}
ROOM: Final[Mapping[str, Callable[[int], int]]] = {
    "plain": lambda nodes: 109 * nodes,  # 110 pods a node, and one may be there
    "cards": lambda nodes: (4 * CARDS - 1) * nodes,  # four a card, but of the first one of some nodes
    "everything": lambda nodes: nodes // 2,  # those with the same port need a node each, and only in their zones
}
"""So many pods surely fit on so many nodes."""
