"""DeviceShare alone on a stage: its hooks called one by one, in the order in which the host would."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

import msgspec

from koordpy.telemetry.metrics import PluginMetrics
from koordpy.testing import make_node, make_pod
from koordpy_api.errors import Problem
from koordpy_api.handle import ObjectHandler, WaitingPod
from koordpy_api.koordinator import DEVICE_ALLOCATED, GPU_CORE, GPU_MEMORY_RATIO
from koordpy_api.node_info import NodeInfo, PodInfo
from koordpy_api.objects import Device, KubeObject, Pod
from koordpy_api.state import CycleState
from koordpy_api.status import Code, Status
from koordpy_deviceshare.args import DeviceShareArgs
from koordpy_deviceshare.model import Card
from koordpy_deviceshare.scheduling import DeviceShare

Amounts = Mapping[str, str | int]
T = TypeVar("T")
K = TypeVar("K", bound=KubeObject)

GI = 1024**3
HALF = {GPU_CORE: "50", GPU_MEMORY_RATIO: "50"}
"""What a Pod asks that wants half a card."""


class Host:
    """Calls one DeviceShare in the order in which the host would. Every node exists."""

    def __init__(self, args: DeviceShareArgs | None = None) -> None:
        self.accounted_resources: frozenset[str] = frozenset()
        self.reports: list[tuple[str, str, Problem]] = []
        self.handlers: dict[type[KubeObject], ObjectHandler[Any]] = {}
        self.believed: dict[str, object] = {}
        self.metrics = PluginMetrics()
        self.plugin = DeviceShare(args or DeviceShareArgs(), self)
        self.states: dict[str, CycleState] = {}

    def watch(self, kind: type[K], handler: ObjectHandler[K]) -> None:
        self.handlers[kind] = handler

    def shared(self, name: str, make: Callable[[], T]) -> T:
        if name not in self.believed:
            self.believed[name] = make()
        return cast(T, self.believed[name])

    def report(self, kind: str, name: str, problem: Problem) -> None:
        self.reports.append((kind, name, problem))

    def node_info(self, name: str) -> NodeInfo | None:
        return None

    def waiting_pods(self) -> Sequence[WaitingPod]:
        return []

    def waiting_pod(self, uid: str) -> WaitingPod | None:
        return None

    # What the API server tells

    def show_node(self, name: str) -> None:
        self.plugin.node_updated(NodeInfo(name), node_of(name))

    def hide_node(self, name: str) -> None:
        self.plugin.node_updated(node_of(name), NodeInfo(name))

    def list_device(self, device: Device) -> None:
        self.handlers[Device].added(device)

    def change_device(self, old: Device, new: Device) -> None:
        self.handlers[Device].updated(old, new)

    def delete_device(self, device: Device) -> None:
        self.handlers[Device].deleted(device)

    def see(self, pod: Pod) -> None:
        """A Pod arrives assigned."""
        self.plugin.pod_added(pod, node_of(pod.spec.node_name))

    def see_again(self, old: Pod, new: Pod, node: str = "") -> None:
        """An update of a Pod that counts; also the echo of a bind, with the unassigned Pod as `old`."""
        info = PodInfo.of(old, self.plugin.ANNOTATIONS, node or new.spec.node_name)
        self.plugin.pod_updated(info, new, node_of(info.node_name))

    def lose(self, pod: Pod, node: str = "") -> None:
        """The Pod counts on its node no longer."""
        info = PodInfo.of(pod, self.plugin.ANNOTATIONS, node)
        self.plugin.pod_removed(info, node_of(info.node_name))

    # What a cycle asks

    def begin(self, pod: Pod) -> Status | None:
        self.states[pod.uid] = CycleState()
        return self.plugin.pre_filter(self.states[pod.uid], pod, [])

    def try_node(self, pod: Pod, node: str = "node") -> Status | None:
        """PreFilter and Filter."""
        answer = self.begin(pod)
        return answer or self.plugin.filter(self.states[pod.uid], pod, node_of(node))

    def hold(self, pod: Pod, node: str = "node") -> Status | None:
        """PreFilter, Filter, assume, Reserve."""
        if (answer := self.try_node(pod, node)) is not None and answer.code is not Code.SKIP:
            return answer
        self.plugin.pod_added(pod, node_of(node))
        return self.plugin.reserve(self.states[pod.uid], pod, node)

    def plan(self, pod: Pod, node: str = "node") -> str:
        """PreBind: the text of the annotation."""
        plan = self.plugin.pre_bind(self.states[pod.uid], pod, node)
        return "" if plan is None else plan.pod.annotations.get(DEVICE_ALLOCATED, "")

    def bind(self, pod: Pod, node: str = "node") -> Pod:
        """A whole cycle and its echo. Fails the test if the Pod is refused."""
        refusal = self.hold(pod, node)
        assert refusal is None, refusal
        bound = assigned(pod, node, self.plan(pod, node))
        self.see_again(pod, bound)
        return bound

    def give_up(self, pod: Pod, node: str = "node") -> None:
        """Something after Reserve failed: unreserve, forget."""
        self.plugin.unreserve(self.states[pod.uid], pod, node)
        self.lose(pod, node)

    def info(self, name: str, node: str = "node") -> PodInfo:
        """A Pod of default that counts on this node, as its NodeInfo has it."""
        return PodInfo.of(make_pod(name), self.plugin.ANNOTATIONS, node)

    def card(self, minor: int, node: str = "node") -> Card:
        return next(card for card in self.plugin.books.devices_of(node).gpus if card.minor == minor)


def node_of(name: str) -> NodeInfo:
    return NodeInfo(name).with_node(make_node(name))


def assigned(pod: Pod, node: str = "node", annotation: str | None = None, phase: str = "Running") -> Pod:
    """The same Pod as the API server shows it after somebody bound it."""
    annotations = dict(pod.metadata.annotations) if annotation is None else {DEVICE_ALLOCATED: annotation}
    replace = msgspec.structs.replace
    return replace(
        pod,
        metadata=replace(pod.metadata, annotations=annotations),
        spec=replace(pod.spec, node_name=node),
        status=replace(pod.status, phase=phase),
    )
