"""The public surface that koordpy and its plugins share.

Lives here: hook specifications, Kubernetes objects as far as they are read, exact quantities, Status, CycleState,
NodeInfo and PodInfo, the answers of hooks, the Handle, Koordinator's wire names.
May touch: its arguments; everything here is a value or a pure function.
Never: sockets, files, the clock, logging, an event loop, the host or a plugin.
"""

from koordpy_api.args import NoArgs, PluginArgs
from koordpy_api.columns import Changes, Kept, NodeColumns, Verdicts, floor_div
from koordpy_api.errors import AnnotationError, Finding, Problem, QuantityError
from koordpy_api.events import ActionType, ClusterEvent, EventRegistration, QueueingHint
from koordpy_api.handle import Handle, ObjectHandler, WaitingPod
from koordpy_api.markers import hookimpl, hookspec
from koordpy_api.memo import PodMemo
from koordpy_api.metrics import Counter, Gauge, Metrics
from koordpy_api.node_info import ImageState, NodeInfo, PodInfo
from koordpy_api.results import (
    Binding,
    PodPatch,
    PostFilterResult,
    PreBindPlan,
    PreFilterResult,
    QueuedPod,
    SortKey,
    Wait,
)
from koordpy_api.state import CycleState, StateKey, share
from koordpy_api.status import Code, Status

API_VERSION = 1

__all__ = [
    "API_VERSION",
    "ActionType",
    "AnnotationError",
    "Binding",
    "Changes",
    "ClusterEvent",
    "Code",
    "Counter",
    "CycleState",
    "EventRegistration",
    "Finding",
    "Gauge",
    "Handle",
    "ImageState",
    "Kept",
    "Metrics",
    "NoArgs",
    "NodeColumns",
    "NodeInfo",
    "ObjectHandler",
    "PluginArgs",
    "PodInfo",
    "PodMemo",
    "PodPatch",
    "PostFilterResult",
    "PreBindPlan",
    "PreFilterResult",
    "Problem",
    "QuantityError",
    "QueuedPod",
    "QueueingHint",
    "SortKey",
    "StateKey",
    "Status",
    "Verdicts",
    "Wait",
    "WaitingPod",
    "floor_div",
    "hookimpl",
    "hookspec",
    "share",
]
