"""What a Pod asks for, as exact integers.

Units, everywhere: `cpu` in milli-CPU, all other resources in base units (bytes, cards, percent). Zero amounts are left
out. Source: k8s.io/component-helpers/resource (PodRequests).
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from koordpy_api.objects import Container, Pod, ResourceRequirements
from koordpy_api.quantity import RawQuantity, milli_value_of, value_of

CPU: Final = "cpu"
MEMORY: Final = "memory"
EPHEMERAL_STORAGE: Final = "ephemeral-storage"
PODS: Final = "pods"
HUGEPAGES_PREFIX: Final = "hugepages-"

# A container that does not mention them is scored as if it asked for these. Source: schedutil.DefaultMilliCPURequest.
DEFAULT_CPU_MILLI: Final = 100
DEFAULT_MEMORY_BYTES: Final = 200 * 1024 * 1024

RESIZE_PENDING: Final = "PodResizePending"
INFEASIBLE: Final = "Infeasible"

Amounts = dict[str, int]
"""Resource name → amount, in the units of this module."""

RequestsOf = Callable[[Container], Amounts]


def parse_amounts(raw: Mapping[str, RawQuantity]) -> Amounts:
    """Raises: QuantityError for a text that is no quantity."""
    return {name: milli_value_of(amount) if name == CPU else value_of(amount) for name, amount in raw.items()}


def container_requests(container: Container) -> Amounts:
    """What one container asks for. A limit without a request is a request, as the API server defaults it."""
    return _requests(container.resources)


def pod_requests(pod: Pod) -> Amounts:
    """What a Pod that looks for a node asks for: containers, init containers, sidecars, pod-level amounts, overhead."""
    return _without_zeros(_total(pod, container_requests, _requests(pod.spec.resources)))


def non_zero_requests(pod: Pod) -> Amounts:
    """cpu and memory as scoring counts them: every container that does not mention one asks for a default.

    Where the Pod sets amounts itself, that holds only for what neither it nor any of its containers mentions.
    """
    return _non_zero(pod, container_requests, _requests(pod.spec.resources))


def held_requests(pod: Pod) -> tuple[Amounts, Amounts]:
    """What a Pod counts on its node: as pod_requests, and as non_zero_requests.

    While a running Pod is resized in place, the largest of what is asked, what it has and what it was promised.
    Source: k8s.io/component-helpers/resource (UseStatusResources).
    """
    requests_of, pod_level = _requests_in_place(pod), _pod_level_in_place(pod)
    return _without_zeros(_total(pod, requests_of, pod_level)), _non_zero(pod, requests_of, pod_level)


def add(left: Mapping[str, int], right: Mapping[str, int]) -> Amounts:
    """Sums, over the union of names."""
    total = dict(left)
    for name, amount in right.items():
        total[name] = total.get(name, 0) + amount
    return total


def subtract(left: Mapping[str, int], right: Mapping[str, int]) -> Amounts:
    """Differences, over the union of names. What reaches zero is left out."""
    total = dict(left)
    for name, amount in right.items():
        total[name] = total.get(name, 0) - amount
        if total[name] == 0:
            del total[name]
    return total


def is_pod_level(resource: str) -> bool:
    """May `spec.resources` of a Pod set this resource? Others there are ignored."""
    return resource in (CPU, MEMORY) or resource.startswith(HUGEPAGES_PREFIX)


def _requests(resources: ResourceRequirements) -> Amounts:
    return parse_amounts({**resources.limits, **resources.requests})


def _without_zeros(amounts: Amounts) -> Amounts:
    return {name: amount for name, amount in amounts.items() if amount}


def _non_zero(pod: Pod, requests_of: RequestsOf, pod_level: Amounts) -> Amounts:
    defaults = {CPU: DEFAULT_CPU_MILLI, MEMORY: DEFAULT_MEMORY_BYTES}
    if any(is_pod_level(name) for name in pod_level):
        mentioned = _total(pod, requests_of, pod_level)
        defaults = {name: amount for name, amount in defaults.items() if name not in mentioned}
    total = _total(pod, lambda container: defaults | requests_of(container), pod_level)
    return {name: total.get(name, 0) for name in (CPU, MEMORY)}


def _total(pod: Pod, requests_of: RequestsOf, pod_level: Amounts) -> Amounts:
    """One rule for all counts. Where the Pod sets cpu or memory itself, that replaces the containers' sum."""
    spec = pod.spec
    running = _sum(requests_of(container) for container in spec.containers)
    started: Amounts = {}
    peak: Amounts = {}
    for container in spec.init_containers:
        asked = requests_of(container)
        if container.is_sidecar:
            started = add(started, asked)
            peak = _max(peak, started)
        else:
            peak = _max(peak, add(started, asked))
    total = _max(add(running, started), peak)
    total |= {name: amount for name, amount in pod_level.items() if is_pod_level(name)}
    return add(total, parse_amounts(spec.overhead))


# -- resizing in place ---------------------------------------------------------------------------------------------


def _requests_in_place(pod: Pod) -> RequestsOf:
    statuses = {each.name: each for each in pod.status.container_statuses if each.resources is not None}
    sidecars = {each.name: each for each in pod.status.init_container_statuses if each.resources is not None}
    if not statuses and not sidecars:
        return container_requests
    is_infeasible = _is_resize_infeasible(pod)
    init = {container.name for container in pod.spec.init_containers}

    def requests_of(container: Container) -> Amounts:
        if container.name not in init:
            status = statuses.get(container.name)
        else:
            status = sidecars.get(container.name) if container.is_sidecar else None
        asked = {} if status is not None and is_infeasible else container_requests(container)
        return asked if status is None else _max(asked, _actual(status.resources, status.allocated_resources))

    return requests_of


def _pod_level_in_place(pod: Pod) -> Amounts:
    asked, has = _requests(pod.spec.resources), pod.status.resources
    if has is None or not asked:
        return asked
    return _max({} if _is_resize_infeasible(pod) else asked, _actual(has, pod.status.allocated_resources))


def _actual(has: ResourceRequirements | None, promised: Mapping[str, RawQuantity]) -> Amounts:
    return _max(parse_amounts(has.requests) if has else {}, parse_amounts(promised))


def _is_resize_infeasible(pod: Pod) -> bool:
    """The node can never give what the spec asks now; it counts as it was."""
    return any(each.type == RESIZE_PENDING and each.reason == INFEASIBLE for each in pod.status.conditions)


def _sum(amounts: Iterable[Amounts]) -> Amounts:
    total: Amounts = {}
    for each in amounts:
        total = add(total, each)
    return total


def _max(left: Amounts, right: Amounts) -> Amounts:
    return left | {name: max(amount, left.get(name, 0)) for name, amount in right.items()}
