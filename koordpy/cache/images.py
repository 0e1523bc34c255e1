"""Which images the nodes have, by name. Source: pkg/scheduler/backend/cache (cache.go, addNodeImageStates)."""

from collections.abc import Mapping

from koordpy_api import ImageState
from koordpy_api.objects import Node


class ImageBook:
    """One state per name, handed to every node that lists it; a name that no node lists is forgotten, size and all."""

    def __init__(self) -> None:
        self._states: dict[str, ImageState] = {}

    def __contains__(self, name: object) -> bool:
        """Does any node list it?"""
        return name in self._states

    def counts(self) -> dict[str, int]:
        """Name → on how many nodes."""
        return {name: state.node_count for name, state in self._states.items()}

    def move(self, before: Mapping[str, ImageState], node: Node | None) -> dict[str, ImageState]:
        """The node listed `before` and lists what it says now; None: it is gone. Returns: what it lists now."""
        for name, state in before.items():
            state.node_count -= 1
            if not state.node_count:
                del self._states[name]
        now = {} if node is None else listed(node)
        states = {name: self._states.setdefault(name, ImageState(size)) for name, size in now.items()}
        for state in states.values():
            state.node_count += 1
        return states


def listed(node: Node) -> dict[str, int]:
    """Name → size in bytes, as this node says."""
    return {name: image.size_bytes for image in node.status.images for name in image.names or ()}
