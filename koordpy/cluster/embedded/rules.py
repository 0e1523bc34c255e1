"""What may become of an object: born, replaced, bound, deleted. Each function makes a new document, or refuses.

Source: k8s.io/apiserver/pkg/registry/rest (create.go, update.go, delete.go), k8s.io/kubernetes/pkg/registry/core/pod
(strategy.go, storage/storage.go: setPodNodeAndMetadata), pkg/apis/core/validation (ValidatePodUpdate).
"""

import random
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from koordpy.cluster.embedded import checks
from koordpy.cluster.embedded.checks import Document
from koordpy.cluster.embedded.kinds import Resource
from koordpy.cluster.embedded.refusals import Problem, conflict, refused
from koordpy.cluster.protocol import BindRequest
from koordpy_api.objects import Node, Pod

_LONGEST_S: Final = 9_000_000_000  # a longer grace ends in as many seconds: no date is later than the year 9999
_NAME_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
# What only the server says of an object; of an old one it stays, of a new one some are said below.
_SERVERS: Final = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation")
_IGNORED: Final = (*_SERVERS, "selfLink", "managedFields")
_FREE: Final = ("containers", "initContainers", "activeDeadlineSeconds", "tolerations", "schedulingGates")
_POD_UPDATES: Final = (
    "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions)"
)


