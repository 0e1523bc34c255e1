"""What a Pod demands of its node and no plugin of the profile would hear, because that plugin is not built yet.

Such a Pod is refused: bound as if it had not asked, it would run where it must not, or be turned away by its kubelet
and made anew without end. A plugin that a file switches off is another matter: that is the file's wish.
"""

from collections.abc import Callable
from typing import Final

from koordpy_api import Status
from koordpy_api.objects import Pod

Demand = tuple[str, str, Callable[[Pod], bool]]
"""The plugin that would hear it, the field, and whether this Pod has it."""

DEMANDS: Final[tuple[Demand, ...]] = (
    (
        "InterPodAffinity",
        "a required spec.affinity.podAffinity",
        lambda pod: bool(pod.spec.affinity.pod_affinity.required_during_scheduling_ignored_during_execution),
    ),
    (
        "InterPodAffinity",
        "a required spec.affinity.podAntiAffinity",
        lambda pod: bool(pod.spec.affinity.pod_anti_affinity.required_during_scheduling_ignored_during_execution),
    ),
    (
        "PodTopologySpread",
        "a spec.topologySpreadConstraints with DoNotSchedule",
        lambda pod: any(each.when_unsatisfiable == "DoNotSchedule" for each in pod.spec.topology_spread_constraints),
    ),
    (
        "VolumeBinding",
        "a persistentVolumeClaim",
        lambda pod: any(volume.persistent_volume_claim.claim_name for volume in pod.spec.volumes),
    ),
    ("DynamicResources", "spec.resourceClaims", lambda pod: bool(pod.spec.resource_claims)),
)


def refuse_unheard(pod: Pod, left_out: frozenset[str]) -> Status | None:
    """None if every demand is heard by somebody. left_out: plugins of the profile that are not built yet."""
    unheard = [(plugin, field) for plugin, field, has in DEMANDS if plugin in left_out and has(pod)]
    if not unheard:
        return None
    fields = ", ".join(field for _, field in unheard)
    # Said by the plugin that would: so it waits for nothing that could help, rather than being tried again and again.
    return Status.unresolvable(f"koordpy does not look at {fields} yet").by(unheard[0][0])
