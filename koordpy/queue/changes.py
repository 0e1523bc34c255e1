"""What became of a Pod or a Node, as cluster events.

Source: pkg/scheduler/framework (events.go: PodSchedulingPropertiesChange, NodeSchedulingPropertiesChange).
"""

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from koordpy_api import ActionType, ClusterEvent, QuantityError
from koordpy_api.events import ASSIGNED_POD, NODE, RESOURCES, UNSCHEDULABLE_POD
from koordpy_api.objects import Kind, Node, Pod
from koordpy_api.resources import held_requests, pod_requests

POD_ASSIGNED: Final = ClusterEvent(ASSIGNED_POD, ActionType.ADD)
POD_DELETED: Final = ClusterEvent(ASSIGNED_POD, ActionType.DELETE)
NODE_ADDED: Final = ClusterEvent(NODE, ActionType.ADD)
NODE_DELETED: Final = ClusterEvent(NODE, ActionType.DELETE)


def on_node(pod: Pod, node_name: str) -> Pod:
    """A Pod that only we know to be on this node, as hints should see it."""
    return replace(pod, spec=replace(pod.spec, node_name=node_name))


def of_kind(kind: Kind, action: ActionType) -> ClusterEvent:
    """An event of any object: Kubernetes' own are called group/Kind, custom ones plural.version.group."""
    name = f"{kind.group}/{kind.name}" if kind.group else kind.name
    return ClusterEvent(name if name in RESOURCES else f"{kind.plural}.{kind.version}.{kind.group}", action)


def pod_events(old: Pod, new: Pod, annotation_prefixes: tuple[str, ...] = ("",)) -> list[ClusterEvent]:
    """What an update of a Pod changed, one event for each thing that plugins look at.

    annotation_prefixes: other annotations are nothing that anybody looks at.
    None at all if a Pod without a node only got another status: that is mostly our own word on it, and waking it for
    that would never end. A Pod on a node also changes with its status; what else changed is a plain Update.
    """
    resource = ASSIGNED_POD if new.spec.node_name else UNSCHEDULABLE_POD
    before, after = old.metadata, new.metadata
    actions = []
    if before.labels != after.labels:
        actions.append(ActionType.UPDATE_POD_LABEL)
    if _asks_less(old, new):
        actions.append(ActionType.UPDATE_POD_SCALE_DOWN)
    if old.spec.scheduling_gates and not new.spec.scheduling_gates:
        actions.append(ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
    if old.spec.tolerations != new.spec.tolerations:
        actions.append(ActionType.UPDATE_POD_TOLERATION)
    if not actions:
        is_assigned = bool(new.spec.node_name)
        annotations = _under(before.annotations, annotation_prefixes), _under(after.annotations, annotation_prefixes)
        same = old.spec == new.spec and annotations[0] == annotations[1]
        if same and not (is_assigned and old.status != new.status):
            return []
        actions.append(ActionType.UPDATE)
    return [ClusterEvent(resource, action) for action in actions]


def _under(annotations: Mapping[str, str], prefixes: tuple[str, ...]) -> dict[str, str]:
    return {key: text for key, text in annotations.items() if key.startswith(prefixes)}


def _asks_less(old: Pod, new: Pod) -> bool:
    """Of anything. One that cannot be read asks for nothing less."""
    if (old.spec, old.status) == (new.spec, new.status):
        return False
    try:
        before, after = _requests(old), _requests(new)
    except QuantityError:
        return False
    return any(after.get(name, 0) < amount for name, amount in before.items())


def _requests(pod: Pod) -> Mapping[str, int]:
    return held_requests(pod)[0] if pod.spec.node_name else pod_requests(pod)


def node_events(old: Node, new: Node) -> list[ClusterEvent]:
    """What an update of a Node changed of what plugins look at; nothing in a kubelet's heartbeat."""
    before, after = old.status, new.status
    actions = []
    if before.allocatable != after.allocatable:
        actions.append(ActionType.UPDATE_NODE_ALLOCATABLE)
    if old.metadata.labels != new.metadata.labels:
        actions.append(ActionType.UPDATE_NODE_LABEL)
    if old.spec.taints != new.spec.taints or (old.spec.unschedulable and not new.spec.unschedulable):
        actions.append(ActionType.UPDATE_NODE_TAINT)
    if {each.type: each.status for each in before.conditions} != {each.type: each.status for each in after.conditions}:
        actions.append(ActionType.UPDATE_NODE_CONDITION)
    if old.metadata.annotations != new.metadata.annotations:
        actions.append(ActionType.UPDATE_NODE_ANNOTATION)
    if before.declared_features != after.declared_features:
        actions.append(ActionType.UPDATE_NODE_DECLARED_FEATURE)
    return [ClusterEvent(NODE, action) for action in actions]
