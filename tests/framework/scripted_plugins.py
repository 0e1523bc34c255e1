"""Plugins that a test writes down in one line, and profiles made of them."""

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from koordpy.config.expand import ResolvedProfile
from koordpy.framework.build import build
from koordpy.framework.registry import Registry
from koordpy.framework.runner import Framework
from koordpy.testing import build_profile
from koordpy_api import NoArgs, NodeInfo, PodInfo, Status, hookimpl
from koordpy_api.objects import Node, Pod

SORT_AND_BIND = ("PrioritySort", "DefaultBinder")


def plugin(**members: Any) -> type:
    """A plugin class. Functions become hooks under their names; anything else becomes an attribute."""
    made: dict[str, Any] = {"__init__": lambda self, args, handle: None, "Args": NoArgs}
    for name, member in members.items():
        is_hook = callable(member) and not isinstance(member, type) and name not in ("__init__", "accounts_for")
        made[name] = staticmethod(hookimpl(member)) if is_hook else member
    return type("Scripted", (), made)


def raising(error: BaseException) -> Callable[[], NoReturn]:
    """A hook, of any point, that raises."""

    def hook() -> NoReturn:
        raise error

    return hook


def skipping() -> Status:
    """A hook that has nothing to do."""
    return Status.skip()


def profile(*, args: Mapping[str, Mapping[str, Any]] | None = None, **plugins: Any) -> Framework:
    """These plugins in this order, between PrioritySort and DefaultBinder."""
    return build_profile(("PrioritySort", *plugins, "DefaultBinder"), given=plugins, args=args)


def bare_profile(
    names: tuple[str, ...], plugins: Mapping[str, type], weights: Mapping[str, int] | None = None
) -> Framework:
    """Exactly these names, with these weights."""
    registry = Registry(given=plugins)
    resolved = ResolvedProfile.of("koordpy-scheduler", names, registry, weights)
    return build(resolved, registry, lambda kind, name, problem: None, {})


def nodes(*objects: Node) -> list[NodeInfo]:
    return [NodeInfo(node.metadata.name).with_node(node) for node in objects]


def info(pod: Pod, node: str = "n1") -> PodInfo:
    return PodInfo.of(pod, (), node)
