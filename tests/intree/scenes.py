"""What one plugin says of some nodes."""

from collections.abc import Sequence

from koordpy.testing import CycleHarness, build_profile
from koordpy_api import Code, CycleState, Status
from koordpy_api.objects import Node, Pod

Refusal = tuple[Code | str, ...]


def judge(plugins: Sequence[str] | None, nodes: Sequence[Node], pod: Pod) -> dict[str, Refusal]:
    """Node → (code, plugin, reason, …); an empty tuple for a node that fits. None means the default profile."""
    names = plugins and [*dict.fromkeys(("PrioritySort", *plugins, "DefaultBinder"))]
    harness = CycleHarness(nodes, build_profile(names))
    everyone, state = harness.cache.update_snapshot().nodes, CycleState()
    assert not isinstance(harness.framework.run_pre_filter(state, pod, everyone), Status)
    filtered = harness.framework.run_filter(state, pod, everyone)
    assert not isinstance(filtered, Status)
    verdicts: dict[str, Refusal] = {node.name: () for node in filtered.feasible}
    return verdicts | {name: (why.code, why.plugin, *why.reasons) for name, why in filtered.refusals.items()}


def score(plugin: str, nodes: Sequence[Node], pod: Pod) -> dict[str, int]:
    """Node → the weighted score of one plugin, over all nodes."""
    harness = CycleHarness(nodes, build_profile(["PrioritySort", plugin, "DefaultBinder"]))
    everyone = harness.cache.update_snapshot().nodes
    totals = harness.framework.run_score(CycleState(), pod, everyone)
    assert not isinstance(totals, Status)
    return {node.name: int(total) for node, total in zip(everyone, totals, strict=True)}
