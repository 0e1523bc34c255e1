"""The scheduler's face of DeviceShare: hooks that ask the allocator and keep the books."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from koordpy_api.columns import NodeColumns, Selection, Verdicts, stretch
from koordpy_api.errors import Finding, Problem
from koordpy_api.events import EventRegistration
from koordpy_api.handle import Handle
from koordpy_api.koordinator import SCHEDULING_PREFIX, encode_gpu_lists
from koordpy_api.markers import hookimpl
from koordpy_api.node_info import NodeInfo, PodInfo
from koordpy_api.objects import Device, KubeObject, Pod
from koordpy_api.results import PodPatch, PreBindPlan
from koordpy_api.state import CycleState, StateKey, share
from koordpy_api.status import Status
from koordpy_deviceshare import refusals
from koordpy_deviceshare.allocator import allocate, shortage
from koordpy_deviceshare.args import DeviceShareArgs
from koordpy_deviceshare.auditing import audit, recount
from koordpy_deviceshare.cache import DeviceCache, cards_of_a_plugin
from koordpy_deviceshare.card_columns import CardColumns
from koordpy_deviceshare.designated import NoSuchDevice, limited_to
from koordpy_deviceshare.dialects import (
    RESOURCES,
    Wish,
    Wishes,
    check_pod,
    disown,
    says_something,
    tells_the_same,
)
from koordpy_deviceshare.gates import Gates, refuse_without_device
from koordpy_deviceshare.listing import read_device
from koordpy_deviceshare.metrics import AllocationCount, show_cards
from koordpy_deviceshare.model import Allocation, NodeDevices, Shortage
from koordpy_deviceshare.request import DeviceRequest
from koordpy_deviceshare.scoring import Preferences
from koordpy_deviceshare.vector import AllNodes
from koordpy_deviceshare.waking import Waking

WISH: Final = StateKey[Wish]("DeviceShare", clone=share)
"""What the Pod asks; absent if it asks for no device."""

LEAVING: Final = StateKey[dict[str, frozenset[str]]]("DeviceShare/leaving", clone=dict)
"""In a dry run: node → UIDs of the pods on it that are thought away."""

HELD: Final = StateKey[Allocation]("DeviceShare/held", clone=share)
"""What Reserve took for it."""

NOBODY: Final = frozenset[str]()


class DeviceShare:
    """Give pods whole cards or shares of one, never the same share twice, and write down which."""

    Args = DeviceShareArgs
    ANNOTATIONS = (SCHEDULING_PREFIX,)

    def __init__(self, args: DeviceShareArgs, handle: Handle) -> None:
        # Shared: a card that one profile has taken for a Pod not yet bound is taken for every profile.
        self._cache = handle.shared("DeviceShare/books", lambda: DeviceCache(handle.report))
        handle.watch(Device, self._cache)
        self._handle = handle
        self._waking = Waking(self._fits_now)
        self._gates = Gates(args)
        self._wishes = Wishes()
        self._prefer = Preferences(args)
        cards = handle.shared("DeviceShare/columns", lambda: CardColumns(self._cache))
        self._all_nodes = AllNodes(cards, self._gates, self._prefer.nodes)
        self._count = handle.shared("DeviceShare/count", lambda: AllocationCount(handle.metrics, self._cache))
        show_cards(handle.metrics, self._cache)

    @staticmethod
    def accounts_for(args: DeviceShareArgs) -> frozenset[str]:
        """Every name that asks for a device, also those that are refused: a node's sum of them means nothing."""
        return RESOURCES

    @property
    def books(self) -> DeviceCache:
        """The books, for whoever checks them."""
        return self._cache

    # Objects as people write them

    @hookimpl
    def check(self, obj: KubeObject) -> Sequence[Problem]:
        match obj:
            case Device():
                return read_device(obj).problems
            case Pod():
                return check_pod(obj)
            case _:
                return ()

    # Scheduling

    @hookimpl
    def pre_filter(self, state: CycleState, pod: Pod, nodes: Sequence[NodeInfo]) -> Status | None:
        match self._wishes.of(pod):
            case None:
                return Status.skip()
            case Status() as refusal:
                return refusal
            case Wish(request=request) if request.needs_template:
                return refusals.no_template()
            case wish:
                state.write(WISH, wish)
                state.write(LEAVING, {})
                return None

    @hookimpl
    def remove_pod(self, state: CycleState, pod: Pod, removed: PodInfo, node_info: NodeInfo) -> Status | None:
        leaving = state.read(LEAVING)
        leaving[node_info.name] = leaving.get(node_info.name, frozenset()) | {removed.uid}
        return None

    @hookimpl
    def add_pod(self, state: CycleState, pod: Pod, added: PodInfo, node_info: NodeInfo) -> Status | None:
        """Only takes remove_pod back: what a Pod would get that holds nothing yet, nobody knows."""
        leaving = state.read(LEAVING)
        leaving[node_info.name] = leaving.get(node_info.name, frozenset()) - {added.uid}
        return None

    @hookimpl
    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status | None:
        request, node = state.read(WISH).request, node_info.name
        if not self._cache.has_device(node):
            return refuse_without_device(request, node_info, is_plain=self._cache.is_plain(node))
        of = self._cache.listing_of(node)
        refusal = self._gates.refuse(request, node_info, of.vendor, has_partitions=of.has_partitions)
        if refusal is not None:
            return refusal
        devices = self._devices(state, request, node)
        if isinstance(devices, Status):
            return devices
        short = shortage(request, devices)
        return None if short is None else refusals.insufficient(short)

    @hookimpl
    def filter_nodes(self, state: CycleState, pod: Pod, columns: NodeColumns) -> Verdicts | None:
        request = state.read(WISH).request
        plan = self._all_nodes.plan(request)
        if plan is None or state.read(LEAVING):
            answers = (self.filter(state, pod, node) for node in columns.nodes)
            return Verdicts.one_by_one(answers, len(columns))
        return self._all_nodes.verdicts(request, plan, columns)

    @hookimpl
    def pre_score(self, state: CycleState, pod: Pod, nodes: Sequence[NodeInfo]) -> Status | None:
        return Status.skip() if state.get(WISH) is None else None

    @hookimpl
    def score(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> int:
        if (wish := state.get(WISH)) is None:
            return 0
        leaving = state.read(LEAVING).get(node_info.name, NOBODY)
        return self._prefer.nodes.rate_node(wish.request, self._cache.devices_of(node_info.name, leaving))

    @hookimpl
    def score_nodes(self, state: CycleState, pod: Pod, columns: NodeColumns, rows: Selection) -> npt.NDArray[np.int64]:
        if (wish := state.get(WISH)) is None:
            return np.zeros(len(columns), dtype=np.int64)[rows]
        plan = self._all_nodes.plan(wish.request)
        if plan is None or state.read(LEAVING):
            nodes = [columns.nodes[row] for row in np.arange(len(columns))[rows].tolist()]
            return np.array([self.score(state, pod, node) for node in nodes], dtype=np.int64)
        return self._all_nodes.ratings(wish.request, plan, columns, rows)

    @hookimpl
    def normalize_scores(self, scores: npt.NDArray[np.int64]) -> None:
        if len(scores):
            stretch(scores)

    @hookimpl
    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        if (wish := state.get(WISH)) is None:
            return None
        self._cache.forget(node_name, pod.uid)  # its own old booking must not stand in its way
        if not self._cache.has_device(node_name):
            # Filter has seen that the device plugin has enough; it will choose, and nothing is written.
            is_left_to_plugin = wish.request.vendor_cards and self._cache.is_plain(node_name)
            return None if is_left_to_plugin else refusals.no_device()
        devices = self._devices(state, wish.request, node_name)
        if isinstance(devices, Status):
            return devices
        match allocate(wish.request, devices, self._prefer):
            case Shortage() as short:
                return refusals.insufficient(short)
            case Allocation() as held:
                self._cache.assume(node_name, pod, held.devices)
                self._count.succeeded(pod)
                state.write(HELD, held)
                return None

    @hookimpl
    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        self._cache.forget(node_name, pod.uid)
        state.delete(HELD)

    @hookimpl
    def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> PreBindPlan | None:
        # A Pod made from another's YAML tells of devices that it does not get; after a restart it would be believed.
        told = disown(pod.metadata.annotations)
        if (held := state.get(HELD)) is not None:
            annotations = state.read(WISH).dialect.to_annotations(held)
            self._cache.writes(node_name, pod.uid, annotations)
            told |= {**annotations, **encode_gpu_lists(held.devices)}
        return PreBindPlan(PodPatch(told)) if told else None

    def _devices(self, state: CycleState, request: DeviceRequest, node_name: str) -> NodeDevices | Status:
        """What the Pod may get of a node, as Filter and Reserve see it alike; a refusal if that cannot be said."""
        leaving = state.read(LEAVING).get(node_name, NOBODY)
        if unreadable := self._cache.unreadable_on(node_name, leaving):
            return refusals.unreadable_pods(unreadable)
        devices = self._cache.devices_of(node_name, leaving)
        if request.designated is None:
            return devices
        try:
            return limited_to(request.designated, devices)
        except NoSuchDevice as error:
            return refusals.no_designated(error, node_name)

    # After a refusal

    @hookimpl
    def events_to_register(self) -> Sequence[EventRegistration]:
        return self._waking.registrations()

    def _fits_now(self, pod: Pod, wish: Wish, node_name: str) -> bool:
        node_info = self._handle.node_info(node_name)
        if node_info is None or node_info.node is None:
            return False
        state = CycleState()
        state.write(WISH, wish)
        state.write(LEAVING, {})
        return self.filter(state, pod, node_info) is None

    # Books

    @hookimpl
    def audit(self, nodes: Sequence[NodeInfo]) -> Sequence[Finding]:
        return list(audit(self._cache))

    @hookimpl
    def recount(self, objects: Sequence[KubeObject], assumed: frozenset[str]) -> Sequence[str]:
        return list(recount(self._cache, objects, assumed))

    # What the host tells

    @hookimpl
    def pod_refused(self, pod: Pod, plugins: frozenset[str]) -> None:
        if "DeviceShare" in plugins:
            self._count.failed(pod)

    @hookimpl
    def pod_added(self, pod: Pod, node_info: NodeInfo) -> None:
        # An assumed Pod is not bound yet; an annotation on it is left from some earlier try.
        if pod.spec.node_name and not pod.is_terminated:
            self._cache.pod_seen(node_info.name, pod)

    @hookimpl
    def pod_updated(self, old: PodInfo, new: Pod, node_info: NodeInfo) -> None:
        if new.is_terminated:
            self._cache.pod_gone(node_info.name, new.uid)
        elif new.spec.node_name and self._says_something_new(old, new, node_info.name):
            self._cache.pod_seen(node_info.name, new)

    @hookimpl
    def pod_removed(self, pod: PodInfo, node_info: NodeInfo) -> None:
        self._cache.pod_gone(node_info.name, pod.uid)

    @hookimpl
    def node_updated(self, old: NodeInfo, new: NodeInfo) -> None:
        self._cache.node_seen(new.name, exists=new.node is not None)

    def _says_something_new(self, old: PodInfo, new: Pod, node_name: str) -> bool:
        """Most updates touch only a Pod's status; but the first one after a bind settles what we assumed.

        Then we also learn of a bind by which a device plugin chose the cards, and of an annotation that the bind left
        standing, since somebody else wrote it.
        """
        if not tells_the_same(old.annotations, new.metadata.annotations):
            return True
        if self._cache.knows(node_name, new.uid):
            return self._cache.is_assumed(node_name, new.uid)
        return says_something(new.metadata.annotations) or cards_of_a_plugin(new) > 0
