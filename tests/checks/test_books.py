"""`koordpy fsck`: what the objects of a cluster say that cannot be right."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from koordpy.testing import device_manifest, gpu, node_manifest, pod_manifest
from koordpy_api.koordinator import DEVICE_ALLOCATED, GPU_CORE, GPU_MEMORY_RATIO
from tests.cli.test_commands import koordpy
from tests.controlplane.server import ControlPlane

Document = dict[str, Any]
ALLOCATED = f"metadata.annotations[{DEVICE_ALLOCATED}]"


def holder(name: str, minor: int, node: str = "n1", text: str = "") -> Document:
    """It holds half a card, or what the text says."""
    half = {GPU_CORE: "60", GPU_MEMORY_RATIO: "60"}
    told = text or json.dumps({"gpu": [{"minor": minor, "resources": half}]})
    return pod_manifest(name, node=node, requests={"cpu": 1}, annotations={DEVICE_ALLOCATED: told})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cluster"


def write(folder: Path, *documents: Document) -> None:
    folder.mkdir()
    (folder / "all.yaml").write_text(yaml.safe_dump_all(documents))


def test_a_cluster_whose_books_are_right_ends_with_0(folder: Path) -> None:
    write(folder, node_manifest("n1"), device_manifest("n1", 2), holder("a", 0), holder("b", 1))
    done = koordpy("fsck", "--embedded", str(folder))
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "nothing found; nodes: 1, pods on them: 2\n"


def test_everything_that_cannot_be_right_is_told_once_and_ends_with_1(folder: Path) -> None:
    write(
        folder,
        node_manifest("n1", cpu=3),
        device_manifest("n1", [gpu(0), gpu(1) | {"minor": None}]),
        holder("a", 0),
        holder("b", 0),
        holder("c", 7),
        holder("d", 0, text='{"gpu":['),
        holder("e", 0, node="n9"),
    )
    done = koordpy("fsck", "--embedded", str(folder))
    assert done.returncode == 1
    told = done.stdout.splitlines()
    assert len(told) == len(set(told))
    for part in (
        "Device n1: spec.devices[1].minor: a device needs a minor",
        f"Device n1: gpu 0 {GPU_CORE} is '120': no more than 100; held by default/a, default/b",
        f"Pod default/c: {ALLOCATED} is 'gpu 7': the Device of n1 lists no such minor",
        f"Pod default/d: {ALLOCATED}",
        f"Pod default/e: {ALLOCATED} is 'gpu 0': n9 has no Device",
        "Pod default/e: spec.nodeName is 'n9': there is no such Node",
        "Node n1: status.allocatable[cpu] is '3000m': its pods ask for 4000m",
    ):
        assert any(line.startswith(part) for line in told), part
    assert f"{len(told)} findings; nodes: 1, pods on them: 5" in done.stderr


def test_a_real_cluster_is_read_and_nothing_is_written(control_plane: ControlPlane, namespace: str) -> None:
    node = f"{namespace}-n1"
    for document in (node_manifest(node), device_manifest(node, 1)):
        control_plane.create(document)
    pods = [holder(name, 0, node) for name in ("a", "b")]
    for pod in pods:
        control_plane.create({**pod, "metadata": {**pod["metadata"], "namespace": namespace}})
    _, before = control_plane.request("GET", f"/api/v1/namespaces/{namespace}/pods")
    done = koordpy("fsck", "--kubeconfig", str(control_plane.kubeconfig()))
    _, after = control_plane.request("GET", f"/api/v1/namespaces/{namespace}/pods")
    assert done.returncode == 1
    assert f"Device {node}: gpu 0 {GPU_CORE} is '120'" in done.stdout
    assert [each["metadata"]["resourceVersion"] for each in before["items"]] == [
        each["metadata"]["resourceVersion"] for each in after["items"]
    ]
