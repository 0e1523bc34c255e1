"""Pods, nodes and Devices in one line. Each comes as a manifest, for an API server, and as the object koordpy reads.

An amount is written as in YAML: "500m", "4Gi", 2.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from koordpy_api.koordinator import GPU_CORE, GPU_MEMORY, GPU_MEMORY_RATIO
from koordpy_api.objects import Device, KubeObject, Node, Pod

Amounts = Mapping[str, str | int]
Manifest = dict[str, Any]
K = TypeVar("K", bound=KubeObject)


def read_object(kind: type[K], manifest: Mapping[str, Any]) -> K:
    """A manifest as koordpy would read it from the API server."""
    return msgspec.convert(manifest, kind)


def pod_manifest(
    name: str = "pod",
    *,
    namespace: str = "default",
    uid: str = "",
    requests: Amounts | None = None,
    containers: Sequence[Mapping[str, Any]] | None = None,
    init_containers: Sequence[Mapping[str, Any]] = (),
    node: str = "",
    phase: str = "",
    annotations: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    scheduler_name: str = "koordpy-scheduler",
    priority: int | None = None,
    tolerations: Sequence[Mapping[str, str]] = (),
    scheduling_gates: Sequence[str] = (),
    overhead: Amounts | None = None,
    resources: Amounts | None = None,
) -> Manifest:
    """A Pod. `requests` are those of its one container; `containers` lists several instead, as {name, requests}.

    resources: pod-level requests. phase: only for objects that no API server sees.
    """
    spec: Manifest = {
        "schedulerName": scheduler_name,
        "terminationGracePeriodSeconds": 0,  # no kubelet will confirm a deletion
        "containers": _containers(containers or [{"requests": requests or {}}], "main"),
    }
    if init_containers:
        spec["initContainers"] = _containers(init_containers, "init")
    if resources:
        spec["resources"] = {"requests": dict(resources)}
    optional = {
        "nodeName": node,
        "priority": priority,
        "tolerations": [dict(each) for each in tolerations],
        "schedulingGates": [{"name": gate} for gate in scheduling_gates],
        "overhead": dict(overhead or {}),
    }
    spec |= {key: value for key, value in optional.items() if value not in (None, "", [], {})}
    metadata: Manifest = {"name": name, "namespace": namespace}
    metadata |= {"labels": dict(labels)} if labels else {}
    metadata |= {"annotations": dict(annotations)} if annotations else {}
    metadata |= {"uid": uid} if uid else {}
    status = {"status": {"phase": phase}} if phase else {}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, **status}


def make_pod(name: str = "pod", *, namespace: str = "default", uid: str = "", **more: Any) -> Pod:
    """As pod_manifest; the UID is made of namespace and name if none is given."""
    return read_object(Pod, pod_manifest(name, namespace=namespace, uid=uid or f"uid-{namespace}-{name}", **more))


def node_manifest(
    name: str,
    *,
    cpu: str | int = "8",
    memory: str | int = "32Gi",
    pods: str | int = 110,
    extended: Amounts | None = None,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Mapping[str, str]] = (),
    unschedulable: bool = False,
    images: Mapping[str, int] | None = None,
) -> Manifest:
    """A Ready node. `extended`: further allocatable resources. images: name → size in bytes."""
    amounts = {"cpu": str(cpu), "memory": str(memory), "pods": str(pods)}
    amounts |= {resource: str(amount) for resource, amount in (extended or {}).items()}
    spec: Manifest = {"taints": [dict(taint) for taint in taints]} if taints else {}
    spec |= {"unschedulable": True} if unschedulable else {}
    listed = [{"names": [name], "sizeBytes": size} for name, size in (images or {}).items()]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": dict(labels or {})},
        "spec": spec,
        "status": {"allocatable": amounts, "capacity": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
        | ({"images": listed} if listed else {}),
    }


def make_node(name: str, **more: Any) -> Node:
    """As node_manifest."""
    return read_object(Node, node_manifest(name, **more))


def gpu(minor: int, *, memory: str | int = "16Gi", health: bool = True, uuid: str = "", **more: Any) -> Manifest:
    """One entry of a Device. `more` overrides or adds keys of the entry."""
    amounts = {GPU_CORE: "100", GPU_MEMORY_RATIO: "100", GPU_MEMORY: memory}
    entry: Manifest = {"type": "gpu", "id": uuid or f"GPU-{minor}", "minor": minor, "health": health}
    return entry | {"resources": amounts} | more


def device_manifest(
    name: str, devices: Sequence[Mapping[str, Any]] | int = 1, *, labels: Mapping[str, str] | None = None
) -> Manifest:
    """The Device of a node; a number means so many equal GPUs."""
    entries = (
        [gpu(minor, uuid=f"GPU-{name}-{minor}") for minor in range(devices)] if isinstance(devices, int) else devices
    )
    return {
        "apiVersion": Device.KIND.api_version,
        "kind": Device.KIND.name,
        "metadata": {"name": name, "labels": dict(labels or {})},
        "spec": {"devices": [dict(entry) for entry in entries]},
    }


def make_device(name: str, devices: Sequence[Mapping[str, Any]] | int = 1, **more: Any) -> Device:
    """As device_manifest."""
    return read_object(Device, device_manifest(name, devices, **more))


def _containers(containers: Sequence[Mapping[str, Any]], prefix: str) -> list[Manifest]:
    return [_container(f"{prefix}-{index}" if index else prefix, each) for index, each in enumerate(containers)]


def _container(name: str, given: Mapping[str, Any]) -> Manifest:
    """`requests` and `limits` may stand beside the other fields of a container.

    Without limits, requests of extended resources are limits too, as an API server demands.
    """
    container = {"name": name, "image": "registry.example.test/pause"} | dict(given)
    resources = {kind: dict(container.pop(kind)) for kind in ("requests", "limits") if kind in container}
    if extended := {key: amount for key, amount in resources.get("requests", {}).items() if "/" in key}:
        resources.setdefault("limits", extended)
    return container | ({"resources": resources} if any(resources.values()) else {})
