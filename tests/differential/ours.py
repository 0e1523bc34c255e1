"""What koordpy says of a case, in the oracle's form: node by node, by columns, and as one attempt of the cycle."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from koordpy.framework.calls import PLUGIN_FAULTS
from koordpy.framework.runner import SKIPPED_FILTERS, Framework
from koordpy.scheduler.outcome import NotPlaced
from koordpy.testing import CycleHarness, build_profile
from koordpy_api import Code, CycleState, NodeInfo, Status
from koordpy_api.objects import Node, Pod
from tests.differential.oracle import Answer
from tests.parity.frame import Case
from tests.parity.readers.short_form import existing_pods_of, nodes_of, pod_of

CODES: Final[Mapping[Code, str]] = {
    Code.UNSCHEDULABLE: "Unschedulable",
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE: "UnschedulableAndUnresolvable",
    Code.ERROR: "Error",
}
SUCCESS: Final = {"code": "Success", "plugin": "", "reasons": []}
LATE: Final = 4
"""So many Pods come between two looks at the columns, so that what was kept of the first has to be mended."""

Scores = npt.NDArray[np.int64]


class Shape(Protocol):
    """One of the two ways to ask a profile's plugins."""

    def refusals(self, state: CycleState, pod: Pod) -> dict[str, Status]:
        """node → why not, of every node."""
        ...

    def scores(self, plugin: str, state: CycleState, pod: Pod, nodes: Sequence[NodeInfo]) -> Scores:
        """Before they are normalized."""
        ...


class Koordpy:
    """A framework per profile that is asked about, with one cache that is filled by one cluster after the other."""

    def __init__(self, given: Mapping[str, type] | None = None) -> None:
        """given: classes by name, instead of the installed plugins."""
        self._given = given
        self._harnesses: dict[str, CycleHarness] = {}

    def answers(self, case: Case) -> dict[str, Answer]:
        """shape → what it says."""
        return self.answers_on(case, nodes_of(case), existing_pods_of(case), pod_of(case))

    def answers_on(self, case: Case, nodes: Sequence[Node], pods: Sequence[Pod], pod: Pod) -> dict[str, Answer]:
        """The same about these objects, with the case's profile."""
        harness = self._harness(case)
        harness.add(*nodes, *pods[LATE:])
        _asked(by_columns, harness, pod)
        harness.add(*pods[:LATE])
        told = {shape: _asked(ask, harness, pod) for shape, ask in SHAPES.items()}
        harness.delete(*pods, *nodes)
        return told

    def _harness(self, case: Case) -> CycleHarness:
        args = case.get("args", {})
        key = repr((case["plugins"], args))
        if key not in self._harnesses:
            self._harnesses.clear()  # cases of one profile stand together
            framework = build_profile(["PrioritySort", *case["plugins"], "DefaultBinder"], given=self._given, args=args)
            self._harnesses[key] = CycleHarness(framework=framework)
        return self._harnesses[key]


def _asked(ask: Callable[[CycleHarness, Pod], Answer], harness: CycleHarness, pod: Pod) -> Answer:
    """A plugin that breaks is a difference like any other."""
    try:
        return ask(harness, pod)
    except PLUGIN_FAULTS as error:
        return {"raised": f"{type(error).__name__}: {error}"}


def node_by_node(harness: CycleHarness, pod: Pod) -> Answer:
    return _answer(harness, pod, _NodeByNode(harness))


def by_columns(harness: CycleHarness, pod: Pod) -> Answer:
    return _answer(harness, pod, _ByColumns(harness))


def one_attempt(harness: CycleHarness, pod: Pod) -> Answer:
    """Where the Pod comes, or why it comes nowhere."""
    outcome = harness.schedule(pod)
    if isinstance(outcome, NotPlaced):
        return {"chosen": "", "message": outcome.status.message}
    harness.forget(outcome)
    return {"chosen": outcome.node_name, "message": ""}


SHAPES: Final[Mapping[str, Callable[[CycleHarness, Pod], Answer]]] = {
    "node by node": node_by_node,
    "columns": by_columns,
    "cycle": one_attempt,
}


def _answer(harness: CycleHarness, pod: Pod, shape: Shape) -> Answer:
    framework, nodes = harness.framework, list(harness.cache.update_snapshot().nodes)
    state, every_node = CycleState(), dict[str, Any]()
    told: dict[str, Any] = {"narrowed": None, "feasible": [], "refused": {}, "scores": {}, "totals": {}, "best": []}
    left = framework.run_pre_filter(state, pod, nodes)
    if isinstance(left, Status):
        return told | {"prefilter": _told(left), "everyNode": every_node}
    told["prefilter"] = SUCCESS
    if left.absent is not None:
        told["narrowed"] = sorted(node.name for node in left.nodes)
    refusals = shape.refusals(state, pod)
    told["refused"] = {name: _told(refusal) for name, refusal in refusals.items()}
    told["feasible"] = sorted(node.name for node in nodes if node.name not in refusals)
    if fitting := [node for node in left.nodes if node.name not in refusals]:
        told["scores"] = scores = _scores(framework, state, pod, fitting, shape)
        told["totals"] = totals = _totals(framework, scores, fitting)
        told["best"] = sorted(name for name, total in totals.items() if total == max(totals.values()))
    state = CycleState()
    framework.run_pre_filter(state, pod, nodes)
    return told | {"everyNode": _scores(framework, state, pod, nodes, shape)}


