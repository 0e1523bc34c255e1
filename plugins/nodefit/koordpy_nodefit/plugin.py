"""The plugin: what a Pod asks for is computed once, then compared with every node."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from koordpy_api import (
    CycleState,
    EventRegistration,
    Finding,
    Handle,
    NodeInfo,
    PodMemo,
    Problem,
    StateKey,
    Status,
    hookimpl,
    share,
)
from koordpy_api.objects import Pod
from koordpy_api.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, non_zero_requests, pod_requests
from koordpy_nodefit.args import NodeResourcesFitArgs
from koordpy_nodefit.scoring import rating
from koordpy_nodefit.waking import Waking

TOO_MANY_PODS = "Too many pods"
# The order in which upstream lists its reasons; extended resources follow by name.
_FIRST = (CPU, MEMORY, EPHEMERAL_STORAGE)


@dataclass(frozen=True, slots=True)
class Asked:
    """What one Pod asks for; units as in koordpy_api.resources.

    compared: (resource, amount, is it another plugin's to decide) in the order of the reasons.
    """

    compared: tuple[tuple[str, int, bool], ...]
    requests: Mapping[str, int]
    non_zero: Mapping[str, int]


ASKED = StateKey[Asked]("NodeResourcesFit", clone=share)


class NodeResourcesFit:
    """Source: kube-scheduler's noderesources plugin (fit.go)."""

    Args = NodeResourcesFitArgs

    def __init__(self, args: NodeResourcesFitArgs, handle: Handle) -> None:
        self._ignored = frozenset(args.ignored_resources)
        self._ignored_groups = frozenset(args.ignored_resource_groups)
        self._rate = rating(args.scoring_strategy)
        self._handle = handle
        self._waiting = PodMemo(self._asked)
        self._waking = Waking(handle.node_info, self._fits)

    @hookimpl
    def pre_filter(self, state: CycleState, pod: Pod) -> None:
        state.write(ASKED, self._asked(pod))

    def _asked(self, pod: Pod) -> Asked:
        requests = pod_requests(pod)
        accounted = self._handle.accounted_resources
        order = sorted(requests, key=lambda name: (_FIRST.index(name) if name in _FIRST else len(_FIRST), name))
        compared = tuple((name, requests[name], name in accounted) for name in order if not self._is_ignored(name))
        return Asked(compared, requests, non_zero_requests(pod))

    @hookimpl
    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status | None:
        """All that is missing, not only the first; unresolvable if even the empty node would not do."""
        reasons: list[str] = []
        hopeless = False
        if len(node_info.pods) + 1 > node_info.allowed_pods:
            reasons.append(TOO_MANY_PODS)
        allocatable, requested = node_info.allocatable, node_info.requested
        for name, amount, is_accounted in state.read(ASKED).compared:
            capacity = allocatable.get(name)
            if capacity is None:
                if is_accounted:
                    continue  # the node says nothing of it; the plugin that accounts for it knows
                capacity = 0
            if amount > capacity - requested.get(name, 0):
                reasons.append(f"Insufficient {name}")
                hopeless = hopeless or amount > capacity
        if not reasons:
            return None
        return Status.unresolvable(*reasons) if hopeless else Status.unschedulable(*reasons)

    @hookimpl
    def score(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> int:
        asked = state.read(ASKED)
        return self._rate(node_info, asked.requests, asked.non_zero)

    @hookimpl
    def events_to_register(self) -> Sequence[EventRegistration]:
        return self._waking.registrations()

    def _fits(self, pod: Pod, node_info: NodeInfo) -> bool:
        state = CycleState()
        state.write(ASKED, self._waiting.of(pod))
        return self.filter(state, pod, node_info) is None

    @hookimpl
    def audit(self, nodes: Sequence[NodeInfo]) -> Sequence[Finding]:
        """Nodes that gave away more than they have, as two schedulers can do that do not hear of each other in time."""
        return [
            Finding("Node", node.name, Problem(f"status.allocatable[{name}]", has, f"its pods ask for {asked}"))
            for node in nodes
            for name, has, asked in self._over(node)
        ]

    def _over(self, node: NodeInfo) -> Iterator[tuple[str, str, str]]:
        """Resource, what there is, what is asked for; as people write amounts."""
        if len(node.pods) > node.allowed_pods:
            yield PODS, str(node.allowed_pods), str(len(node.pods))
        for name, asked in sorted(node.requested.items()):
            has = node.allocatable.get(name, 0)
            if asked > has and name not in self._handle.accounted_resources and not self._is_ignored(name):
                unit = "m" if name == CPU else ""
                yield name, f"{has}{unit}", f"{asked}{unit}"

    def _is_ignored(self, resource: str) -> bool:
        """Only extended resources can be; Kubernetes' own are always compared."""
        group, slash, _ = resource.partition("/")
        if not slash or group == "kubernetes.io" or group.endswith(".kubernetes.io"):
            return False
        return resource in self._ignored or group in self._ignored_groups
