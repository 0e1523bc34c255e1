"""Our own behaviour, where differences.yaml says that it is not upstream's."""

from collections.abc import Callable
from typing import ClassVar

from koordpy.scheduler.outcome import NotPlaced
from koordpy.testing import CycleHarness, build_profile, make_node, make_pod
from koordpy_api import Handle, NoArgs, NodeInfo, Status, hookimpl

NODES = 1200
"""Upstream would look at 40 percent of them, and hand them out in pieces."""


class Remembers:
    """Refuses all nodes, and knows in which order it was asked."""

    Args = NoArgs
    asked: ClassVar[list[str]] = []

    def __init__(self, args: NoArgs, handle: Handle) -> None:
        self.asked.clear()

    @hookimpl
    def filter(self, node_info: NodeInfo) -> Status | None:
        self.asked.append(node_info.name)
        return None if node_info.name == "n7" else Status.unschedulable("no")


def test_every_node_is_looked_at(cycle: Callable[..., CycleHarness]) -> None:
    framework = build_profile(["PrioritySort", "Remembers", "DefaultBinder"], given={"Remembers": Remembers})
    names = [f"n{number}" for number in range(NODES)]
    harness = cycle(*(make_node(name) for name in names), framework=framework)
    assert not isinstance(harness.schedule(make_pod()), NotPlaced)
    assert names == Remembers.asked
