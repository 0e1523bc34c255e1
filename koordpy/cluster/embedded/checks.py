"""What one object must look like: read, with its defaults filled in, and checked. It knows nothing of other objects.

Source: k8s.io/kubernetes/pkg/apis/core/v1/defaults.go (SetDefaults_Pod, …) and pkg/apis/core/validation/validation.go,
as far as scheduler, agent and manager depend on them. The texts are those that people know from kubectl.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final

import msgspec

from koordpy.cluster.embedded.kinds import Resource
from koordpy.cluster.embedded.refusals import Problem, invalid, refused
from koordpy.cluster.kinds import NAMESPACE
from koordpy_api import QuantityError
from koordpy_api.objects import Device, Node, Pod
from koordpy_api.quantity import NANO, RawQuantity, parse_quantity
from koordpy_api.resources import may_be_overcommitted
from koordpy_api.selectors import SUBDOMAIN, SUBDOMAIN_TEXT, key_problem, value_problem

Document = dict[str, Any]

INT64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
ANNOTATIONS_BYTES: Final = 256 * 1024
# Where nothing and empty are the same, so that what says one is no change of what says the other; elsewhere it is [].
_MAPS: Final = ("labels", "annotations", "nodeSelector", "requests", "limits", "capacity", "allocatable", "overhead")
_TEXTS: Final = {"nodeName": "", "nominatedNodeName": "", "generateName": "", "unschedulable": False}
_EMPTY: Final[Document] = {**_TEXTS, **dict.fromkeys(("metadata", "spec", "status")), **{key: {} for key in _MAPS}}


def read(resource: Resource, body: Mapping[str, object]) -> Document:
    """A copy of what came, without what means nothing. Raises: ApiError if it is no object of this kind."""
    kind = resource.kind
    document: Document = {}
    try:
        document = _pruned(msgspec.to_builtins(body, str_keys=True), resource.is_custom)
        document["metadata"] = _pruned(document.get("metadata", {}), is_custom=False)
        if not resource.is_custom:
            document = {"apiVersion": kind.api_version, "kind": kind.name, **document}
        if (document.get("apiVersion"), document.get("kind")) != (kind.api_version, kind.name):
            raise TypeError("it is of another kind or version")
        msgspec.convert(document, resource.model)
        if resource.kind == Pod.KIND:
            msgspec.convert(document.get("spec", {}).get("terminationGracePeriodSeconds", 0), INT64)
        for amount in _amounts(document):
            parse_quantity(amount)
    except (msgspec.ValidationError, TypeError, AttributeError, QuantityError) as error:
        given, version = document.get("kind", kind.name), str(document.get("apiVersion", "")).rpartition("/")[2]
        raise refused(400, f'{given} in version "{version}" cannot be handled as a {kind.name}: {error}') from None
    return document


def fill_in(resource: Resource, document: Document) -> None:
    """The defaults of an object of this kind; `document` is nobody else's yet."""
    if resource.kind == Pod.KIND:
        spec = document.setdefault("spec", {})
        spec.setdefault("restartPolicy", "Always")
        spec.setdefault("schedulerName", "default-scheduler")
        if spec.setdefault("terminationGracePeriodSeconds", 30) < 0:
            spec["terminationGracePeriodSeconds"] = 1
        for _, container in containers_of(spec):
            resources = container.setdefault("resources", {})
            if resources.get("limits"):
                resources["requests"] = resources["limits"] | resources.get("requests", {})
    elif resource.kind == Node.KIND:
        document.setdefault("spec", {})
        status = document.setdefault("status", {})
        if "capacity" in status:
            status.setdefault("allocatable", dict(status["capacity"]))
    elif resource.kind == Device.KIND:
        for device in document.get("spec", {}).get("devices", ()):
            device.setdefault("health", False)


def fill_in_new(resource: Resource, document: Document, now: str) -> None:
    """What only a new object gets: its first status. A Pod's own is not asked for."""
    spec, meta = document.get("spec", {}), document["metadata"]
    if resource.kind == Pod.KIND:
        document["status"] = {"phase": "Pending", "qosClass": _qos_class(spec)}
        if spec.get("schedulingGates"):
            gated = {"type": "PodScheduled", "status": "False", "lastTransitionTime": now, "reason": "SchedulingGated"}
            gated["message"] = "Scheduling is blocked due to non-empty scheduling gates"
            document["status"]["conditions"] = [gated]
    elif resource.kind == NAMESPACE:
        meta["labels"] = meta.get("labels", {}) | {"kubernetes.io/metadata.name": meta["name"]}
        document["status"] = {"phase": "Active"}


