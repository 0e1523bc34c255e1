"""All who change a cluster beside the scheduler: users, kubelets, another scheduler, administrators, and what breaks.

Each act is one of ACTS by name and draws everything from the Random that it is handed, so a seed is a story.
"""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, Final

from koordpy.cluster.embedded.cluster import EmbeddedCluster
from koordpy.cluster.embedded.faults import Answer, Fault
from koordpy.cluster.protocol import BindRequest
from koordpy.errors import ApiError
from koordpy.testing import device_manifest, gpu, node_manifest, pod_manifest
from koordpy_api.koordinator import DEVICE_ALLOCATED, GPU_CORE, GPU_MEMORY_RATIO, NVIDIA_GPU
from koordpy_api.objects import Device, Kind, Node, Pod

Document = dict[str, Any]
NAMESPACE: Final = "default"
OURS: Final = "koordpy-scheduler"
FOREIGN: Final = "somebody-else"
CARDS: Final = 4

SHAPES: Final[Sequence[Mapping[str, str]]] = (
    {"cpu": "500m", "memory": "256Mi"},
    {"cpu": "2"},
    {GPU_CORE: "50", GPU_MEMORY_RATIO: "50"},
    {GPU_CORE: "30", GPU_MEMORY_RATIO: "30"},
    {NVIDIA_GPU: "1"},
    {NVIDIA_GPU: "2"},
    {},
)
FAULTS: Final[Sequence[tuple[str, Sequence[Answer]]]] = (
    ("bind pods", ("lost", "dropped", 403, 404, 409, 409, 429, 500, 503, "")),
    ("bind pods", ("lost", "dropped", 409, 409)),
    ("get pods", (500, "dropped", "lost")),
    ("patch pods/status", ("lost", "dropped", 500, 409)),
    ("create events", (429, 500, "dropped")),
    ("watch pods", ("dropped", 410, 500, "")),
    ("watch nodes", ("dropped", 410, "")),
    ("watch devices", ("dropped", 410, "")),
    ("list pods", (500, "dropped")),
)


