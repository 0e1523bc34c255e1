"""What plugins say of objects and of their own books, outside of any attempt."""

from collections.abc import Callable, Sequence

from koordpy.framework.calls import PLUGIN_FAULTS, Chain, text_of
from koordpy_api import Finding, NodeInfo, Problem
from koordpy_api.objects import KubeObject

Complain = Callable[[str, str, str], None]
"""Told (plugin, hook_name, subject) of a plugin that breaks."""


def check(chain: Chain, complain: Complain, obj: KubeObject) -> list[tuple[str, Problem]]:
    """What each plugin finds wrong with an object that a person wrote. A plugin that breaks is a problem too."""
    found: list[tuple[str, Problem]] = []
    for plugin, hook in chain:
        try:
            problems = hook(obj)
            if not all(isinstance(problem, Problem) for problem in problems):
                raise TypeError(f"{problems!r} is no list of Problems")
            found += [(plugin, problem) for problem in problems]
        except PLUGIN_FAULTS as error:
            complain(plugin, "check", obj.key)
            found.append((plugin, Problem("", "", f'plugin "{plugin}" failed: {text_of(error)}')))
    return found


def audit(chain: Chain, complain: Complain, profile: str, nodes: Sequence[NodeInfo]) -> list[Finding]:
    """What plugins find wrong with the cluster that they were told of. A plugin that breaks is logged."""
    found: list[Finding] = []
    for plugin, hook in chain:
        try:
            told = hook(nodes)
            if not all(isinstance(finding, Finding) for finding in told):
                raise TypeError(f"{told!r} is no list of Findings")
            found += told
        except PLUGIN_FAULTS:
            complain(plugin, "audit", profile)
    return found


def recount(
    chain: Chain, complain: Complain, profile: str, objects: Sequence[KubeObject], assumed: frozenset[str]
) -> list[str]:
    """Where the plugins' own books differ from these objects. A plugin that breaks is a difference."""
    found: list[str] = []
    for plugin, hook in chain:
        try:
            found += [f"{plugin}: {difference}" for difference in hook(objects, assumed)]
        except PLUGIN_FAULTS as error:
            complain(plugin, "recount", profile)
            found.append(f"{plugin} failed to recount: {text_of(error)}")
    return found
