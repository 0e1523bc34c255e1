"""A cluster in which anything happens to nodes, Devices and pods, out of one seed; and Pods that ask about it."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Final

from koordpy.scheduler.outcome import Placed
from koordpy.testing import CycleHarness, build_profile, device_manifest, gpu, node_manifest, pod_manifest, read_object
from koordpy_api.koordinator import GPU, GPU_CORE, GPU_MEMORY, GPU_MEMORY_RATIO, NVIDIA_GPU
from koordpy_api.objects import Device, Node, Pod

Args = Mapping[str, Mapping[str, Any]]

RATIO: Final = {"shape": [{"utilization": 0, "score": 0}, {"utilization": 70, "score": 10}]}
MORE: Final = [{"name": "cpu", "weight": 3}, {"name": "memory", "weight": 1}, {"name": "acme.io/port", "weight": 2}]
ADDED: Final = {
    "requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "disk", "operator": "NotIn", "values": ["tape"]}]}]
    }
}
PROFILES: Final[Sequence[Args]] = (
    {},
    {
        "NodeResourcesFit": {"scoringStrategy": {"type": "MostAllocated", "resources": MORE}},
        "DeviceShare": {"scoringStrategy": {"type": "MostAllocated"}},
        "NodeAffinity": {"addedAffinity": ADDED},
    },
    {
        "NodeResourcesFit": {
            "scoringStrategy": {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": RATIO},
            "ignoredResourceGroups": ["acme.io"],
        },
    },
)
"""Arguments of plugins, by name."""

IMAGES: Final = {"web:1": 300 * 2**20, "db:2": 1200 * 2**20, "tiny:latest": 2**20}
EFFECTS: Final = ("NoSchedule", "NoExecute", "PreferNoSchedule")
HUGE: Final = 2**70
ASKS: Final[Sequence[Mapping[str, str | int]]] = (
    {},
    {"cpu": "500m", "memory": "1Gi"},
    {"cpu": 4},
    {"cpu": "100m", "ephemeral-storage": "10Gi"},
    {"cpu": 1, "acme.io/port": 2},
    {"memory": "40Gi", "acme.io/other": 1},
    {GPU_CORE: 50, GPU_MEMORY_RATIO: 50},
    {GPU_CORE: 25, GPU_MEMORY: "4Gi", "cpu": 1},
    {GPU_MEMORY_RATIO: 30},
    {GPU: 100},
    {GPU: 200, "memory": "1Gi"},
    {GPU: 50},
    {NVIDIA_GPU: 1},
    {NVIDIA_GPU: 3, "cpu": 2},
    {GPU_CORE: 150, GPU_MEMORY_RATIO: 150},
    {"memory": HUGE},
)


class Life:
    """What exists. Equal seeds live equally."""

    def __init__(self, seed: int, nodes: int = 24) -> None:
        self.rng = Random(seed)
        self.harness = CycleHarness((), build_profile(args=PROFILES[seed % len(PROFILES)]), seed)
        self._nodes: dict[str, Node] = {}
        self._devices: dict[str, Device] = {}
        self._pods: list[Pod] = []
        self._placed: list[Placed] = []
        self._count = 0
        self.askers = [self._pod(f"asker-{number}") for number in range(12)]
        for _ in range(nodes):
            self._node_comes()

    def happen(self) -> None:
        """One thing."""
        things = (
            (8, self._pod_is_placed),
            (3, self._placement_is_undone),
            (3, self._pod_of_others_comes),
            (3, self._pod_goes),
            (3, self._node_changes),
            (2, self._device_changes),
            (1, self._node_comes),
            (1, self._node_goes),
        )
        (thing,) = self.rng.choices([each for _, each in things], [weight for weight, _ in things])
        thing()

    # -- what happens ------------------------------------------------------------------------------------------------

    def _pod_is_placed(self) -> None:
        outcome = self.harness.schedule(self._pod(self._name("placed")))
        if isinstance(outcome, Placed):
            self._placed.append(outcome)

    def _placement_is_undone(self) -> None:
        if self._placed:
            self.harness.forget(self._placed.pop(self.rng.randrange(len(self._placed))))

    def _pod_of_others_comes(self) -> None:
        pod = self._pod(self._name("other"), node=self.rng.choice([*self._nodes, "unknown"]))
        self._pods.append(pod)
        self.harness.add(pod)

    def _pod_goes(self) -> None:
        if self._pods:
            self.harness.delete(self._pods.pop(self.rng.randrange(len(self._pods))))

    def _node_comes(self) -> None:
        name = self._name("n")
        self._nodes[name] = self._node(name)
        if self.rng.random() < 0.7:
            self._devices[name] = self._device(name)
            self.harness.add(self._devices[name])
        self.harness.add(self._nodes[name])

    def _node_changes(self) -> None:
        name = self.rng.choice([*self._nodes])
        new = self._node(name)
        self.harness.update(self._nodes[name], new)
        self._nodes[name] = new

    def _node_goes(self) -> None:
        if len(self._nodes) > 18:
            self.harness.delete(self._nodes.pop(self.rng.choice([*self._nodes])))

    def _device_changes(self) -> None:
        name = self.rng.choice([*self._nodes])
        old, new = self._devices.pop(name, None), self._device(name)
        if old is None:
            self.harness.add(new)
        elif self.rng.random() < 0.2:
            self.harness.delete(old)
            return
        else:
            self.harness.update(old, new)
        self._devices[name] = new

    # -- what things look like ---------------------------------------------------------------------------------------

    def _name(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}-{self._count}"

    def _some(self, *few: Any, most: int = 2) -> list[Any]:
        return self.rng.sample(few, min(self.rng.randrange(most + 1), len(few)))

    def _node(self, name: str) -> Node:
        rng = self.rng
        labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": rng.choice("ab")}
        labels |= {"disk": rng.choice(["ssd", "tape", "7"])} if rng.random() < 0.6 else {}
        extended: dict[str, str | int] = {"ephemeral-storage": rng.choice(["0", "20Gi", "100Ti"])}
        extended |= dict(self._some(("acme.io/port", 4), (NVIDIA_GPU, rng.randrange(5)), ("acme.io/other", 0), most=3))
        taints = [{"key": key, "effect": rng.choice(EFFECTS)} for key in self._some("gpu", "old")]
        manifest = node_manifest(
            name,
            cpu=rng.choice(["0", "500m", "2", "8", "64"]),
            memory=rng.choice(["1Gi", "32Gi", "32Gi", "500Gi", str(HUGE)]),
            pods=rng.choice([0, 2, 110, 110]),
            extended=extended,
            labels=labels,
            taints=taints if rng.random() < 0.5 else [],
            unschedulable=rng.random() < 0.1,
            images=dict(self._some(*IMAGES.items())),
        )
        return read_object(Node, manifest)

    def _device(self, name: str) -> Device:
        rng = self.rng
        memory = rng.choice(["16Gi", "80Gi"])
        cards = [
            gpu(minor, uuid=f"GPU-{name}-{minor}", memory=memory, health=rng.random() < 0.9)
            for minor in range(rng.choice([0, 1, 2, 4, 8]))
        ]
        return read_object(Device, device_manifest(name, cards))

    def _pod(self, name: str, node: str = "") -> Pod:
        rng = self.rng
        requests = rng.choice(ASKS[:-1]) if rng.random() < 0.97 else ASKS[-1]
        ports = [{"hostPort": port, "containerPort": port} for port in self._some(80, 81, most=1)]
        container = {"image": rng.choice([*IMAGES, "unknown"]), "requests": requests, "ports": ports}
        manifest = pod_manifest(name, uid=f"uid-{name}", containers=[container], node=node)
        tolerations = [{"key": key, "operator": "Exists"} for key in self._some("gpu", "old", "")]
        manifest["spec"] |= {"tolerations": tolerations} if rng.random() < 0.5 else {}
        manifest["spec"] |= (
            {"nodeSelector": {"topology.kubernetes.io/zone": rng.choice("abc")}} if self._rarely() else {}
        )
        manifest["spec"] |= {"affinity": {"nodeAffinity": self._affinity()}} if rng.random() < 0.5 else {}
        if node == "" and self._rarely():
            manifest["spec"]["nodeName"] = rng.choice([*self._nodes, "unknown"]) if self._nodes else ""
        return read_object(Pod, manifest)

    def _rarely(self) -> bool:
        return self.rng.random() < 0.1

    def _affinity(self) -> dict[str, Any]:
        rng = self.rng
        expression = {"key": "disk", "operator": rng.choice(["In", "NotIn"]), "values": ["ssd", "nvme"]}
        terms = [{"matchExpressions": [each]} for each in (expression, {"key": "disk", "operator": "Exists"})]
        preferred = [{"weight": rng.randrange(1, 100), "preference": term} for term in self._some(*terms)]
        required = {"nodeSelectorTerms": [rng.choice(terms)]}
        found: dict[str, Any] = {"preferredDuringSchedulingIgnoredDuringExecution": preferred}
        return found | ({"requiredDuringSchedulingIgnoredDuringExecution": required} if rng.random() < 0.3 else {})
