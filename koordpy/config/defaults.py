"""The default profile, spelled out: which plugins, in which order, with which weight at Score.

Source: kube-scheduler's default multiPoint set, as far as its plugins are built; DeviceShare is ours.
"""

from typing import Final

DEFAULT_SCHEDULER_NAME: Final = "koordpy-scheduler"

DEFAULT_PLUGINS: Final = (
    ("PrioritySort", 0),
    ("NodeUnschedulable", 0),
    ("NodeName", 0),
    ("TaintToleration", 3),
    ("NodeResourcesFit", 1),
    ("DeviceShare", 1),
    ("DefaultBinder", 0),
)
