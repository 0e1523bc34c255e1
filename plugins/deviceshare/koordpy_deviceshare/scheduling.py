"""The scheduler's face of DeviceShare: hooks that ask the allocator and keep the books."""

from collections.abc import Sequence
from typing import Final

from koordpy_api.errors import Problem
from koordpy_api.handle import Handle
from koordpy_api.koordinator import SCHEDULING_PREFIX
from koordpy_api.markers import hookimpl
from koordpy_api.node_info import NodeInfo, PodInfo
from koordpy_api.objects import Device, KubeObject, Pod
from koordpy_api.results import PodPatch, PreBindPlan
from koordpy_api.state import CycleState, StateKey, share
from koordpy_api.status import Status
from koordpy_deviceshare import refusals
from koordpy_deviceshare.allocator import allocate, shortage
from koordpy_deviceshare.args import DeviceShareArgs
from koordpy_deviceshare.cache import DeviceCache, read_device
from koordpy_deviceshare.dialects import RESOURCES, Wish, check_pod, read_wish, tells_the_same
from koordpy_deviceshare.model import Allocation, Shortage

WISH: Final = StateKey[Wish]("DeviceShare", clone=share)
"""What the Pod asks; absent if it asks for no device."""

HELD: Final = StateKey[Allocation]("DeviceShare/held", clone=share)
"""What Reserve took for it."""


class DeviceShare:
    """Give pods whole cards or shares of one, never the same share twice, and write down which."""

    Args = DeviceShareArgs
    ANNOTATIONS = (SCHEDULING_PREFIX,)

    def __init__(self, args: DeviceShareArgs, handle: Handle) -> None:
        # Shared: a card that one profile has taken for a Pod not yet bound is taken for every profile.
        self._cache = handle.shared("DeviceShare/books", lambda: DeviceCache(handle.report))
        handle.watch(Device, self._cache)

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
                return read_device(obj)[1]
            case Pod():
                return check_pod(obj)
            case _:
                return ()

    # Scheduling

    @hookimpl
    def pre_filter(self, state: CycleState, pod: Pod, nodes: Sequence[NodeInfo]) -> Status | None:
        match read_wish(pod):
            case None:
                return Status.skip()
            case Status() as refusal:
                return refusal
            case wish:
                state.write(WISH, wish)
                return None

    @hookimpl
    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status | None:
        request, node = state.read(WISH).request, node_info.name
        if (refusal := self._refuse_unreadable(node)) is not None:
            return refusal
        short = shortage(request, self._cache.devices_of(node))
        return None if short is None else refusals.insufficient(short)

    @hookimpl
    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        if (wish := state.get(WISH)) is None:
            return None
        if (refusal := self._refuse_unreadable(node_name)) is not None:
            return refusal
        self._cache.forget(node_name, pod.uid)  # its own old booking must not stand in its way
        match allocate(wish.request, self._cache.devices_of(node_name)):
            case Shortage() as short:
                return refusals.insufficient(short)
            case Allocation() as held:
                self._cache.assume(node_name, pod.uid, held.devices)
                state.write(HELD, held)
                return None

    @hookimpl
    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        self._cache.forget(node_name, pod.uid)
        state.delete(HELD)

    @hookimpl
    def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> PreBindPlan | None:
        if (held := state.get(HELD)) is None:
            return None
        return PreBindPlan(PodPatch(state.read(WISH).dialect.to_annotations(held)))

    def _refuse_unreadable(self, node_name: str) -> Status | None:
        unreadable = self._cache.unreadable_on(node_name)
        return refusals.unreadable_pods(unreadable) if unreadable else None

    # What the host tells

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
        """Most updates touch only a Pod's status; but the first one after a bind settles what we assumed."""
        same = tells_the_same(old.annotations, new.metadata.annotations)
        return not same or self._cache.is_assumed(node_name, new.uid)
