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

Amounts = dict[str, int]
"""Resource name → amount, in the units of this module."""


def parse_amounts(raw: Mapping[str, RawQuantity]) -> Amounts:
    """Raises: QuantityError for a text that is no quantity."""
    return {name: milli_value_of(amount) if name == CPU else value_of(amount) for name, amount in raw.items()}


def container_requests(container: Container) -> Amounts:
    """What one container asks for. A limit without a request is a request, as the API server defaults it."""
    return _requests(container.resources)


def pod_requests(pod: Pod) -> Amounts:
    """What the Pod as a whole asks for: containers, init containers, sidecars, pod-level amounts, overhead."""
    return {name: amount for name, amount in _total(pod, container_requests).items() if amount}


def non_zero_requests(pod: Pod) -> Amounts:
    """cpu and memory as scoring counts them: every container that does not mention one asks for a default.

    Where the Pod sets amounts itself, that holds only for what neither it nor any of its containers mentions.
    """
    defaults = {CPU: DEFAULT_CPU_MILLI, MEMORY: DEFAULT_MEMORY_BYTES}
    if any(is_pod_level(name) for name in _requests(pod.spec.resources)):
        defaults = {name: amount for name, amount in defaults.items() if name not in _total(pod, container_requests)}
    total = _total(pod, lambda container: defaults | container_requests(container))
    return {name: total.get(name, 0) for name in (CPU, MEMORY)}


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


def _total(pod: Pod, requests_of: Callable[[Container], Amounts]) -> Amounts:
    """One rule for both counts. Where the Pod sets cpu or memory itself, that replaces the containers' sum."""
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
    pod_level = _requests(spec.resources)
    total |= {name: amount for name, amount in pod_level.items() if is_pod_level(name)}
    return add(total, parse_amounts(spec.overhead))


def _sum(amounts: Iterable[Amounts]) -> Amounts:
    total: Amounts = {}
    for each in amounts:
        total = add(total, each)
    return total


def _max(left: Amounts, right: Amounts) -> Amounts:
    return left | {name: max(amount, left.get(name, 0)) for name, amount in right.items()}
