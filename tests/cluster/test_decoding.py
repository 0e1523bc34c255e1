"""Bytes that are not quite what they should be."""

import json
from typing import Any

import msgspec
import pytest

from koordpy.cluster.decoding import ObjectDecoder, UndecodableObject
from koordpy_api.objects import Node, Pod
from tests.cluster.scripted import Reports, pod, raw


def decode(document: Any) -> tuple[Pod, Reports]:
    reports = Reports()
    return ObjectDecoder(Pod, reports).decode(raw(document)), reports


def test_a_good_object_is_not_reported() -> None:
    decoded, reports = decode(pod("a", "1", spec={"nodeName": "n"}))
    assert (decoded.key, decoded.spec.node_name) == ("default/a", "n")
    assert reports.lines == []


def test_a_null_means_absent_and_is_reported_with_its_place() -> None:
    decoded, reports = decode(pod("a", "1", spec={"containers": None, "nodeName": "n", "tolerations": [None]}))
    assert decoded.spec.containers == []
    assert decoded.spec.tolerations == []
    [(kind, name, problem)] = reports.lines
    assert (kind, name, problem.path, problem.value) == ("Pod", "default/a", "spec.containers", "null")
    assert problem.right == "expected `array`, got `null`"


def test_an_unknown_phase_is_as_good_as_any() -> None:
    decoded, reports = decode(pod("a", "1", status={"phase": "Paused", "newField": {"deep": [1]}}))
    assert decoded.status.phase == "Paused"
    assert not decoded.is_terminated
    assert reports.lines == []


def test_a_byte_that_is_no_utf8_costs_only_its_character() -> None:
    document = json.dumps(pod("a", "1", spec={"nodeName": "n@de"})).encode().replace(b"@", b"\xff")
    decoded = ObjectDecoder(Pod, Reports()).decode(document)
    assert decoded.spec.node_name == "n\ufffdde"


def test_the_same_complaint_is_made_once_for_each_object() -> None:
    reports = Reports()
    decoder = ObjectDecoder(Pod, reports)
    for name, version in (("a", "1"), ("a", "2"), ("b", "1"), ("a", "3")):
        decoder.decode(raw(pod(name, version, spec=None)))
    assert reports.places == [("default/a", "spec"), ("default/b", "spec")]


def test_a_successor_of_the_same_name_is_another_object_to_complain_about() -> None:
    reports = Reports()
    decoder = ObjectDecoder(Pod, reports)
    for uid in ("first", "second"):
        decoder.decode(raw(pod("a", "1", uid=uid, spec=None)))
    assert len(reports.lines) == 2


def test_an_assigned_pod_keeps_all_that_can_be_read() -> None:
    document = pod(
        "a",
        "1",
        spec={
            "nodeName": "n",
            "schedulerName": "koordpy",
            "priority": "high",
            "containers": [
                {"name": "good", "resources": {"requests": {"cpu": "1", "memory": True}}},
                "nonsense",
            ],
        },
        status={"phase": "Running", "conditions": 7},
    )
    document["metadata"]["annotations"] = {"devices": "[0]", "count": 3}
    document["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    decoded, reports = decode(document)
    assert (decoded.key, decoded.uid, decoded.metadata.resource_version) == ("default/a", "uid-a", "1")
    assert decoded.metadata.annotations == {"devices": "[0]"}
    assert decoded.metadata.deletion_timestamp == "2026-01-01T00:00:00Z"
    assert (decoded.spec.node_name, decoded.spec.scheduler_name, decoded.spec.priority) == ("n", "koordpy", 0)
    assert [container.name for container in decoded.spec.containers] == ["good"]
    assert decoded.spec.containers[0].resources.requests == {"cpu": "1"}
    assert decoded.status.phase == "Running"
    assert len(reports.lines) == 1


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"priority": "high"}, id="one without a node"),
        pytest.param({"priority": "high", "nodeName": ""}, id="one with an empty node"),
        pytest.param({"nodeName": 5}, id="one whose node is a number"),
        pytest.param([], id="one whose spec is a list"),
    ],
)
def test_an_unassigned_pod_that_cannot_be_read_is_not_guessed_at(spec: Any) -> None:
    with pytest.raises(UndecodableObject) as caught:
        decode(pod("a", "4", spec=spec))
    error = caught.value
    assert (error.kind, error.key, error.uid, error.resource_version) == ("Pod", "default/a", "uid-a", "4")
    assert error.problem.path.startswith("spec")


def test_what_is_wrong_is_said_with_place_and_value() -> None:
    reports = Reports()
    node = {"metadata": {"name": "n"}, "spec": {"taints": [{"key": "a"}, {"key": ["b"]}]}}
    with pytest.raises(UndecodableObject, match=r"Node n: spec\.taints\[1\]\.key is '\[\"b\"\]': expected `str`"):
        ObjectDecoder(Node, reports).decode(raw(node))
    assert [(kind, name) for kind, name, _ in reports.lines] == [("Node", "n")]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"{", id="half a document"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b'{"metadata": 3, "spec": {"nodeName": "n"}}', id="an object without a name"),
    ],
)
def test_what_has_no_name_has_no_key(body: bytes) -> None:
    with pytest.raises(UndecodableObject) as caught:
        ObjectDecoder(Pod, Reports()).decode(msgspec.Raw(body))
    assert caught.value.key == ""
