"""Which cases cannot be asked yet, by what they need that DeviceShare does not have."""

from collections.abc import Mapping
from typing import Any, Final

from koordpy_api.koordinator import GPU_SHARED, NPU_CORE
from tests.parity.frame import Case, Waiting
from tests.parity.model import requests

TOPOLOGY: Final = Waiting("DeviceShare topology: devices with a topology")
SCOPE: Final = Waiting("DeviceShare topology: a required topology scope")
JOINT: Final = Waiting("DeviceShare topology: joint allocation")
VFS: Final = Waiting("DeviceShare topology: VFs")
PARTITIONS: Final = Waiting("DeviceShare topology: GPU partitions")
TEMPLATES: Final = Waiting("DeviceShare topology: templates of NPU slices")
PARTITION_POLICY: Final = "node.koordinator.sh/gpu-partition-policy"
NUMA: Final = Waiting("DeviceShare topology: NUMA nodes")


def of_alloc(case: Case) -> Waiting | None:
    """Anything but a flat node and a Pod that asks for nothing else."""
    if any("topology" in entry for entry in case["device"]["devices"]):
        return TOPOLOGY
    if _hinted(case, "requiredTopologyScope"):
        return SCOPE
    if "partitions" in case or "partition" in case["pod"] or _honours_partitions(case):
        return PARTITIONS
    return TEMPLATES if "templates" in case else of_pod(case)


def of_score(case: Case) -> Waiting | None:
    """The sums over a node do not ask where its devices are."""
    return of_pod(case) or (TEMPLATES if "templates" in case and _asks_slice(case["pod"]) else None)


def of_pod(case: Case) -> Waiting | None:
    if "joint" in case["pod"]:
        return JOINT
    if _hinted(case, "vfSelector"):
        return VFS
    return NUMA if "numa" in case else None


def _hinted(case: Case, key: str) -> bool:
    hints: Mapping[str, Any] = case["pod"].get("hints") or {}
    return any(key in (hint or {}) for hint in hints.values())


def _honours_partitions(case: Case) -> bool:
    """A Pod on whole cards must be given a partition where a label says so; for some models the table is built in."""
    labels = {**(case["device"].get("labels") or {}), **(case.get("node_labels") or {})}
    gpus = requests.by_type(requests.pod_sum(case["pod"])).get("gpu")
    if labels.get(PARTITION_POLICY) != "Honor" or not gpus or requests.refusal(gpus):
        return False
    return not requests.per_card(requests.converted(gpus)).shared


def _asks_slice(pod: Mapping[str, Any]) -> bool:
    containers = [*pod.get("initContainers", ()), *(pod.get("containers") or [pod])]
    asked = {name for each in containers for name in each.get("requests") or {}}
    return {GPU_SHARED, NPU_CORE} <= asked
