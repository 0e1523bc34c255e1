"""kube-scheduler's whole default profile as data, and what koordpy adds to it.

Names, order, weights and points are upstream's, whether koordpy has built the plugin or not: a file is read, checked
and expanded against all of them. Source: pkg/scheduler/apis/config/v1/default_plugins.go.
"""

from collections.abc import Mapping
from typing import Final

DEFAULT_SCHEDULER_NAME: Final = "koordpy-scheduler"
"""Of the profile that holds without a file."""

POINTS: Final = (
    "preEnqueue",
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
    "placementGenerate",
    "placementScore",
)
"""As in YAML, in the order in which a Pod meets them."""

PLUGIN_TYPES: Final[Mapping[str, str]] = {point: f"{point[0].upper()}{point[1:]}Plugin" for point in POINTS}
"""filter → FilterPlugin, as upstream's texts say it."""

DEFAULT_MULTI_POINT: Final = (
    ("SchedulingGates", 0),
    ("PrioritySort", 0),
    ("NodeUnschedulable", 0),
    ("NodeName", 0),
    ("TaintToleration", 3),
    ("NodeAffinity", 2),
    ("NodePorts", 0),
    ("NodeResourcesFit", 1),
    ("DeviceShare", 1),
    ("VolumeRestrictions", 0),
    ("NodeVolumeLimits", 0),
    ("VolumeBinding", 0),
    ("VolumeZone", 0),
    ("PodTopologySpread", 2),
    ("InterPodAffinity", 2),
    ("DynamicResources", 2),
    ("DefaultPreemption", 0),
    ("NodeResourcesBalancedAllocation", 1),
    ("ImageLocality", 1),
    ("DefaultBinder", 0),
    ("NodeDeclaredFeatures", 0),
)
"""(name, weight) in order. 0: none is written."""

OURS: Final = frozenset({"DeviceShare"})
"""Default plugins of koordpy that upstream's set does not have."""

_SCORER: Final = frozenset({"preFilter", "filter", "preScore", "score"})
_FILTER: Final = frozenset({"preFilter", "filter"})

POINTS_OF: Final[Mapping[str, frozenset[str]]] = {
    "SchedulingGates": frozenset({"preEnqueue"}),
    "PrioritySort": frozenset({"queueSort"}),
    "NodeUnschedulable": frozenset({"filter"}),
    "NodeName": frozenset({"filter"}),
    "TaintToleration": frozenset({"filter", "preScore", "score"}),
    "NodeAffinity": _SCORER,
    "NodePorts": _FILTER,
    "NodeResourcesFit": _SCORER,
    "DeviceShare": _SCORER | {"reserve", "preBind"},
    "VolumeRestrictions": _FILTER,
    "NodeVolumeLimits": _FILTER,
    "VolumeBinding": frozenset({"preFilter", "filter", "preScore", "score", "reserve", "preBind"}),
    "VolumeZone": _FILTER,
    "PodTopologySpread": _SCORER,
    "InterPodAffinity": _SCORER,
    "DynamicResources": frozenset({"preEnqueue", "preFilter", "filter", "postFilter", "score", "reserve", "preBind"}),
    "DefaultPreemption": frozenset({"preEnqueue", "postFilter"}),
    "NodeResourcesBalancedAllocation": frozenset({"preScore", "score"}),
    "ImageLocality": frozenset({"score"}),
    "DefaultBinder": frozenset({"bind"}),
    "NodeDeclaredFeatures": _FILTER,
}
"""Which points each implements."""

REMOVED: Final = frozenset({"AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"})
"""Plugins that Kubernetes once had; NodeVolumeLimits does their work."""

ARGS_KINDS: Final = frozenset(
    {
        "DefaultPreemption",
        "DeviceShare",
        "DynamicResources",
        "InterPodAffinity",
        "NodeAffinity",
        "NodeResourcesBalancedAllocation",
        "NodeResourcesFit",
        "PodTopologySpread",
        "VolumeBinding",
    }
)
"""Plugins whose arguments are the kind <name>Args of the configuration's own apiVersion."""
