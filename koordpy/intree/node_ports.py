"""NodePorts: two Pods cannot listen on one port of a node."""

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np

from koordpy_api import (
    ActionType,
    ClusterEvent,
    CycleState,
    EventRegistration,
    Handle,
    Kept,
    NoArgs,
    NodeColumns,
    NodeInfo,
    PodInfo,
    QueueingHint,
    StateKey,
    Status,
    Verdicts,
    hookimpl,
    share,
)
from koordpy_api.columns import Codes, Selection
from koordpy_api.events import NODE, POD
from koordpy_api.objects import ALL_IPS, HostPort, KubeObject, Pod

REFUSAL = Status.unschedulable("node(s) didn't have free ports for the requested pod ports")

Wanted = frozenset[HostPort]
WANTED = StateKey[Wanted]("NodePorts", clone=share)


class NodePorts:
    """Source: kube-scheduler's nodeports plugin."""

    Args = NoArgs

    def __init__(self, args: NoArgs, handle: Handle) -> None:
        # (protocol, port) → node → Pod's UID → the IPs on which it listens. For all nodes at once; of one node its own
        # pods are asked, since it may be a fork.
        self._listening: dict[tuple[str, int], dict[str, dict[str, frozenset[str]]]] = {}
        self._codes = Kept(self._codes_of)

    # What is known of the pods that run

    @hookimpl
    def pod_added(self, pod: Pod, node_info: NodeInfo) -> None:
        for port, ips in _by_port(node_info.pods[pod.uid].host_ports).items():
            self._listening.setdefault(port, {}).setdefault(node_info.name, {})[pod.uid] = ips

    @hookimpl
    def pod_removed(self, pod: PodInfo) -> None:
        for port in _by_port(pod.host_ports):
            nodes = self._listening.get(port, {})
            pods = nodes.get(pod.node_name, {})
            pods.pop(pod.uid, None)
            if not pods:
                nodes.pop(pod.node_name, None)
            if not nodes:
                self._listening.pop(port, None)

    @hookimpl
    def pod_updated(self, old: PodInfo, new: Pod, node_info: NodeInfo) -> None:
        if old.host_ports != node_info.pods[new.uid].host_ports:  # the API server lets nobody change them
            self.pod_removed(old)
            self.pod_added(new, node_info)

    @hookimpl
    def recount(self, objects: Sequence[KubeObject], assumed: frozenset[str]) -> Sequence[str]:
        believed = {
            (node, uid, protocol, ip, number)
            for (protocol, number), nodes in self._listening.items()
            for node, pods in nodes.items()
            for uid, ips in pods.items()
            if uid not in assumed
            for ip in ips
        }
        pods = [obj for obj in objects if isinstance(obj, Pod)]
        exists = {(pod.spec.node_name, pod.uid, *port) for pod in pods for port in pod.host_ports}
        return [
            *(f"pod {uid} is believed to listen on {node}: {port}" for node, uid, *port in sorted(believed - exists)),
            *(
                f"pod {uid} listens on {node}, which nobody believes: {port}"
                for node, uid, *port in sorted(exists - believed)
            ),
        ]

    # Which nodes fit

    @hookimpl
    def pre_filter(self, state: CycleState, pod: Pod) -> Status | None:
        if not (wanted := frozenset(pod.host_ports)):
            return Status.skip()
        state.write(WANTED, wanted)
        return None

    @hookimpl
    def filter(self, state: CycleState, node_info: NodeInfo) -> Status | None:
        wanted = state.read(WANTED)
        taken = chain.from_iterable(pod.host_ports for pod in node_info.pods.values() if pod.host_ports)
        return REFUSAL if _clash(wanted, taken) else None

    @hookimpl
    def filter_nodes(self, state: CycleState, columns: NodeColumns) -> Verdicts | None:
        wanted = state.read(WANTED)
        if not any((protocol, number) in self._listening for protocol, _, number in wanted):
            return None
        return Verdicts(self._codes.of(wanted, columns), (REFUSAL,))

    def _codes_of(self, wanted: Wanted, columns: NodeColumns, rows: Selection) -> Codes:
        if not isinstance(rows, slice):
            return np.array([self._is_taken(wanted, columns.names[row]) for row in rows.tolist()], dtype=np.uint16)
        codes = np.zeros(len(columns), dtype=np.uint16)
        names = {name for protocol, _, number in wanted for name in self._listening.get((protocol, number), ())}
        for name in names:
            if (row := columns.row_of(name)) is not None:
                codes[row] = self._is_taken(wanted, name)
        return codes

    def _is_taken(self, wanted: Wanted, node_name: str) -> bool:
        for protocol, ip, number in wanted:
            pods = self._listening.get((protocol, number), {}).get(node_name)
            if pods and any(_same_ip(ip, other) for ips in pods.values() for other in ips):
                return True
        return False

    # After which events a Pod may fit

    @hookimpl
    def events_to_register(self) -> Sequence[EventRegistration]:
        return [
            EventRegistration(ClusterEvent(POD, ActionType.DELETE), _frees_a_port),
            EventRegistration(ClusterEvent(NODE, ActionType.ADD)),
        ]


def _by_port(ports: Iterable[HostPort]) -> dict[tuple[str, int], frozenset[str]]:
    """(protocol, port) → IPs."""
    found: dict[tuple[str, int], frozenset[str]] = {}
    for protocol, ip, number in ports:
        found[protocol, number] = found.get((protocol, number), frozenset()) | {ip}
    return found


def _clash(wanted: Iterable[HostPort], taken: Iterable[HostPort]) -> bool:
    wanted = tuple(wanted)
    return any(
        (protocol, number) == (other_protocol, other_number) and _same_ip(ip, other_ip)
        for other_protocol, other_ip, other_number in taken
        for protocol, ip, number in wanted
    )


def _same_ip(one: str, other: str) -> bool:
    return one == other or ALL_IPS in (one, other)


def _frees_a_port(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
    """It counted on a node, or was promised one, and listened where this Pod wants to."""
    if not isinstance(old, Pod) or not (old.spec.node_name or old.status.nominated_node_name):
        return QueueingHint.SKIP
    return QueueingHint.when(_clash(pod.host_ports, old.host_ports))
