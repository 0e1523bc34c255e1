"""What a plugin says of all nodes at once is what it says of each, whatever has happened to them meanwhile."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from koordpy.framework.registry import Registry
from koordpy.testing import CycleHarness, build_profile, check_plugin, make_node
from koordpy_api.objects import Node, Pod
from tests.intree.scenes import PREFERRED, REQUIRED, pod_of, same_scores, same_verdicts

PLUGINS = ("NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts", "ImageLocality")
ADDED = {
    REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [{"key": "b", "operator": "NotIn", "values": ["9"]}]}]},
    PREFERRED: [{"weight": 3, "preference": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}],
}
NAMES = [f"n{number}" for number in range(6)]
KEYS, VALUES, IMAGES = ["a", "b", "host"], ["", "1", "2", "9", "-3", "x"], ["x:1", "y:latest", "z:2"]
EFFECTS = ["NoSchedule", "NoExecute", "PreferNoSchedule"]

taints = st.builds(
    lambda key, value, effect: {"key": key, "value": value, "effect": effect},
    st.sampled_from(KEYS),
    st.sampled_from(VALUES[:3]),
    st.sampled_from(EFFECTS),
)
nodes = st.builds(
    lambda name, labels, taints, images, cordoned: make_node(
        name, labels={**labels, "host": name}, taints=taints, images=images, unschedulable=cordoned
    ),
    st.sampled_from(NAMES),
    st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES), max_size=2),
    st.lists(taints, max_size=2),
    st.dictionaries(st.sampled_from(IMAGES), st.integers(0, 3 * 2**30), max_size=3),
    st.booleans(),
)

ports = st.builds(
    lambda number, ip, protocol: {"hostPort": number, "hostIP": ip, "protocol": protocol},
    st.sampled_from([0, 80, 80, 80, 81]),
    st.sampled_from(["", "0.0.0.0", "10.0.0.1", "10.0.0.2"]),
    st.sampled_from(["", "TCP", "UDP"]),
)
containers = st.lists(
    st.builds(
        lambda image, ports: {"name": "c", "image": image, "ports": ports},
        st.sampled_from([*IMAGES, "y", "nowhere"]),
        st.lists(ports, max_size=2),
    ),
    min_size=1,
    max_size=2,
)
requirements = st.builds(
    lambda key, operator, values: {"key": key, "operator": operator, "values": values},
    st.sampled_from(KEYS),
    st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]),
    st.lists(st.sampled_from([*VALUES, *NAMES]), max_size=2),
)
fields = st.builds(
    lambda operator, name: {"key": "metadata.name", "operator": operator, "values": [name]},
    st.sampled_from(["In", "NotIn"]),
    st.sampled_from(NAMES),
)
terms = st.builds(
    lambda labels, fields: {"matchExpressions": labels, "matchFields": fields},
    st.lists(requirements, max_size=2),
    st.lists(fields, max_size=1),
)
tolerations = st.builds(
    lambda key, operator, value, effect: {"key": key, "operator": operator, "value": value, "effect": effect},
    st.sampled_from(["", *KEYS]),
    st.sampled_from(["", "Equal", "Exists"]),
    st.sampled_from(VALUES[:3]),
    st.sampled_from(["", *EFFECTS]),
)
# Preferences that can be read: one that cannot ends the attempt in either shape.
readable = st.builds(
    lambda key, there: {"matchExpressions": [{"key": key, "operator": "Exists" if there else "DoesNotExist"}]},
    st.sampled_from(KEYS),
    st.booleans(),
)


@st.composite
def pods(draw: st.DrawFn) -> dict[str, Any]:
    """A Pod's spec."""
    affinity: dict[str, Any] = {}
    if draw(st.booleans()):
        affinity[REQUIRED] = {"nodeSelectorTerms": draw(st.lists(terms, max_size=3))}
    weighted = st.builds(lambda weight, term: {"weight": weight, "preference": term}, st.integers(1, 100), readable)
    affinity[PREFERRED] = draw(st.lists(weighted, max_size=2))
    return {
        "containers": draw(containers),
        "initContainers": [
            {**each, "restartPolicy": draw(st.sampled_from(["", "Always"]))}
            for each in draw(st.lists(containers.map(lambda each: each[0]), max_size=1))
        ],
        "volumes": [{"name": "v", "image": {"reference": image}} for image in draw(st.lists(st.sampled_from(IMAGES)))],
        "nodeName": draw(st.sampled_from(["", "", "", *NAMES])),
        "nodeSelector": draw(st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES), max_size=1)),
        "tolerations": draw(st.lists(tolerations, max_size=2)),
        "affinity": {"nodeAffinity": affinity},
    }


