"""Random clusters from a seed, as cases in the form of tests/parity."""

from collections.abc import Mapping
from random import Random
from typing import Any, Final

from tests.differential.wishes import (
    EFFECTS,
    IMAGES,
    LABELS,
    NOT_ON_A_SERVER,
    SCALARS,
    TAINT_KEYS,
    TAINT_VALUES,
    Part,
    Wishes,
    chance,
    some,
    some_with,
)
from tests.parity.frame import Case

PLUGINS: Final = (
    *("NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit"),
    *("NodeResourcesBalancedAllocation", "ImageLocality"),
)
"""The node-local default plugins, in the default order."""

CASES_PER_PROFILE: Final = 50
"""Making a profile costs as much as many cases do."""

NODE_CPU: Final = ("0", "1", "2", "4", "3900m", "16", "64")
NODE_MEMORY: Final = ("0", "1Gi", "6Gi", "8Gi", "8000Mi", "64Gi", "12345678901", "32Gi")
NODE_SCALARS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(SCALARS, ("0", "4", "8")),
    "hugepages-2Mi": ("0", "64Mi", "1Gi"),
    "ephemeral-storage": ("0", "10Gi", "100Gi"),
    "kubernetes.io/batch": ("1000", "4000"),
}
HUGE: Final = ("60Ti", "70Ti", "60Pi", "70Pi")
"""About the most that a column holds and beyond it, but not so much that a hundredfold is more than 64 bits."""

TREES: Final = (
    *("ash", "beech", "birch", "cedar", "elm", "fir", "hazel", "holly", "larch", "lime", "maple", "oak", "pear"),
    *("pine", "plum", "poplar", "rowan", "spruce", "willow", "yew"),
)


def case_of(seed: int, number: int, valid: bool = False) -> Case:
    """The same seed and number always give the same case. valid: only what an API server lets in."""
    rng = Random(f"{seed}/{number}")
    names = rng.sample(TREES, rng.randint(5, len(TREES)))
    wishes = Wishes(rng, names, valid)
    pods = [wishes.running(rng.choice(names)) for _ in range(rng.randint(0, 40))]
    return {
        "id": f"{seed}/{number}",
        "plugins": list(PLUGINS),
        "args": args_of(Random(f"{seed}/profile {number // CASES_PER_PROFILE}")),
        "nodes": {name: _node(rng, valid) for name in names},
        "pods": [pod | {"name": f"p{place}"} for place, pod in enumerate(pods)],
        "pod": wishes.incoming(),
    }


def _node(rng: Random, valid: bool) -> Part:
    node: Part = {"cpu": rng.choice(NODE_CPU[0 if chance(rng, 0.1) else 1 :])}
    node["memory"] = rng.choice(NODE_MEMORY[0 if chance(rng, 0.1) else 1 :])
    if chance(rng, 0.02):
        node["memory"] = rng.choice(HUGE)
    if chance(rng, 0.2):
        node["pods"] = rng.randint(0, 5)
    scalars = some_with(rng, NODE_SCALARS, 0.35)
    for name in NOT_ON_A_SERVER if valid else ():
        scalars.pop(name, None)
    if chance(rng, 0.02):
        scalars["acme.io/npu"] = rng.choice(HUGE[: 2 if valid else None])
    node |= {"ephemeral-storage": scalars.pop("ephemeral-storage")} if "ephemeral-storage" in scalars else {}
    optional = {
        "ext": scalars,
        "labels": some_with(rng, LABELS, 0.5),
        "taints": [_taint(key, rng) for key in some(rng, TAINT_KEYS, 2)] if chance(rng, 0.3) else [],
        "unschedulable": chance(rng, 0.1),
        "images": {image: IMAGES[image] for image in some(rng, list(IMAGES), 3)},
    }
    return node | {field: value for field, value in optional.items() if value}


def _taint(key: str, rng: Random) -> Part:
    taint = {"key": key, "effect": rng.choice(EFFECTS)}
    return taint | ({"value": value} if (value := rng.choice(TAINT_VALUES)) else {})


# -- a profile's args --------------------------------------------------------------------------------------------------


def args_of(rng: Random) -> Mapping[str, Any]:
    makers = {
        "NodeResourcesFit": _fit,
        "NodeResourcesBalancedAllocation": lambda rng: {"resources": _resources(rng, weights=(1,))},
        "NodeAffinity": _added,
    }
    return {plugin: args for plugin, make in makers.items() if chance(rng, 0.6) and (args := make(rng))}


def _fit(rng: Random) -> Part:
    kind = rng.choice(("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"))
    strategy: Part = {"type": kind, "resources": _resources(rng, weights=(1, 1, 2, 5, 100))}
    if kind == "RequestedToCapacityRatio":
        strategy["requestedToCapacityRatio"] = {"shape": _shape(rng)}
    args: Part = {"scoringStrategy": strategy}
    if chance(rng, 0.3):
        args["ignoredResources"] = some(rng, ("acme.io/npu", "acme.io/link", "other.io/x"), 2)
    if chance(rng, 0.3):
        args["ignoredResourceGroups"] = some(rng, ("acme.io", "other.io"), 1)
    return args


def _resources(rng: Random, weights: tuple[int, ...]) -> list[Part]:
    """cpu and memory nearly always, and a name that nobody has."""
    chosen = some(rng, [*SCALARS, "nobody.io/y"], 3)
    names = [*(name for name in ("cpu", "memory") if chance(rng, 0.9)), *chosen] or ["cpu"]
    return [{"name": name, "weight": rng.choice(weights)} for name in names]


def _shape(rng: Random) -> list[Part]:
    points = sorted(rng.sample(range(101), rng.randint(1, 4)))
    return [{"utilization": point, "score": rng.randint(0, 10)} for point in points]


def _added(rng: Random) -> Part:
    wishes = Wishes(rng, TREES[:5], valid=True)
    added: Part = {}
    if chance(rng, 0.2):
        added["requiredDuringSchedulingIgnoredDuringExecution"] = {
            "nodeSelectorTerms": [wishes.term() for _ in range(rng.randint(1, 3))]
        }
    if chance(rng, 0.7):
        added["preferredDuringSchedulingIgnoredDuringExecution"] = wishes.preferred()
    return {"addedAffinity": added} if added else {}