def demand(resource: Resource, document: Document, more: list[Problem] | None = None) -> None:
    """Raises: ApiError 422 with everything that is wrong."""
    problems = [*_metadata_problems(document["metadata"]), *(more or ())]
    if resource.kind == Pod.KIND:
        problems += _pod_problems(document["spec"])
    if problems:
        raise invalid(resource, document["metadata"].get("name", ""), problems)


def containers_of(spec: Mapping[str, Any]) -> Iterator[tuple[str, Document]]:
    for field in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(field, ())):
            yield f"spec.{field}[{index}]", container


def _pruned(value: Any, is_custom: bool) -> Any:
    """Without nulls and, of the built-in kinds, without what is empty where that means absent."""
    if isinstance(value, dict):
        kept = {}
        for key, each in value.items():
            if each or not (each is None or (not is_custom and each == _EMPTY.get(key, []))):
                kept[key] = _pruned(each, is_custom) if type(each) in (dict, list) else each
        return kept
    return [_pruned(each, is_custom) for each in value] if isinstance(value, list) else value


def _amounts(document: Document) -> Iterator[RawQuantity]:
    spec, status = document.get("spec", {}), document.get("status", {})
    holders = [container.get("resources", {}) for _, container in containers_of(spec)]
    for holder in (*holders, status):
        for field in ("requests", "limits", "capacity", "allocatable"):
            yield from (holder.get(field) or {}).values()


def _qos_class(spec: Mapping[str, Any]) -> str:
    some, all_equal = False, True
    for _, container in containers_of(spec):
        requests, limits = (
            {key: value for key, value in container["resources"].get(field, {}).items() if key in ("cpu", "memory")}
            for field in ("requests", "limits")
        )
        some = some or any(str(value) != "0" for value in (requests | limits).values())
        all_equal = all_equal and len(limits) == 2 and requests == limits
    return "BestEffort" if not some else "Guaranteed" if all_equal else "Burstable"


def _metadata_problems(meta: Mapping[str, Any]) -> Iterator[Problem]:
    name, annotations = meta.get("name", ""), meta.get("annotations", {})
    if not name:
        yield "metadata.name", "Required value: name or generateName is required"
    elif len(name) > 253 or not SUBDOMAIN.fullmatch(name):
        yield "metadata.name", f'Invalid value: "{name}": {SUBDOMAIN_TEXT}'
    for key, value in meta.get("labels", {}).items():
        for said, problem in ((key, key_problem(key)), (value, value_problem(value))):
            if problem:
                yield "metadata.labels", f'Invalid value: "{said}": {problem}'
    for key in annotations:
        if problem := key_problem(key.lower()):
            yield "metadata.annotations", f'Invalid value: "{key}": {problem}'
    if sum(len(key) + len(value) for key, value in annotations.items()) > ANNOTATIONS_BYTES:
        yield "metadata.annotations", f"Too long: may not be more than {ANNOTATIONS_BYTES} bytes"


def _pod_problems(spec: Mapping[str, Any]) -> Iterator[Problem]:
    if not spec.get("containers"):
        yield "spec.containers", "Required value"
    for path, container in containers_of(spec):
        yield from ((f"{path}.{field}", "Required value") for field in ("name", "image") if not container.get(field))
        yield from _resource_problems(f"{path}.resources", container["resources"])
    if spec.get("nodeName") and spec.get("schedulingGates"):
        yield "spec.nodeName", "Forbidden: cannot be set until all schedulingGates have been cleared"


def _resource_problems(path: str, resources: Mapping[str, Any]) -> Iterator[Problem]:
    limits = resources.get("limits", {})
    for name, amount in resources.get("requests", {}).items():
        is_equal = not may_be_overcommitted(name)
        asked, limit = parse_quantity(amount).nanos, parse_quantity(limits.get(name, amount)).nanos
        if is_equal and name not in limits:
            yield f"{path}.limits", "Required value: Limit must be set for non overcommitable resources"
        elif asked > limit or (is_equal and asked != limit):
            relation = "equal to" if is_equal else "less than or equal to"
            yield f"{path}.requests", f'Invalid value: "{amount}": must be {relation} {name} limit of {limits[name]}'
        if asked < 0 or (asked % NANO and "/" in name and "kubernetes.io/" not in name):
            what = "greater than or equal to 0" if asked < 0 else "an integer"
            yield f"{path}.requests[{name}]", f'Invalid value: "{amount}": must be {what}'
