"""kube-scheduler, kinds filter, score and schedule: the real plugins on the real framework and cache, no cluster."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from koordpy.errors import ConfigError
from koordpy.framework.registry import Registry
from koordpy.framework.runner import Framework
from koordpy.scheduler.outcome import NotPlaced
from koordpy.testing import CycleHarness, build_profile
from koordpy_api import Code, CycleState, NodeInfo, Status
from koordpy_api.objects import Pod
from tests.parity.frame import Case, Legend, Outcome, Waiting, compare
from tests.parity.readers.short_form import existing_pods_of, nodes_of, pod_of

CODES: Final = {Code.UNSCHEDULABLE: "U", Code.UNSCHEDULABLE_AND_UNRESOLVABLE: "UU", Code.ERROR: "E"}
SKIP: Final = "SKIP"


def _is_in_any_pod(*path: str) -> Callable[[Case], bool]:
    def ask(case: Case) -> bool:
        return any(_has(pod or {}, path) for pod in (case.get("pod"), *case.get("pods", ())))

    return ask


def _has(value: Any, path: Sequence[str]) -> bool:
    for key in path:
        if not isinstance(value, Mapping) or key not in value:
            return False
        value = value[key]
    return True


def _always(_case: Case) -> bool:
    return True


def _is_in_pod(*path: str) -> Callable[[Case], bool]:
    return lambda case: _has(case.get("pod") or {}, path)


def _either(*asks: Callable[[Case], bool]) -> Callable[[Case], bool]:
    return lambda case: any(ask(case) for ask in asks)


FILTERS: Final[Mapping[str, Callable[[Case], bool]]] = {
    "NodeUnschedulable": _always,
    "NodeName": _always,
    "TaintToleration": _always,
    "NodeAffinity": _either(_is_in_pod("nodeSelector"), _is_in_pod("affinity", "nodeAffinity")),
    "NodePorts": _is_in_pod("hostPorts"),
    "NodeResourcesFit": _always,
    "PodTopologySpread": _is_in_pod("topologySpread"),
    "InterPodAffinity": _either(
        _is_in_any_pod("affinity", "podAffinity"), _is_in_any_pod("affinity", "podAntiAffinity")
    ),
}
"""The default Filter plugins that need no API objects, in order, and whether one can refuse anything in a case."""

SCORES: Final = (
    *("TaintToleration", "NodeAffinity", "NodeResourcesFit", "PodTopologySpread", "InterPodAffinity"),
    *("NodeResourcesBalancedAllocation", "ImageLocality"),
)


def read_filter(case: Case, legend: Legend) -> Outcome:
    named = case.get("plugins")
    needed = named or [name for name, acts in FILTERS.items() if acts(case)]
    built = _built(case, needed, case.get("args", {}))
    if isinstance(built, Waiting):
        return built
    expected = case["expect"]
    want = {"feasible": set(expected["feasible"]), "rejected": expected.get("rejected", {})}
    return compare(want, _filter(built, pod_of(case)))


def read_score(case: Case, legend: Legend) -> Outcome:
    plugin = case["plugin"]
    args = {plugin: case["args"]} if "args" in case else {}
    built = _built(case, [plugin], args)
    if isinstance(built, Waiting):
        return built
    got = _score(built, plugin, pod_of(case))
    return compare(case["expect"], {name: got[name] for name in case["expect"]})


def read_schedule(case: Case, legend: Legend) -> Outcome:
    """The whole default profile, as far as upstream's is compared here."""
    built = _built(case, [*FILTERS, *(name for name in SCORES if name not in FILTERS), "DefaultPreemption"], {})
    if isinstance(built, Waiting):
        return built
    expected = {name: value for name, value in case["expect"].items() if name in ("chosen", "message", "total")}
    allowed = case["expect"].get("chosen_any_of")
    got = _schedule(built, pod_of(case))
    if allowed:
        expected["chosen"] = got["chosen"] if got["chosen"] in allowed else allowed
    return compare(expected, {name: got[name] for name in expected})


def _built(case: Case, plugins: Sequence[str], args: Mapping[str, Any]) -> CycleHarness | Waiting:
    """A harness with the case's nodes and pods, or what is missing."""
    if missing := [name for name in plugins if name not in Registry().names]:
        return Waiting(", ".join(missing))
    try:
        framework = build_profile(["PrioritySort", *plugins, "DefaultBinder"], args=args)
    except ConfigError:
        kinds = [each["scoringStrategy"]["type"] for each in args.values() if _has(each, ("scoringStrategy", "type"))]
        if not kinds:
            raise
        return Waiting(f"{', '.join(args)} {', '.join(kinds)}")
    return CycleHarness([*nodes_of(case), *existing_pods_of(case)], framework)


def _filter(harness: CycleHarness, pod: Pod) -> Mapping[str, Any]:
    """As the cases want it: every node is asked about, also those that PreFilter would have left out."""
    framework, nodes, state = harness.framework, harness.cache.update_snapshot().nodes, CycleState()
    if isinstance(refusal := framework.run_pre_filter(state, pod, nodes), Status):
        return {"feasible": set(), "rejected": {node.name: _told(refusal) for node in nodes}}
    filtered = framework.run_filter(state, pod, nodes)
    if isinstance(filtered, Status):
        raise AssertionError(filtered.message)
    rejected = {name: _told(status) for name, status in filtered.refusals.items()}
    return {"feasible": {node.name for node in filtered.feasible}, "rejected": rejected}


def _told(status: Status) -> list[str]:
    return [CODES[status.code], *status.reasons]


def _score(harness: CycleHarness, plugin: str, pod: Pod) -> Mapping[str, Any]:
    """One plugin's scores of all nodes, before and after it normalized them."""
    framework, nodes, state = harness.framework, harness.cache.update_snapshot().nodes, CycleState()
    if isinstance(refusal := framework.run_pre_filter(state, pod, nodes), Status):
        raise AssertionError(refusal.message)
    for hook in _hooks(framework, "pre_score", plugin):
        if isinstance(answer := hook(state, pod, nodes), Status):
            assert answer.code is Code.SKIP, answer.message
            return {"raw": SKIP, "score": SKIP}
    (score,) = _hooks(framework, "score", plugin)
    raw = np.array([score(state, pod, node) for node in nodes], dtype=np.int64)
    final = raw.copy()
    for hook in _hooks(framework, "normalize_scores", plugin):
        hook(state, pod, final)
    return {"raw": _by_node(nodes, raw), "score": _by_node(nodes, final)}


def _hooks(framework: Framework, hook_name: str, plugin: str) -> list[Callable[..., Any]]:
    return [hook for name, hook in framework.chains[hook_name] if name == plugin]


def _by_node(nodes: Sequence[NodeInfo], scores: Any) -> dict[str, int]:
    return {node.name: int(score) for node, score in zip(nodes, scores, strict=True)}


def _schedule(harness: CycleHarness, pod: Pod) -> Mapping[str, Any]:
    framework, nodes, state = harness.framework, harness.cache.update_snapshot().nodes, CycleState()
    total: Any = None
    if not isinstance(framework.run_pre_filter(state, pod, nodes), Status):
        total = framework.run_score(state, pod, nodes)
    outcome = harness.schedule(pod)
    if isinstance(outcome, NotPlaced):
        return {"chosen": None, "message": outcome.status.message, "total": total}
    return {"chosen": outcome.node_name, "message": "", "total": _by_node(nodes, total)}
