"""What a random Pod asks for, and the words that Pods, nodes and profiles share, few enough that they often meet."""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, Final

Part = dict[str, Any]

NOT_ON_A_SERVER: Final = frozenset({"kubernetes.io/batch"})
"""Resources that upstream's plugins know what to do with, and an API server lets in nowhere."""

CPU: Final = ("0", "100m", "100m", "250m", "333m", "500m", "1", "1500m", "2", "0.1m", "0.1m", "1.0001")
MEMORY: Final = ("0", "64Mi", "200Mi", "777Mi", "1Gi", "1.5Gi", "2Gi", "1000000000", "100k", "123456789", "0.5")
SCALARS: Final[Mapping[str, Sequence[str]]] = {
    "acme.io/npu": ("0", "1", "2", "3", "8"),
    "acme.io/link": ("1", "100"),
    "other.io/x": ("1", "5"),
    "hugepages-2Mi": ("2Mi", "64Mi", "40Mi"),
    "ephemeral-storage": ("0", "1Gi", "2500Mi", "10Gi"),
    "kubernetes.io/batch": ("1", "1000"),
}
LABELS: Final[Mapping[str, Sequence[str]]] = {
    "zone": ("a", "b", "c"),
    "disk": ("ssd", "hdd", ""),
    "generation": ("1", "2", "12", "007", "old"),
    "acme.io/rack": ("r1", "r2"),
}
TAINT_KEYS: Final = ("gpu", "team", "acme.io/spot", "node.kubernetes.io/unschedulable")
TAINT_VALUES: Final = ("", "a", "b")
EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
IMAGES: Final[Mapping[str, int]] = {
    "registry.example.test/train:1": 3_400_000_000,
    "registry.example.test/train:2": 900_000_000,
    "registry.example.test/serve:latest": 250_000_000,
    "localhost:5000/tool:latest": 30_000_000,
    "registry.example.test/base@sha256:" + "0" * 64: 55_000_000,
}
CALLED: Final = (*IMAGES, "registry.example.test/serve", "localhost:5000/tool", "registry.example.test/none:1")
"""Images as Pods write them: without a tag too."""

IPS: Final = ("", "0.0.0.0", "127.0.0.1", "10.0.0.7")
NUMERIC: Final = ("Gt", "Lt")
NO_NODE: Final = "nowhere"


def chance(rng: Random, share: float) -> bool:
    return rng.random() < share


def some(rng: Random, items: Sequence[Any], most: int) -> list[Any]:
    """Up to `most` different ones, in any order."""
    return rng.sample(list(items), rng.randint(0, min(most, len(items))))


def some_with(rng: Random, words: Mapping[str, Sequence[str]], share: float) -> dict[str, str]:
    return {key: rng.choice(values) for key, values in words.items() if chance(rng, share)}


