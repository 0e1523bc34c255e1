"""How good a node is by what would be left on it. Source: kube-scheduler's noderesources (least_allocated.go)."""

from collections.abc import Mapping, Sequence

from koordpy_api import NodeInfo
from koordpy_nodefit.args import ResourceSpec


def least_allocated(
    node_info: NodeInfo, pod: Mapping[str, int], pod_non_zero: Mapping[str, int], resources: Sequence[ResourceSpec]
) -> int:
    """0 (nothing would be left) to 100 (nothing would be used), the weighted mean over `resources`.

    cpu and memory count with scoring's defaults for containers that do not mention them, everything else as asked.
    """
    total = weights = 0
    for spec in resources:
        name = spec.name
        capacity = node_info.allocatable.get(name, 0)
        if capacity == 0:
            continue
        if name in pod_non_zero:
            asked = node_info.non_zero_requested.get(name, 0) + pod_non_zero[name]
        elif name in pod:
            asked = node_info.requested.get(name, 0) + pod[name]
        else:
            continue
        total += spec.weight * ((capacity - asked) * 100 // capacity if asked <= capacity else 0)
        weights += spec.weight
    return total // weights if weights else 0
