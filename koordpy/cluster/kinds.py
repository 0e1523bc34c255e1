"""Kinds that koordpy writes, or keeps, without reading their fields."""

from typing import Final

from koordpy_api.objects import Kind

EVENT: Final = Kind("events.k8s.io", "v1", "Event", "events", namespaced=True)
LEASE: Final = Kind("coordination.k8s.io", "v1", "Lease", "leases", namespaced=True)
NAMESPACE: Final = Kind("", "v1", "Namespace", "namespaces", namespaced=False)
