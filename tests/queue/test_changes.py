"""What an update of a Pod or Node comes to, as cluster events."""

from typing import Any

import pytest

from koordpy.queue.changes import node_events, of_kind, on_node, pod_events
from koordpy.testing import make_node, make_pod, node_manifest, pod_manifest, read_object
from koordpy_api import ActionType
from koordpy_api.objects import Device, Node, Pod


def pod(**more: Any) -> Pod:
    return make_pod("web", **more)


def running(status: dict[str, Any], **more: Any) -> Pod:
    return read_object(Pod, {**pod_manifest("web", node="n1", **more), "status": status})


@pytest.mark.parametrize(
    ("old", "new", "labels"),
    [
        pytest.param(pod(), pod(), [], id="nothing"),
        pytest.param(pod(), pod(labels={"a": "b"}), ["UnschedulablePodUpdatePodLabel"], id="a label"),
        pytest.param(
            pod(requests={"cpu": 2, "memory": "1Gi"}),
            pod(requests={"cpu": 3}),
            ["UnschedulablePodUpdatePodScaleDown"],
            id="one resource less and one more",
        ),
        pytest.param(
            pod(requests={"cpu": 1}),
            pod(requests={"cpu": 2}),
            ["UnschedulablePodUpdate"],
            id="only more is no scale-down",
        ),
        pytest.param(
            pod(requests={"cpu": "?"}), pod(requests={"cpu": 2}), ["UnschedulablePodUpdate"], id="what cannot be read"
        ),
        pytest.param(
            pod(scheduling_gates=["a"]),
            pod(),
            ["UnschedulablePodUpdatePodSchedulingGatesEliminated"],
            id="N14 the last gate",
        ),
        pytest.param(
            pod(scheduling_gates=["a", "b"]),
            pod(scheduling_gates=["b"]),
            ["UnschedulablePodUpdate"],
            id="a gate that is not the last",
        ),
        pytest.param(
            pod(), pod(tolerations=[{"operator": "Exists"}]), ["UnschedulablePodUpdatePodToleration"], id="a toleration"
        ),
        pytest.param(pod(), pod(annotations={"a": "b"}), ["UnschedulablePodUpdate"], id="an annotation"),
        pytest.param(
            pod(labels={"a": "b"}),
            pod(tolerations=[{"operator": "Exists"}]),
            ["UnschedulablePodUpdatePodLabel", "UnschedulablePodUpdatePodToleration"],
            id="two things at once",
        ),
        pytest.param(
            pod(),
            read_object(Pod, {**pod_manifest("web"), "status": {"conditions": [{"type": "PodScheduled"}]}}),
            [],
            id="our own word on it",
        ),
        pytest.param(
            running({"phase": "Pending"}),
            running({"phase": "Running"}),
            ["AssignedPodUpdate"],
            id="the status of one that runs",
        ),
        pytest.param(
            running({}, requests={"cpu": 2}),
            running({}, requests={"cpu": 1}),
            ["AssignedPodUpdatePodScaleDown"],
            id="one that runs is made smaller",
        ),
    ],
)
def test_an_update_of_a_pod(old: Pod, new: Pod, labels: list[str]) -> None:
    assert [str(event) for event in pod_events(old, new)] == labels


def node(status: dict[str, Any] | None = None, annotations: dict[str, str] | None = None, **more: Any) -> Node:
    manifest = node_manifest("n1", **more)
    metadata = {**manifest["metadata"], "annotations": annotations or {}}
    return read_object(Node, {**manifest, "metadata": metadata, "status": {**manifest["status"], **(status or {})}})


def ready(status: str, heartbeat: str) -> dict[str, Any]:
    return {"conditions": [{"type": "Ready", "status": status, "lastHeartbeatTime": heartbeat}]}


@pytest.mark.parametrize(
    ("old", "new", "labels"),
    [
        pytest.param(node(cpu=1), node(cpu=2), ["NodeUpdateNodeAllocatable"], id="allocatable"),
        pytest.param(node(), node(labels={"a": "b"}), ["NodeUpdateNodeLabel"], id="a label"),
        pytest.param(
            node(taints=[{"key": "k", "effect": "NoSchedule"}]), node(), ["NodeUpdateNodeTaint"], id="a taint"
        ),
        pytest.param(node(unschedulable=True), node(), ["NodeUpdateNodeTaint"], id="uncordoned"),
        pytest.param(node(), node(unschedulable=True), [], id="cordoned helps nobody"),
        pytest.param(node(), node(annotations={"a": "b"}), ["NodeUpdateNodeAnnotation"], id="an annotation"),
        pytest.param(
            node(ready("False", "10:00")), node(ready("True", "10:01")), ["NodeUpdateNodeCondition"], id="a condition"
        ),
        pytest.param(node(ready("True", "10:00")), node(ready("True", "10:01")), [], id="a heartbeat"),
        pytest.param(
            node(), node({"declaredFeatures": ["F"]}), ["NodeUpdateNodeDeclaredFeature"], id="a declared feature"
        ),
        pytest.param(node(), node({"images": [{"names": ["i"], "sizeBytes": 1}]}), [], id="an image"),
    ],
)
def test_an_update_of_a_node(old: Node, new: Node, labels: list[str]) -> None:
    assert [str(event) for event in node_events(old, new)] == labels


def test_a_custom_kind_is_called_by_plural_version_and_group() -> None:
    event = of_kind(Device.KIND, ActionType.ADD)
    assert event.resource == "devices.v1alpha1.scheduling.koordinator.sh"
    assert event.is_known
    assert of_kind(Node.KIND, ActionType.ADD) == of_kind(make_node("n1").KIND, ActionType.ADD)
    assert of_kind(Node.KIND, ActionType.ADD).resource == "Node"


def test_a_pod_that_we_held_on_a_node_is_shown_there() -> None:
    before = pod()
    assert on_node(before, "n1").spec.node_name == "n1"
    assert before.spec.node_name == ""
