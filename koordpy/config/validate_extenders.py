"""What extenders must be. Source: pkg/scheduler/apis/config/validation (validateExtenders)."""

from collections.abc import Iterator, Sequence

from koordpy.config.models import Extender
from koordpy_api import Problem
from koordpy_api.args import qualified_name_mistake


def check_extenders(extenders: Sequence[Extender]) -> Iterator[Problem]:
    """All mistakes of all extenders."""
    seen: set[str] = set()
    for index, extender in enumerate(extenders):
        path = f"extenders[{index}]"
        if extender.prioritize_verb and extender.weight <= 0:
            yield Problem(f"{path}.weight", str(extender.weight), "must have a positive weight applied to it")
        for position, resource in enumerate(extender.managed_resources):
            place = f"{path}.managedResources[{position}].name"
            if not _is_extended(resource.name):
                yield Problem(place, resource.name or '""', "is an invalid extended resource name")
            elif resource.name in seen:
                yield Problem(place, resource.name, "Duplicate: duplicate extender managed resource name")
            seen.add(resource.name)
    binders = [index for index, extender in enumerate(extenders) if extender.bind_verb]
    if len(binders) > 1:
        found = ", ".join(f"extenders[{index}]" for index in binders)
        right = f"only one extender can implement bind; found {len(binders)}: {found}"
        yield Problem(f"extenders[{binders[1]}].bindVerb", extenders[binders[1]].bind_verb, right)


def _is_extended(name: str) -> bool:
    """Neither one of Kubernetes' own, nor a quota's. Source: IsExtendedResourceName."""
    is_native = "/" not in name or "kubernetes.io/" in name
    if is_native or name.startswith("requests."):
        return False
    return qualified_name_mistake(f"requests.{name}") is None
