"""What the API server refuses about requests and their limits, said before it is asked."""

from collections.abc import Iterator

from koordpy_api import Problem
from koordpy_api.objects import Pod, ResourceRequirements
from koordpy_api.quantity import parse_quantity
from koordpy_api.resources import may_be_overcommitted


def check_limits(pod: Pod) -> Iterator[Problem]:
    """Each request that its limit forbids. pod: every amount is a quantity. Source: ValidateResourceRequirements."""
    spec = pod.spec
    for field, containers in (("initContainers", spec.init_containers), ("containers", spec.containers)):
        for index, container in enumerate(containers):
            yield from _of(f"spec.{field}[{index}].resources", container.resources)


def _of(path: str, resources: ResourceRequirements) -> Iterator[Problem]:
    for name, asked in resources.requests.items():
        limit, is_fixed = resources.limits.get(name), not may_be_overcommitted(name)
        if limit is None:
            right = "limit must be set for non overcommitable resources" if is_fixed else ""
        elif is_fixed:
            right = "" if _nanos(asked) == _nanos(limit) else f"must be equal to {name} limit of {limit}"
        else:
            right = "" if _nanos(asked) <= _nanos(limit) else f"must be less than or equal to {name} limit of {limit}"
        if right:
            yield Problem(f"{path}.requests[{name}]", str(asked), right)


def _nanos(amount: str | int | float) -> int:
    return parse_quantity(amount).nanos