def _told(status: Status) -> Mapping[str, Any]:
    return {"code": CODES[status.code], "plugin": status.plugin, "reasons": list(status.reasons)}


def _scores(
    framework: Framework, state: CycleState, pod: Pod, nodes: Sequence[NodeInfo], shape: Shape
) -> Mapping[str, Any]:
    skipped = {plugin for plugin, hook in framework.chains["pre_score"] if _is_skipped(hook(state, pod, nodes))}
    normalizers = dict(framework.chains["normalize_scores"])
    all_scores = dict[str, Any]()
    for plugin, _ in framework.chains["score"]:
        if plugin in skipped:
            all_scores[plugin] = {"skipped": True, "raw": None, "score": None}
            continue
        raw = shape.scores(plugin, state, pod, nodes)
        score = raw.copy()
        if plugin in normalizers:
            normalizers[plugin](state, pod, score)
        all_scores[plugin] = {"skipped": False, "raw": _by_node(nodes, raw), "score": _by_node(nodes, score)}
    return all_scores


def _is_skipped(answer: Status | None) -> bool:
    if answer is None:
        return False
    assert answer.code is Code.SKIP, answer.message
    return True


def _by_node(nodes: Sequence[NodeInfo], scores: Scores) -> dict[str, int]:
    return {node.name: score for node, score in zip(nodes, scores.tolist(), strict=True)}


def _totals(framework: Framework, scores: Mapping[str, Any], nodes: Sequence[NodeInfo]) -> dict[str, int]:
    told = [(framework.weights[plugin], each["score"]) for plugin, each in scores.items() if not each["skipped"]]
    return {node.name: sum(weight * of[node.name] for weight, of in told) for node in nodes}


class _NodeByNode:
    def __init__(self, harness: CycleHarness) -> None:
        self._framework = harness.framework
        self._nodes = harness.cache.update_snapshot().nodes

    def refusals(self, state: CycleState, pod: Pod) -> dict[str, Status]:
        chain = _filters(self._framework, state, "filter")
        told = {node.name: self._refusal(chain, state, pod, node) for node in self._nodes}
        return {name: refusal for name, refusal in told.items() if refusal is not None}

    @staticmethod
    def _refusal(chain: Mapping[str, Callable[..., Any]], state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        answers = ((plugin, hook(state, pod, node)) for plugin, hook in chain.items())
        return next((answer.by(plugin) for plugin, answer in answers if answer is not None), None)

    def scores(self, plugin: str, state: CycleState, pod: Pod, nodes: Sequence[NodeInfo]) -> Scores:
        score = dict(self._framework.chains["score"])[plugin]
        return np.array([score(state, pod, node) for node in nodes], dtype=np.int64)


class _ByColumns:
    """Rows with amounts beyond what a column holds are asked node by node, as the host does."""

    def __init__(self, harness: CycleHarness) -> None:
        snapshot = harness.cache.update_snapshot()
        self._framework, self._columns = harness.framework, snapshot.columns
        self._each = _NodeByNode(harness)

    def refusals(self, state: CycleState, pod: Pod) -> dict[str, Status]:
        vectors, told = _filters(self._framework, state, "filter_nodes"), dict[str, Status]()
        for plugin, hook in _filters(self._framework, state, "filter").items():
            if plugin not in vectors:
                answers = [(node.name, hook(state, pod, node)) for node in self._columns.nodes]
            else:
                verdicts = vectors[plugin](state, pod, self._columns)
                codes = np.zeros(len(self._columns), dtype=np.uint16) if verdicts is None else verdicts.codes
                answers = [
                    (self._columns.names[row], verdicts.reasons[code - 1] if code else None)
                    for row, code in enumerate(codes.tolist())
                ]
                for row in self._columns.irregular.tolist():
                    answers[row] = (self._columns.names[row], hook(state, pod, self._columns.nodes[row]))
            for name, answer in answers:
                if answer is not None and name not in told:
                    told[name] = answer.by(plugin)
        return told

    def scores(self, plugin: str, state: CycleState, pod: Pod, nodes: Sequence[NodeInfo]) -> Scores:
        vectors = dict(self._framework.chains.get("score_nodes", ()))
        if plugin not in vectors:
            return self._each.scores(plugin, state, pod, nodes)
        rows = np.array([self._columns.rows[node.name] for node in nodes], dtype=np.intp)
        scores: Scores = vectors[plugin](state, pod, self._columns, rows).copy()
        odd = np.isin(rows, self._columns.irregular)
        if odd.any():
            scores[odd] = self._each.scores(plugin, state, pod, [nodes[at] for at in np.flatnonzero(odd).tolist()])
        return scores


def _filters(framework: Framework, state: CycleState, hook: str) -> dict[str, Callable[..., Any]]:
    skipped = state.get(SKIPPED_FILTERS) or frozenset()
    return {plugin: its for plugin, its in framework.chains.get(hook, ()) if plugin not in skipped}