running = st.tuples(st.just("pod"), st.integers(0, 5), st.sampled_from(NAMES), containers)
events = st.one_of(
    nodes,
    st.tuples(st.just("gone"), st.sampled_from(NAMES)),
    *(running,) * 4,
    st.tuples(st.just("pod gone"), st.integers(0, 5)),
)


@pytest.mark.parametrize("added", [{}, {"NodeAffinity": {"addedAffinity": ADDED}}], ids=["", "with added affinity"])
@settings(deadline=None, max_examples=50)
@given(st.lists(nodes, min_size=2), st.lists(pods(), min_size=1, max_size=3), st.lists(events, min_size=3, max_size=12))
def test_both_shapes_say_the_same_through_a_life_of_nodes_and_pods(
    added: dict[str, Any], first: list[Node], asked: list[dict[str, Any]], happening: list[Any]
) -> None:
    harness = CycleHarness((), build_profile(["PrioritySort", *PLUGINS, "DefaultBinder"], args=added))
    assert_all_have_both(harness)
    life = _Life(harness)
    wanting = [pod_of(spec, f"asked-{number}") for number, spec in enumerate(asked)]
    for event in [*first, *happening]:
        life.happen(event)
        count = len(harness.cache.update_snapshot().nodes)
        for plugin in PLUGINS:
            for pod in wanting:
                same_verdicts(harness, plugin, pod)
                same_scores(harness, plugin, pod)
                same_scores(harness, plugin, pod, rows=range(0, count, 2))


def assert_all_have_both(harness: CycleHarness) -> None:
    """Else there would be nothing to compare."""
    for each, at_once in (("filter", "filter_nodes"), ("score", "score_nodes")):
        chains = harness.framework.chains
        assert {name for name, _ in chains[each]} == {name for name, _ in chains[at_once]}


class _Life:
    """What exists, so that an event of what does is an update."""

    def __init__(self, harness: CycleHarness) -> None:
        self._harness = harness
        self._nodes: dict[str, Node] = {}
        self._pods: dict[int, Pod] = {}

    def happen(self, event: Any) -> None:
        match event:
            case Node():
                name = event.metadata.name
                if (old := self._nodes.get(name)) is None:
                    self._harness.add(event)
                else:
                    self._harness.update(old, event)
                self._nodes[name] = event
            case "gone", name:
                if (old := self._nodes.pop(name, None)) is not None:
                    self._harness.delete(old)
            case "pod", number, name, running:
                self.happen(("pod gone", number))
                self._pods[number] = pod_of({"containers": running, "nodeName": name}, f"p{number}")
                self._harness.add(self._pods[number])
            case "pod gone", number:
                if (pod := self._pods.pop(number, None)) is not None:
                    self._harness.delete(pod)


SPEC = {
    "containers": [{"name": "c", "image": "x:1", "ports": [{"hostPort": 80}]}],
    "nodeSelector": {"a": "1"},
    "tolerations": [{"operator": "Exists"}],
    "affinity": {"nodeAffinity": {PREFERRED: ADDED[PREFERRED]}},
}


@pytest.mark.parametrize("plugin", PLUGINS)
def test_each_keeps_the_rules_that_every_plugin_keeps(plugin: str) -> None:
    world = [make_node("n1", labels={"a": "1"}, images={"x:1": 2**30}), make_node("n2", taints=[{"key": "k"}])]
    check_plugin(Registry().declaration(plugin).plugin, pod=pod_of(SPEC, "conformance"), objects=world)
