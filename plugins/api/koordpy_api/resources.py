"""What a Pod asks for, as exact integers.

Units, everywhere: `cpu` in milli-CPU, all other resources in base units (bytes, cards, percent). Zero amounts are left
out. What is finer than its unit is rounded up once, in the sum of the whole Pod.
Source: k8s.io/component-helpers/resource (PodRequests).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Final, NamedTuple

from koordpy_api.memo import latest
from koordpy_api.objects import Container, ContainerStatus, Pod, ResourceRequirements
from koordpy_api.quantity import NANO, RawQuantity, divide_away, milli_value_of, parse_quantity, value_of

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

_DEFAULTS: Final[Amounts] = {CPU: DEFAULT_CPU_MILLI * NANO // 1000, MEMORY: DEFAULT_MEMORY_BYTES * NANO}

Counted = Mapping[str, int]
"""Amounts that many Pods may share: whoever wants to change them makes a copy."""

RequestsOf = Callable[[Container], Amounts]
_Written = tuple[tuple[str, RawQuantity], ...]
"""As it stands in the Pod; hashable."""
_KEPT: Final = 4096
_MILLI: Final = NANO // 1000


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """What a Pod that looks for a node asks for, counted in three ways, which `pod_requests` & co. tell apart.

    All Pods that ask the same share one, mostly; so what follows from it may be kept by its identity, which it is
    hashed by.
    """

    requests: Counted
    non_zero: Counted
    scored: Counted


def may_be_overcommitted(resource: str) -> bool:
    """May a container ask for less than its limit, or have none? Source: v1helper.IsOvercommitAllowed."""
    return "kubernetes.io/" in resource or not ("/" in resource or resource.startswith(HUGEPAGES_PREFIX))


def parse_amounts(raw: Mapping[str, RawQuantity]) -> Amounts:
    """Raises: QuantityError for a text that is no quantity."""
    return {name: milli_value_of(amount) if name == CPU else value_of(amount) for name, amount in raw.items()}


def container_requests(container: Container) -> Amounts:
    """What one container asks for. A limit without a request is a request, as the API server defaults it."""
    return parse_amounts({**container.resources.limits, **container.resources.requests})


@latest
def counted(pod: Pod) -> Counts:
    """All that a Pod that looks for a node asks for. Raises: QuantityError if some of it is no quantity."""
    spec = pod.spec
    init, resources = spec.init_containers, spec.resources
    return _counted(
        tuple([_written(each.resources) for each in spec.containers]),
        tuple([(each.is_sidecar, *_written(each.resources)) for each in init]) if init else (),
        _written(resources) if resources.requests or resources.limits else None,
        tuple(spec.overhead.items()),
    )


def pod_requests(pod: Pod) -> Counted:
    """What a Pod that looks for a node asks for: containers, init containers, sidecars, pod-level amounts, overhead."""
    return counted(pod).requests


def non_zero_requests(pod: Pod) -> Counted:
    """cpu and memory as scoring counts them: every container that does not mention one asks for a default.

    Where the Pod sets amounts itself, that holds only for what neither it nor any of its containers mentions.
    """
    return counted(pod).non_zero


def held_requests(pod: Pod) -> tuple[Counted, Counted]:
    """What a Pod counts on its node: as pod_requests, and as non_zero_requests.

    While a running Pod is resized in place, the largest of what is asked, what it has and what it was promised.
    Source: k8s.io/component-helpers/resource (UseStatusResources).
    """
    requests_of, pod_level = _requests_in_place(pod), _pod_level_in_place(pod)
    if requests_of is None and pod_level is None:
        counts = counted(pod)
        return counts.requests, counts.non_zero
    spec = pod.spec
    of = requests_of or _asked_by
    shape = _Shape(
        [of(container) for container in spec.containers],
        [(container.is_sidecar, of(container)) for container in spec.init_containers],
        _asked(spec.resources) if pod_level is None else pod_level,
        _nanos(spec.overhead),
    )
    return _without_zeros(_rounded(_total(shape))), _non_zero(shape)


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


def _without_zeros(amounts: Amounts) -> Amounts:
    return {name: amount for name, amount in amounts.items() if amount}


# -- counting ------------------------------------------------------------------------------------------------------


class _Shape(NamedTuple):
    """All that a Pod's amounts follow from, in nanos of a unit: containers in their order, init containers with whether
    they are sidecars."""

    containers: Sequence[Amounts]
    init_containers: Sequence[tuple[bool, Amounts]]
    pod_level: Amounts
    overhead: Amounts

    def with_defaults(self, defaults: Amounts) -> "_Shape":
        """The same shape if every container mentions these."""
        every = [*self.containers, *[asked for _, asked in self.init_containers]]
        if all(defaults.keys() <= asked.keys() for asked in every):
            return self
        init = [(is_sidecar, defaults | asked) for is_sidecar, asked in self.init_containers]
        return self._replace(containers=[defaults | asked for asked in self.containers], init_containers=init)


def _written(resources: ResourceRequirements) -> tuple[_Written, _Written]:
    return tuple(resources.limits.items()), tuple(resources.requests.items())


@lru_cache(maxsize=_KEPT)
def _counted(
    containers: tuple[tuple[_Written, _Written], ...],
    init_containers: tuple[tuple[bool, _Written, _Written], ...],
    pod_level: tuple[_Written, _Written] | None,
    overhead: _Written,
) -> Counts:
    """Once for all Pods that ask the same."""
    shape = _Shape(
        [_read(limits, requests) for limits, requests in containers],
        [(is_sidecar, _read(limits, requests)) for is_sidecar, limits, requests in init_containers],
        _read(*pod_level) if pod_level else {},
        _read(overhead),
    )
    filled = shape.with_defaults(_DEFAULTS)
    requests = _rounded(_total(shape))
    if filled is shape and not shape.pod_level:
        return Counts(_without_zeros(requests), {name: requests.get(name, 0) for name in _DEFAULTS}, requests)
    return Counts(_without_zeros(requests), _non_zero(shape), _rounded(_total(filled._replace(pod_level={}))))


def _read(*written: _Written) -> Amounts:
    """Where two name the same, the later one says how much."""
    return {name: parse_quantity(amount).nanos for name, amount in dict(chain(*written)).items()}


def _nanos(raw: Mapping[str, RawQuantity]) -> Amounts:
    return {name: parse_quantity(amount).nanos for name, amount in raw.items()}


def _asked(resources: ResourceRequirements) -> Amounts:
    return _nanos({**resources.limits, **resources.requests})


def _asked_by(container: Container) -> Amounts:
    return _asked(container.resources)


def _rounded(nanos: Amounts) -> Amounts:
    return {name: divide_away(amount, _MILLI if name == CPU else NANO) for name, amount in nanos.items()}


def _non_zero(shape: _Shape) -> Amounts:
    defaults = _DEFAULTS
    if any(is_pod_level(name) for name in shape.pod_level):
        mentioned = _total(shape)
        defaults = {name: amount for name, amount in defaults.items() if name not in mentioned}
    total = _rounded(_total(shape.with_defaults(defaults)))
    return {name: total.get(name, 0) for name in (CPU, MEMORY)}


def _total(shape: _Shape) -> Amounts:
    """One rule for all counts. Where the Pod sets cpu or memory itself, that replaces the containers' sum."""
    total = _sum(shape.containers)
    if shape.init_containers:
        started: Amounts = {}
        peak: Amounts = {}
        for is_sidecar, asked in shape.init_containers:
            if is_sidecar:
                started = add(started, asked)
                peak = _max(peak, started)
            else:
                peak = _max(peak, add(started, asked))
        total = _max(add(total, started), peak)
    total |= {name: amount for name, amount in shape.pod_level.items() if is_pod_level(name)}
    return add(total, shape.overhead) if shape.overhead else total


