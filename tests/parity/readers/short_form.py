"""The cases' short form of nodes and pods → objects. A field that is not known here is an error, never passed over."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from koordpy.testing import node_manifest, pod_manifest, read_object
from koordpy_api.objects import Node, Pod
from koordpy_api.quantity import value_of
from tests.parity.frame import Case

Short = Mapping[str, Any]
Manifest = dict[str, Any]

_NODE_FIELDS: Final = frozenset(
    ("cpu", "memory", "pods", "ephemeral-storage", "ext", "labels", "taints", "unschedulable", "images")
)
_POD_FIELDS: Final = frozenset(
    (
        *("req", "containers", "init", "podResources", "overhead", "hostPorts", "imageVolumes"),
        *("name", "ns", "labels", "node", "nodeName", "count", "start", "terminating", "priority", "preemptionPolicy"),
        *("nodeSelector", "affinity", "tolerations", "topologySpread"),
    )
)
_CONTAINER_FIELDS: Final = frozenset(("req", "image", "restart"))
_EPOCH_S: Final = 1_700_000_000


def nodes_of(case: Case) -> list[Node]:
    return [read_object(Node, manifest) for manifest in node_manifests_of(case)]


def existing_pods_of(case: Case) -> list[Pod]:
    return [read_object(Pod, manifest) for manifest in pod_manifests_of(case)]


def pod_of(case: Case) -> Pod:
    """The pod that the case is about."""
    return read_object(Pod, manifest_of_pod(case))


def node_manifests_of(case: Case) -> list[Manifest]:
    return [_node(name, short or {}) for name, short in case["nodes"].items()]


def pod_manifests_of(case: Case) -> list[Manifest]:
    """`count` clones are called NAME-0, NAME-1, …"""
    return [
        manifest
        for number, short in enumerate(case.get("pods", ()))
        for manifest in _clones(short, f"existing-{number}")
    ]


def manifest_of_pod(case: Case) -> Manifest:
    short = case["pod"] or {}
    return _pod(short, short.get("name", "incoming"))


def _node(name: str, short: Short) -> Manifest:
    _refuse_unknown(short, _NODE_FIELDS)
    manifest = node_manifest(
        name,
        cpu=short.get("cpu", 4),
        memory=short.get("memory", "8Gi"),
        pods=short.get("pods", 110),
        extended={"ephemeral-storage": short.get("ephemeral-storage", 0), **short.get("ext", {})},
        labels=short.get("labels"),
        taints=short.get("taints", ()),
        unschedulable=short.get("unschedulable", False),
    )
    images = short.get("images", {})
    manifest["status"]["images"] = [{"names": [image], "sizeBytes": value_of(size)} for image, size in images.items()]
    return manifest


def _clones(short: Short, default_name: str) -> Iterator[Manifest]:
    name = short.get("name", default_name)
    if "count" not in short:
        yield _pod(short, name)
    for number in range(short.get("count", 0)):
        yield _pod(short, f"{name}-{number}")


def _pod(short: Short, name: str) -> Manifest:
    _refuse_unknown(short, _POD_FIELDS)
    manifest = pod_manifest(
        name,
        namespace=short.get("ns", "default"),
        uid=f"uid-{name}",
        containers=[_container(each) for each in short.get("containers", [{"req": short.get("req", {})}])],
        init_containers=[_container(each) for each in short.get("init", ())],
        labels=short.get("labels"),
        node=short.get("node", short.get("nodeName", "")),
        priority=short.get("priority"),
        tolerations=short.get("tolerations", ()),
        overhead=short.get("overhead"),
        resources=short.get("podResources"),
    )
    manifest["spec"] |= _spec(short)
    if "hostPorts" in short:
        manifest["spec"]["containers"][0]["ports"] = [_port(port) for port in short["hostPorts"]]
    if short.get("terminating"):
        manifest["metadata"]["deletionTimestamp"] = _time(0)
    if "start" in short:
        manifest["status"] = {"startTime": _time(short["start"])}
    return manifest


def _spec(short: Short) -> Manifest:
    spec = {key: short[key] for key in ("nodeSelector", "preemptionPolicy") if key in short}
    if "topologySpread" in short:
        spec["topologySpreadConstraints"] = [
            {"whenUnsatisfiable": "DoNotSchedule"} | each for each in short["topologySpread"]
        ]
    if "imageVolumes" in short:
        spec["volumes"] = [
            {"name": f"image-{number}", "image": {"reference": image}}
            for number, image in enumerate(short["imageVolumes"])
        ]
    if "affinity" in short:
        spec["affinity"] = {kind: _affinity(kind, given) for kind, given in short["affinity"].items()}
    return spec


def _affinity(kind: str, short: Short) -> Manifest:
    required: Any = short.get("required")
    preferred = short.get("preferred", [])
    if kind == "nodeAffinity":
        required = required and {"nodeSelectorTerms": required}
    else:
        preferred = [{"weight": each["weight"], "podAffinityTerm": each["term"]} for each in preferred]
    named = {"required": required, "preferred": preferred}
    return {f"{name}DuringSchedulingIgnoredDuringExecution": value for name, value in named.items() if value}


def _container(short: Short) -> Manifest:
    _refuse_unknown(short, _CONTAINER_FIELDS)
    container: Manifest = {"requests": short.get("req") or {}}
    container |= {"image": short["image"]} if "image" in short else {}
    return container | ({"restartPolicy": short["restart"]} if "restart" in short else {})


def _port(short: Short) -> Manifest:
    port = {"containerPort": short["port"], "hostPort": short["port"], "protocol": short.get("protocol", "TCP")}
    return port | ({"hostIP": short["ip"]} if "ip" in short else {})


def _time(offset_s: int) -> str:
    return datetime.fromtimestamp(_EPOCH_S + offset_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _refuse_unknown(short: Short, known: frozenset[str]) -> None:
    if unknown := short.keys() - known:
        raise ValueError(f"the short form has no field {', '.join(sorted(unknown))}")