class Actors:
    """nodes, pods: how many there may be at most."""

    def __init__(self, cluster: EmbeddedCluster, nodes: int, pods: int) -> None:
        self.cluster, self._nodes, self._pods = cluster, nodes, pods
        self._store = cluster.store
        self._born = 0

    def act(self, name: str, rng: Random) -> bool:
        """Do it; was it possible?"""
        try:
            return ACTS[name](self, rng)
        except ApiError:
            return False

    def calm(self) -> None:
        """Nothing breaks any more."""
        self.cluster.faults.clear()

    def documents(self, kind: Kind) -> list[Document]:
        return [each.document for each in self._store.list(kind).items]

    # -- users and kubelets ------------------------------------------------------------------------------------------

    def pod_comes(self, rng: Random) -> bool:
        if len(self.documents(Pod.KIND)) >= self._pods:
            return False
        self._born += 1
        # Now and then a name that was there before.
        name = f"p-{rng.randrange(self._born) if rng.random() < 0.2 else self._born}"
        shape = rng.choice(SHAPES)
        scheduler = FOREIGN if rng.random() < 0.2 else OURS
        containers = [{"requests": dict(shape), "limits": dict(shape)}]
        manifest = pod_manifest(name, containers=containers, scheduler_name=scheduler, priority=rng.choice([0, 0, 10]))
        self._store.create(Pod.KIND, NAMESPACE, manifest)
        return True

    def pod_goes(self, rng: Random) -> bool:
        return self._with_pod(rng, lambda pod: True, lambda name: self._store.delete(Pod.KIND, NAMESPACE, name))

    def pod_ends(self, rng: Random) -> bool:
        phase = rng.choice(["Succeeded", "Failed"])
        return self._with_pod(rng, _is_bound, lambda name: self._status(name, {"phase": phase}))

    def pod_is_resized(self, rng: Random) -> bool:
        has = {"requests": {"cpu": f"{rng.randrange(1, 30) * 100}m"}}
        status = [{"name": "main", "resources": has, "allocatedResources": {"cpu": "100m"}}]
        return self._with_pod(rng, _is_bound, lambda name: self._status(name, {"containerStatuses": status}))

    def annotation_breaks(self, rng: Random) -> bool:
        text = rng.choice(['{"gpu":[{"minor":0,', "[]", None])
        patch = {"metadata": {"annotations": {DEVICE_ALLOCATED: text}}}
        return self._with_pod(rng, _has_cards, lambda name: self._store.patch(Pod.KIND, NAMESPACE, name, patch))

    # -- another scheduler -------------------------------------------------------------------------------------------

    def somebody_else_binds(self, rng: Random) -> bool:
        if not (nodes := self.documents(Node.KIND)):
            return False
        node = rng.choice(nodes)["metadata"]["name"]

        def takes(pod: Document) -> bool:
            return not _is_bound(pod) and (pod["spec"]["schedulerName"] == FOREIGN or rng.random() < 0.1)

        return self._with_pod(rng, takes, lambda name: self._store.bind(BindRequest(NAMESPACE, name, "", node)))

    # -- administrators and agents -----------------------------------------------------------------------------------

    def node_comes_or_changes(self, rng: Random) -> bool:
        name = f"n-{rng.randrange(self._nodes)}"
        labels = {"topology.kubernetes.io/zone": f"z{rng.randrange(3)}"}
        manifest = node_manifest(
            name, cpu=rng.choice([2, 4, 8]), pods=20, labels=labels, unschedulable=rng.random() < 0.1
        )
        images = [
            {"names": [f"image-{number}"], "sizeBytes": rng.randrange(10**9)} for number in range(rng.randrange(3))
        ]
        manifest["status"]["images"] = images
        return self._put(Node.KIND, manifest)

    def node_goes(self, rng: Random) -> bool:
        self._store.delete(Node.KIND, "", f"n-{rng.randrange(self._nodes)}")
        return True

    def device_comes_or_changes(self, rng: Random) -> bool:
        name = f"n-{rng.randrange(self._nodes)}"
        cards = [
            gpu(minor, uuid=f"GPU-{name}-{minor}", health=rng.random() < 0.95)
            for minor in range(CARDS)
            if rng.random() < 0.95
        ]
        return self._put(Device.KIND, device_manifest(name, cards))

    def device_goes(self, rng: Random) -> bool:
        self._store.delete(Device.KIND, "", f"n-{rng.randrange(self._nodes)}")
        return True

    # -- what breaks -------------------------------------------------------------------------------------------------

    def something_breaks(self, rng: Random) -> bool:
        request, answers = rng.choice(FAULTS)
        answer = rng.choice(answers)
        delay_s = rng.choice([0.0, 0.2, 2.0]) if answer else rng.choice([0.05, 0.5, 3.0])
        retry_after_s = 1.0 if answer == 429 else None
        self.cluster.faults.add(Fault(request, answer, delay_s, rng.randrange(1, 4), retry_after_s))
        return True

    def all_is_well_again(self, rng: Random) -> bool:
        self.calm()
        return True

    # -- inside ------------------------------------------------------------------------------------------------------

    def _with_pod(self, rng: Random, takes: Callable[[Document], bool], act: Callable[[str], object]) -> bool:
        names = sorted(pod["metadata"]["name"] for pod in self.documents(Pod.KIND) if takes(pod))
        if not names:
            return False
        act(rng.choice(names))
        return True

    def _status(self, name: str, status: Document) -> None:
        self._store.patch(Pod.KIND, NAMESPACE, name, {"status": status}, subresource="status")

    def _put(self, kind: Kind, manifest: Document) -> bool:
        name = manifest["metadata"]["name"]
        if name in {each["metadata"]["name"] for each in self.documents(kind)}:
            status = manifest.pop("status", None)
            self._store.patch(kind, "", name, manifest)
            if status is not None:
                self._store.patch(kind, "", name, {"status": status}, subresource="status")
        else:
            self._store.create(kind, "", manifest)
        return True


def _is_bound(pod: Document) -> bool:
    return bool(pod["spec"].get("nodeName")) and pod["status"].get("phase") not in ("Succeeded", "Failed")


def _has_cards(pod: Document) -> bool:
    return _is_bound(pod) and DEVICE_ALLOCATED in pod["metadata"].get("annotations", {})


ACTS: Final[Mapping[str, Callable[[Actors, Random], bool]]] = {
    "pod comes": Actors.pod_comes,
    "pod goes": Actors.pod_goes,
    "pod ends": Actors.pod_ends,
    "pod is resized": Actors.pod_is_resized,
    "annotation breaks": Actors.annotation_breaks,
    "somebody else binds": Actors.somebody_else_binds,
    "node comes or changes": Actors.node_comes_or_changes,
    "node goes": Actors.node_goes,
    "device comes or changes": Actors.device_comes_or_changes,
    "device goes": Actors.device_goes,
    "something breaks": Actors.something_breaks,
    "all is well again": Actors.all_is_well_again,
}
WEIGHTS: Final[Mapping[str, float]] = {
    "pod comes": 40,
    "pod goes": 8,
    "pod ends": 16,
    "pod is resized": 3,
    "annotation breaks": 0.3,
    "somebody else binds": 8,
    "node comes or changes": 6,
    "node goes": 0.7,
    "device comes or changes": 6,
    "device goes": 0.7,
    "something breaks": 3,
    "all is well again": 1,
}
"""How often each is done in a soak."""
