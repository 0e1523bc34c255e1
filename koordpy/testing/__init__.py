"""The kit for plugin authors; koordpy's own tests use nothing else to build pods and nodes.

Lives here: makers (make_pod, make_node, make_device and their manifests), the cycle harness (one attempt with the real
framework, cache and cycle, without a cluster), pytest fixtures.
May touch: everything of the host. Never: real time, a real cluster.
"""

from koordpy.testing.conformance import check_plugin
from koordpy.testing.harness import CycleHarness, build_profile, columns_of
from koordpy.testing.makers import (
    device_manifest,
    gpu,
    make_device,
    make_node,
    make_pod,
    node_manifest,
    pod_manifest,
    read_object,
)
from koordpy.testing.shapes import check_shapes

__all__ = [
    "CycleHarness",
    "build_profile",
    "check_plugin",
    "check_shapes",
    "columns_of",
    "device_manifest",
    "gpu",
    "make_device",
    "make_node",
    "make_pod",
    "node_manifest",
    "pod_manifest",
    "read_object",
]
