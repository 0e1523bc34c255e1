"""What a node must be, apart from having enough left, for a Pod to share or to take its devices."""

from typing import Final

from koordpy_api.columns import Flags, NodeColumns
from koordpy_api.koordinator import GPU_ISOLATION_PROVIDER, GPU_MODEL, GPU_VENDOR
from koordpy_api.node_info import NodeInfo
from koordpy_api.status import Status
from koordpy_deviceshare import refusals
from koordpy_deviceshare.args import DeviceShareArgs
from koordpy_deviceshare.request import DeviceRequest
from koordpy_deviceshare.vendors import KNOWN_VENDORS, VENDOR_OF

_ALL: Final = slice(None)


class Gates:
    """whole_only: (vendor, model) of cards that are not shared."""

    def __init__(self, args: DeviceShareArgs) -> None:
        self._whole_only = frozenset((each.vendor, each.model) for each in args.gpu_share_unsupported_models)

    def refuse(
        self, request: DeviceRequest, node: NodeInfo, vendor: str, *, has_partitions: bool = False
    ) -> Status | None:
        """Why this Pod cannot be here, however much is left; None if it can.

        vendor, has_partitions: as the node's Device says it; a vendor that nobody knows may be any.
        """
        if (gpus := request.gpus) is None:
            return None
        name = request.vendor_cards
        if name and vendor in KNOWN_VENDORS and vendor != VENDOR_OF[name]:
            return refusals.other_vendor(name, vendor)
        if not gpus.is_whole:
            if request.isolation and node.labels.get(GPU_ISOLATION_PROVIDER) != request.isolation:
                return refusals.no_provider()
            if self._whole_only:
                kind = node.labels.get(GPU_VENDOR, ""), node.labels.get(GPU_MODEL, "")
                if kind in self._whole_only:
                    return refusals.not_shared(*kind)
        elif request.partitioned:
            return refusals.partitions_not_known() if has_partitions else refusals.no_partitions()
        return refusals.no_topology() if gpus.scope else None  # nor where its devices sit

    def refusals_by_label(self, request: DeviceRequest, columns: NodeColumns) -> list[tuple[Flags, Status]]:
        """What `refuse` says for the labels of nodes, of all of them: which nodes, why. The first that holds counts."""
        if request.gpus is None or request.gpus.is_whole:
            return []
        found: list[tuple[Flags, Status]] = []
        if wanted := request.isolation:
            found.append((~columns.label(GPU_ISOLATION_PROVIDER).among(_ALL, (wanted,)), refusals.no_provider()))
        for vendor, model in sorted(self._whole_only):
            flags = _has(columns, GPU_VENDOR, vendor) & _has(columns, GPU_MODEL, model)
            found.append((flags, refusals.not_shared(vendor, model)))
        return found


def _has(columns: NodeColumns, key: str, value: str) -> Flags:
    """Which nodes have this label? Not to have it is to have it empty."""
    return columns.label(key).among(_ALL, (value,) if value else (None, ""))


def refuse_without_device(request: DeviceRequest, node: NodeInfo, *, is_plain: bool) -> Status | None:
    """On a node of which no Device tells: cards of a vendor are its device plugin's to give, if that ever was so.

    is_plain: there never was a Device, and no Pod there has cards by our word.
    """
    name, gpus = request.vendor_cards, request.gpus
    if not (is_plain and name and gpus and node.allocatable.get(name, 0)):
        return refusals.no_device()
    free = node.allocatable[name] - node.requested.get(name, 0)
    return None if gpus.count <= free else refusals.insufficient_count(name, gpus.count, free)
