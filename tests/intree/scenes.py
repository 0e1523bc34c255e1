"""What one plugin says of some nodes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from koordpy.testing import CycleHarness, build_profile, pod_manifest, read_object
from koordpy_api import Code, CycleState, Status
from koordpy_api.objects import Node, Pod

Refusal = tuple[Code | str, ...]

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
Terms = Sequence[Mapping[str, Any]]


def pod_of(spec: Mapping[str, Any], name: str = "pod") -> Pod:
    """A Pod whose spec has these fields as they stand in YAML."""
    manifest = pod_manifest(name, uid=f"uid-default-{name}")
    manifest["spec"] |= spec
    return read_object(Pod, manifest)


def expression(key: str, operator: str = "Exists", *values: str) -> dict[str, Any]:
    """A requirement of a node selector term."""
    return {"key": key, "operator": operator} | ({"values": list(values)} if values else {})


def node_affinity(*, required: Terms | None = None, preferred: Mapping[int, Mapping[str, Any]] | None = None) -> Any:
    """A NodeAffinity. required: terms. preferred: weight → term."""
    terms = [{"weight": weight, "preference": term} for weight, term in (preferred or {}).items()]
    return ({REQUIRED: {"nodeSelectorTerms": list(required)}} if required is not None else {}) | (
        {PREFERRED: terms} if terms else {}
    )


def judge(plugins: Sequence[str] | None, nodes: Sequence[Node], pod: Pod) -> dict[str, Refusal]:
    """Node → (code, plugin, reason, …); an empty tuple for a node that fits. None means the default profile."""
    names = plugins and [*dict.fromkeys(("PrioritySort", *plugins, "DefaultBinder"))]
    harness = CycleHarness(nodes, build_profile(names))
    snapshot, state = harness.cache.update_snapshot(), CycleState()
    assert not isinstance(harness.framework.run_pre_filter(state, pod, snapshot.nodes), Status)
    filtered = harness.framework.run_filter(state, pod, list(snapshot.nodes))
    assert not isinstance(filtered, Status)
    for plugin in plugins or ():
        same_verdicts(harness, plugin, pod)
    verdicts: dict[str, Refusal] = {node.name: () for node in filtered.feasible}
    return verdicts | {name: (why.code, why.plugin, *why.reasons) for name, why in filtered.refusals.items()}


def score(plugin: str, nodes: Sequence[Node], pod: Pod) -> dict[str, int]:
    """Node → the weighted score of one plugin, over all nodes."""
    harness = CycleHarness(nodes, build_profile(["PrioritySort", plugin, "DefaultBinder"]))
    everyone = list(harness.cache.update_snapshot().nodes)
    totals = harness.framework.run_score(CycleState(), pod, everyone)
    assert not isinstance(totals, Status)
    same_scores(harness, plugin, pod)
    return {node.name: int(total) for node, total in zip(everyone, totals, strict=True)}


def same_verdicts(harness: CycleHarness, plugin: str, pod: Pod) -> None:
    """What a plugin says of all nodes at once is what it says of each."""
    filter_nodes = _hook(harness, "filter_nodes", plugin)
    snapshot, state = harness.cache.update_snapshot(), CycleState()
    pre_filter = _hook(harness, "pre_filter", plugin)
    before = pre_filter(state, pod, snapshot.nodes) if pre_filter else None
    if filter_nodes is None or isinstance(before, Status):
        return
    each = [_hook(harness, "filter", plugin)(state, pod, node) for node in snapshot.nodes]
    verdicts = filter_nodes(state, pod, snapshot.columns)
    codes = [0] * len(each) if verdicts is None else verdicts.codes.tolist()
    at_once = [verdicts.reasons[code - 1] if code else None for code in codes]
    assert [_told(status) for status in at_once] == [_told(status) for status in each]


def same_scores(harness: CycleHarness, plugin: str, pod: Pod, rows: Sequence[int] | None = None) -> None:
    """What a plugin says of all nodes at once is what it says of each. rows: of only these."""
    score_nodes = _hook(harness, "score_nodes", plugin)
    snapshot, state = harness.cache.update_snapshot(), CycleState()
    rows = range(len(snapshot.nodes)) if rows is None else rows
    nodes = [snapshot.nodes[row] for row in rows]
    pre_score = _hook(harness, "pre_score", plugin)
    if score_nodes is None or not nodes or (pre_score and pre_score(state, pod, nodes) is not None):
        return
    each = [_hook(harness, "score", plugin)(state, pod, node) for node in nodes]
    at_once = score_nodes(state, pod, snapshot.columns, np.array(rows, dtype=np.intp))
    assert at_once.dtype == np.int64
    assert at_once.tolist() == each
    if normalize := _hook(harness, "normalize_scores", plugin):
        normalize(state, pod, at_once)


def _hook(harness: CycleHarness, name: str, plugin: str) -> Any:
    return dict(harness.framework.chains[name]).get(plugin)


def _told(status: Status | None) -> Refusal:
    return (status.code, *status.reasons) if status else ()