# -- resizing in place, in nanos -----------------------------------------------------------------------------------


def _requests_in_place(pod: Pod) -> RequestsOf | None:
    """None where no container says that it has anything else than it asks."""
    spec, status = pod.spec, pod.status
    if not status.container_statuses and not status.init_container_statuses:
        return None
    statuses = {each.name: each for each in status.container_statuses if each.resources is not None}
    sidecars = {each.name: each for each in status.init_container_statuses if each.resources is not None}
    is_infeasible = _is_resize_infeasible(pod)
    restarting = [each for each in spec.init_containers if each.is_sidecar]
    if not is_infeasible and _has_what_it_asks(spec.containers, statuses) and _has_what_it_asks(restarting, sidecars):
        return None
    init = {container.name for container in spec.init_containers}

    def requests_of(container: Container) -> Amounts:
        if container.name not in init:
            status = statuses.get(container.name)
        else:
            status = sidecars.get(container.name) if container.is_sidecar else None
        asked = {} if status is not None and is_infeasible else _asked_by(container)
        return asked if status is None else _max(asked, _actual(status.resources, status.allocated_resources))

    return requests_of


def _has_what_it_asks(containers: Iterable[Container], statuses: Mapping[str, ContainerStatus]) -> bool:
    """As good as always: then neither what a container has nor what it was promised makes a difference."""
    for container in containers:
        if (status := statuses.get(container.name)) is None or status.resources is None:
            continue
        asked = container.resources.requests
        if status.resources.requests != asked or (status.allocated_resources and status.allocated_resources != asked):
            return False
    return True


def _pod_level_in_place(pod: Pod) -> Amounts | None:
    """None where the Pod does not say what it has."""
    has = pod.status.resources
    if has is None or not (asked := _asked(pod.spec.resources)):
        return None
    return _max({} if _is_resize_infeasible(pod) else asked, _actual(has, pod.status.allocated_resources))


def _actual(has: ResourceRequirements | None, promised: Mapping[str, RawQuantity]) -> Amounts:
    return _max(_nanos(has.requests) if has else {}, _nanos(promised))


def _is_resize_infeasible(pod: Pod) -> bool:
    """The node can never give what the spec asks now; it counts as it was."""
    return any(each.type == RESIZE_PENDING and each.reason == INFEASIBLE for each in pod.status.conditions)


def _sum(amounts: Sequence[Amounts]) -> Amounts:
    total = dict(amounts[0]) if amounts else {}
    for each in amounts[1:]:
        total = add(total, each)
    return total


def _max(left: Amounts, right: Amounts) -> Amounts:
    return left | {name: max(amount, left.get(name, 0)) for name, amount in right.items()}