class Wishes:
    """Random Pods of one cluster. valid: only what an API server lets in."""

    def __init__(self, rng: Random, node_names: Sequence[str], valid: bool) -> None:
        self._rng = rng
        self._names = [*node_names, NO_NODE]
        self._valid = valid

    def running(self, node_name: str) -> Part:
        """A Pod that runs there, whether it fits or not."""
        rng = self._rng
        pod = self._resources() | {"node": node_name}
        return pod | ({"hostPorts": self._ports()} if chance(rng, 0.2) else {})

    def incoming(self) -> Part:
        """The Pod to be placed."""
        rng, pod = self._rng, self._resources()
        may_have: Mapping[str, tuple[float, Callable[[], Any]]] = {
            "tolerations": (0.5, self._tolerations),
            "hostPorts": (0.3, self._ports),
            "nodeSelector": (0.1, lambda: some_with(rng, LABELS, 0.3)),
            "affinity": (0.4, lambda: {"nodeAffinity": self._affinity()}),
            "nodeName": (0.0 if self._valid else 0.04, lambda: rng.choice(self._names)),
        }
        return pod | {field: make() for field, (share, make) in may_have.items() if chance(rng, share)}

    # -- resources -----------------------------------------------------------------------------------------------------

    def _resources(self) -> Part:
        rng = self._rng
        if chance(rng, 0.4):
            pod: Part = {"req": self._requests()}
        else:
            pod = {"containers": [self._container() for _ in range(rng.randint(1, 3))]}
        if chance(rng, 0.25):
            pod["init"] = [self._init() for _ in range(rng.randint(1, 3))]
        if not self._valid and chance(rng, 0.1):
            pod["overhead"] = {"cpu": rng.choice(CPU), "memory": rng.choice(MEMORY)}
        if not self._valid and chance(rng, 0.1):
            pod["podResources"] = some_with(rng, {"cpu": CPU, "memory": MEMORY, "hugepages-2Mi": ("64Mi",)}, 0.6)
        return pod

    def _requests(self) -> dict[str, str]:
        rng = self._rng
        asked = some_with(rng, {"cpu": CPU, "memory": MEMORY}, 0.75)
        asked |= {name: it for name, it in some_with(rng, SCALARS, 0.06).items() if self._may_be(name)}
        if self._valid and "hugepages-2Mi" in asked:
            asked.setdefault("cpu", "100m")  # huge pages alone are refused
        return asked

    def _may_be(self, resource: str) -> bool:
        return not (self._valid and resource in NOT_ON_A_SERVER)

    def _container(self) -> Part:
        container: Part = {"req": self._requests()}
        return container | ({"image": self._rng.choice(CALLED)} if chance(self._rng, 0.6) else {})

    def _init(self) -> Part:
        return self._container() | ({"restart": "Always"} if chance(self._rng, 0.5) else {})

    def _ports(self) -> list[Part]:
        """No two alike, as an API server demands."""
        rng = self._rng
        ports = {}
        for _ in range(rng.randint(1, 3)):
            port = {"port": rng.choice((80, 443, 8080)), "protocol": rng.choice(("TCP", "TCP", "UDP"))}
            port |= {"ip": ip} if (ip := rng.choice(IPS)) else {}
            ports[port["port"], port["protocol"], ip] = port
        return list(ports.values())

    # -- taints and labels ---------------------------------------------------------------------------------------------

    def _tolerations(self) -> list[Part]:
        return [self._toleration() for _ in range(self._rng.randint(1, 3))]

    def _toleration(self) -> Part:
        rng, toleration = self._rng, {}
        if chance(rng, 0.15):
            toleration = {"operator": "Exists"}
        elif chance(rng, 0.4):
            toleration = {"key": rng.choice(TAINT_KEYS), "operator": "Exists"}
        else:
            toleration = {"key": rng.choice(TAINT_KEYS), "value": rng.choice(TAINT_VALUES)}
            toleration |= {"operator": "Equal"} if chance(rng, 0.5) else {}
        return toleration | ({"effect": rng.choice(EFFECTS)} if chance(rng, 0.5) else {})

    def _affinity(self) -> Part:
        rng, affinity = self._rng, {}
        if chance(rng, 0.4):
            affinity["required"] = [self.term(is_read_leniently=not self._valid) for _ in range(rng.randint(1, 3))]
        if chance(rng, 0.7):
            affinity["preferred"] = self.preferred()
        return affinity

    def preferred(self) -> list[Part]:
        rng = self._rng
        return [{"weight": rng.randint(1, 100), "preference": self.term()} for _ in range(rng.randint(1, 3))]

    def term(self, is_read_leniently: bool = False) -> Part:
        """Of a node selector; at times one of nothing, which matches nothing. Required ones may be unreadable."""
        rng, term = self._rng, {}
        if chance(rng, 0.8):
            term["matchExpressions"] = [self._expression(is_read_leniently) for _ in range(rng.randint(1, 2))]
        if chance(rng, 0.2):
            operator = rng.choice(("In", "In", "NotIn"))
            term["matchFields"] = [
                {"key": "metadata.name", "operator": operator, "values": [rng.choice(self._names)]}
                for _ in range(rng.choice((1, 1, 1, 2)))
            ]
        return term

    def _expression(self, is_read_leniently: bool) -> Part:
        rng = self._rng
        key = rng.choice((*LABELS, "unknown"))
        operator = rng.choice(("In", "NotIn", "Exists", "DoesNotExist", *NUMERIC))
        if operator in NUMERIC:
            numbers = ("1", "2", "11", "0011", *(("-4", "x") if is_read_leniently else ()))
            return {"key": "generation", "operator": operator, "values": [rng.choice(numbers)]}
        if operator in ("Exists", "DoesNotExist"):
            return {"key": key, "operator": operator}
        values = some(rng, LABELS.get(key, ("x",)), 2) or ["x"]
        return {"key": key, "operator": operator, "values": values}