def written(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def demand_uid(resource: Resource, name: str, asked: str, uid: str) -> None:
    if asked and asked != uid:
        why = f"Precondition failed: UID in precondition: {asked}, UID in object meta: {uid}"
        raise conflict(resource.qualified, name, why)


def settle(resource: Resource, document: Document, namespace: str, rng: random.Random) -> str:
    """Its namespace and name are where it is sent to, or made up. Returns: the name, empty if it has none."""
    meta = document["metadata"]
    if not resource.kind.namespaced:
        meta.pop("namespace", None)
    elif meta.setdefault("namespace", namespace) != namespace:
        raise refused(400, "the namespace of the provided object does not match the namespace sent on the request")
    if not meta.get("name") and meta.get("generateName"):
        meta["name"] = meta["generateName"] + "".join(rng.choices(_NAME_LETTERS, k=5))
    return str(meta.get("name", ""))


def born(resource: Resource, document: Document, now: datetime, rng: random.Random) -> Document:
    """`document` as a new object. Raises: ApiError if it cannot be one."""
    if document["metadata"].get("resourceVersion"):
        raise refused(500, "resourceVersion should not be set on objects to be created", "Unknown")
    meta = _own(document["metadata"])
    document = {**document, "metadata": meta}
    checks.fill_in(resource, document)
    checks.demand(resource, document)
    meta["uid"] = str(uuid.UUID(int=rng.getrandbits(128), version=4))
    meta["creationTimestamp"] = written(now)
    if resource.has_generation:
        meta["generation"] = 1
    checks.fill_in_new(resource, document, written(now))
    return document


def replaced(resource: Resource, old: Document, document: Document, subresource: str) -> Document:
    """`old` with what `document` may change: everything but the status, or the status and the metadata."""
    fixed = {key: old["metadata"][key] for key in (*_SERVERS, "resourceVersion") if key in old["metadata"]}
    meta = {**_own(document["metadata"]), **fixed}
    if subresource:
        status = document.get("status", {})
        new = {**old, "metadata": meta, "status": status}
        problems: list[Problem] = []
        if resource.kind == Node.KIND:
            checks.fill_in(resource, new)
        elif resource.kind == Pod.KIND:
            status["qosClass"] = old["status"]["qosClass"]
            nominated = status.get("nominatedNodeName")
            if nominated and old["spec"].get("nodeName") and nominated != old["status"].get("nominatedNodeName"):
                problems = [("status.nominatedNodeName", "Forbidden: may not be set on a pod that has a node")]
        checks.demand(resource, new, problems)
        return new
    new = {**document, "metadata": meta}
    if resource.has_status:
        new["status"] = old["status"]
    checks.fill_in(resource, new)
    checks.demand(resource, new, _update_problems(old["spec"], new["spec"]) if resource.kind == Pod.KIND else [])
    news = {key for key in old.keys() | new.keys() if old.get(key) != new.get(key)} - {"metadata"}
    if resource.has_generation and news:
        meta["generation"] += 1
    return new


def bound(resource: Resource, pod: Document, request: BindRequest, now: datetime) -> Document:
    """The Pod on its node, with the annotations: one write."""
    meta, spec, status, name = pod["metadata"], pod["spec"], pod["status"], request.name
    demand_uid(resource, name, request.uid, meta["uid"])
    if "deletionTimestamp" in meta:
        raise conflict("pods/binding", name, f"pod {name} is being deleted, cannot be assigned to a host")
    if spec.get("nodeName"):
        raise conflict("pods/binding", name, f'pod {name} is already assigned to node "{spec["nodeName"]}"')
    if spec.get("schedulingGates"):
        raise conflict("pods/binding", name, f"pod {name} has non-empty .spec.schedulingGates")
    new_meta = {**meta, "annotations": meta.get("annotations", {}) | request.annotations}
    if not new_meta["annotations"]:
        del new_meta["annotations"]
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": written(now)}
    conditions = [scheduled if each["type"] == "PodScheduled" else each for each in status.get("conditions", ())]
    conditions += [] if scheduled in conditions else [scheduled]
    new_status = {key: value for key, value in status.items() if key != "nominatedNodeName"}
    new_status["conditions"] = conditions
    return {**pod, "metadata": new_meta, "spec": {**spec, "nodeName": request.node_name}, "status": new_status}


def doomed(pod: Document, grace_s: int | None, now: datetime) -> Document:
    """The Pod, being deleted. No time left means that it goes now; what goes already can only be hurried."""
    spec, meta = pod["spec"], pod["metadata"]
    grace = spec["terminationGracePeriodSeconds"] if grace_s is None else grace_s if grace_s >= 0 else 1
    begun, generation = now, meta["generation"] + 1
    if "deletionTimestamp" not in meta:
        if not spec.get("nodeName") or pod["status"].get("phase") in ("Succeeded", "Failed"):
            grace = 0
    else:
        if grace_s is None or grace >= meta["deletionGracePeriodSeconds"]:
            return pod
        left = timedelta(seconds=min(meta["deletionGracePeriodSeconds"], _LONGEST_S))
        begun = datetime.fromisoformat(meta["deletionTimestamp"]) - left
        generation = meta["generation"]
    end = written(begun + timedelta(seconds=min(grace, _LONGEST_S)))
    ends = {"deletionTimestamp": end, "deletionGracePeriodSeconds": grace}
    return {**pod, "metadata": {**meta, **ends, "generation": generation}}


def demand_preconditions(resource: Resource, old: Document, uid: str, resource_version: str) -> None:
    """Of a deletion. Raises: Conflict."""
    meta = old["metadata"]
    wishes = (("UID", uid, meta["uid"]), ("ResourceVersion", resource_version, meta["resourceVersion"]))
    for what, wished, there in wishes:
        if wished and wished != there:
            why = f"the {what} in the precondition ({wished}) does not match the {what} in record ({there})"
            fate = "deleted and then recreated" if what == "UID" else "modified"
            raise conflict(resource.titled, meta["name"], f"{why}. The object might have been {fate}")


def _own(meta: Mapping[str, Any]) -> Document:
    """What a client may say of an object."""
    if meta.get("finalizers"):
        raise refused(501, "the embedded cluster has no finalizers: delete what depends on the object yourself")
    return {key: value for key, value in meta.items() if key not in _IGNORED}


def _update_problems(old: Document, new: Document) -> list[Problem]:
    """Of a Pod's spec."""
    keeps = all(each in new.get("tolerations", ()) for each in old.get("tolerations", ()))
    adds = any(each not in old.get("schedulingGates", ()) for each in new.get("schedulingGates", ()))
    return [] if keeps and not adds and _fixed(old) == _fixed(new) else [("spec", _POD_UPDATES)]


def _fixed(spec: Document) -> Document:
    containers = {path: {**each, "image": ""} for path, each in checks.containers_of(spec)}
    return {key: value for key, value in spec.items() if key not in _FREE} | containers
