"""A field that nobody reads may be a misspelling; Kubernetes' own fields are none."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from koordpy.config.shapes import misfits
from koordpy_api.objects import Device, KubeObject, Node, Pod

FIELDS = {
    "metadata": "annotations creationTimestamp deletionGracePeriodSeconds deletionTimestamp finalizers generateName "
    "generation labels managedFields name namespace ownerReferences resourceVersion selfLink uid",
    "spec": "activeDeadlineSeconds affinity automountServiceAccountToken containers dnsConfig dnsPolicy "
    "enableServiceLinks ephemeralContainers hostAliases hostIPC hostNetwork hostPID hostUsers hostname "
    "hostnameOverride imagePullSecrets initContainers nodeName nodeSelector os overhead preemptionPolicy priority "
    "priorityClassName readinessGates resourceClaims resources restartPolicy runtimeClassName schedulerName "
    "schedulingGates securityContext serviceAccount serviceAccountName setHostnameAsFQDN shareProcessNamespace "
    "subdomain terminationGracePeriodSeconds tolerations topologySpreadConstraints volumes workloadRef",
    "container": "args command env envFrom image imagePullPolicy lifecycle livenessProbe name ports readinessProbe "
    "resizePolicy resources restartPolicy restartPolicyRules securityContext startupProbe stdin stdinOnce "
    "terminationMessagePath terminationMessagePolicy tty volumeDevices volumeMounts workingDir",
    "resources": "claims limits requests",
    "toleration": "effect key operator tolerationSeconds value",
    "status": "allocatedResources conditions containerStatuses ephemeralContainerStatuses extendedResourceClaimStatus "
    "hostIP hostIPs initContainerStatuses message nominatedNodeName observedGeneration phase podIP podIPs qosClass "
    "reason resize resourceClaimStatuses resources startTime",
    "condition": "lastProbeTime lastTransitionTime message observedGeneration reason status type",
    "node": "configSource externalID podCIDR podCIDRs providerID taints unschedulable",
    "node status": "addresses allocatable capacity conditions config daemonEndpoints declaredFeatures features images "
    "nodeInfo phase runtimeHandlers volumesAttached volumesInUse",
    "taint": "effect key timeAdded value",
    "device": "conditions health id labels minor moduleID resources topology type vfGroups",
}
NESTS: Mapping[str, tuple[type[KubeObject], Callable[[Any], Any]]] = {
    "metadata": (Pod, lambda part: {"metadata": part}),
    "spec": (Pod, lambda part: {"spec": part}),
    "container": (Pod, lambda part: {"spec": {"containers": [part]}}),
    "resources": (Pod, lambda part: {"spec": {"resources": part}}),
    "toleration": (Pod, lambda part: {"spec": {"tolerations": [part]}}),
    "status": (Pod, lambda part: {"status": part}),
    "condition": (Pod, lambda part: {"status": {"conditions": [part]}}),
    "node": (Node, lambda part: {"spec": part}),
    "node status": (Node, lambda part: {"status": part}),
    "taint": (Node, lambda part: {"spec": {"taints": [part]}}),
    "device": (Device, lambda part: {"spec": {"devices": [part]}}),
}


ALL_FIELDS = [(part, name) for part, names in FIELDS.items() for name in names.split()]


@pytest.mark.parametrize(("part", "name"), ALL_FIELDS, ids=[f"{part} {name}" for part, name in ALL_FIELDS])
def test_no_field_of_kubernetes_is_taken_for_a_misspelling(part: str, name: str) -> None:
    shape, nest = NESTS[part]
    assert not [misfit for misfit in misfits(nest({name: None}), shape) if misfit.is_warning]


@pytest.mark.parametrize(
    ("part", "name", "meant"),
    [
        ("resources", "requets", "requests"),
        ("resources", "limit", "limits"),
        ("metadata", "anotations", "annotations"),
        ("metadata", "Labels", "labels"),
        ("spec", "schedularName", "schedulerName"),
        ("spec", "container", "containers"),
        ("spec", "nodename", "nodeName"),
        ("device", "helth", "health"),
    ],
)
def test_a_likely_misspelling_is_told_the_field_that_was_meant(part: str, name: str, meant: str) -> None:
    shape, nest = NESTS[part]
    (misfit,) = misfits(nest({name: None}), shape)
    assert (misfit.is_warning, misfit.right) == (True, f"nobody reads this; is {meant} meant?")
