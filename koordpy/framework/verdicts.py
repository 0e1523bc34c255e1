"""What all plugins' answers at one point come to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from koordpy_api import NodeInfo, Status


@dataclass(frozen=True, slots=True)
class Candidates:
    """What PreFilter left: the nodes worth looking at, and the refusal of those that are not."""

    nodes: Sequence[NodeInfo]
    absent: Status | None = None


@dataclass(frozen=True, slots=True)
class Filtered:
    """What Filter said: the nodes that fit, and why each of the others does not."""

    feasible: list[NodeInfo]
    refusals: dict[str, Status]


@dataclass(frozen=True, slots=True)
class PostFiltered:
    """What PostFilter came to.

    nominated_node: where the Pod will fit; "" takes an earlier nomination back, None leaves it.
    refusal: why no room could be made; None if a plugin made room, or none had anything to say.
    """

    nominated_node: str | None = None
    refusal: Status | None = None


def narrow(nodes: Sequence[NodeInfo], wanted: Mapping[str, frozenset[str]]) -> Candidates | Status:
    """Only the nodes that every plugin of `wanted` named; a refusal by these plugins if there is none."""
    if not wanted:
        return Candidates(nodes)
    names = frozenset.intersection(*wanted.values())
    plugins = sorted(wanted)
    if not names and len(plugins) == 1:
        return Status.unresolvable(f"node(s) didn't satisfy plugin {plugins[0]}").by(plugins[0])
    reason = f"node(s) didn't satisfy plugin(s) [{' '.join(plugins)}]"
    if not names:
        return _by_all(Status.unresolvable(f"{reason} simultaneously"), plugins)
    return Candidates([node for node in nodes if node.name in names], _by_all(Status.unresolvable(reason), plugins))


def _by_all(refusal: Status, plugins: Sequence[str]) -> Status:
    return replace(refusal, plugin=plugins[0], others=frozenset(plugins[1:]))
