"""Why no node would do: each node's refusal, and one readable line that counts them.

Source: pkg/scheduler/framework (types.go, FitError.Error); the text must match, people and tools read it.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from koordpy.framework.verdicts import OfEveryNode, tally
from koordpy_api import Code, Status

NO_NODES = "no nodes available to schedule pods"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What one attempt found out.

    refusals: node → why. node_count: how many nodes there were. absent: what holds for nodes without a refusal of
    their own. pre_filter: the refusal that settled the Pod before any node was looked at. post_filter: what was said
    of making room.
    """

    node_count: int
    refusals: Mapping[str, Status] = field(default_factory=dict)
    absent: Status | None = None
    pre_filter: Status | None = None
    post_filter: str = ""

    @classmethod
    def of(cls, node_name: str, refusal: Status) -> "Diagnosis":
        """The chosen node was refused afterwards, by Reserve or later."""
        return cls(1, {node_name: refusal})

    @property
    def plugins(self) -> frozenset[str]:
        """Who refused."""
        plugins = {status.plugin for status, _ in tally(self.refusals)}
        for status in (self.absent, self.pre_filter):
            if status is not None:
                plugins |= {status.plugin, *status.others}
        return frozenset(filter(None, plugins))

    @property
    def pending(self) -> frozenset[str]:
        """Those of them that said they would wake the Pod themselves."""
        return frozenset(status.plugin for status, _ in tally(self.refusals) if status.code is Code.PENDING)

    def of_every_node(self, names: Collection[str]) -> Mapping[str, Status]:
        """What holds for each of these nodes."""
        otherwise = self.pre_filter or self.absent or Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
        return OfEveryNode(names, self.refusals, otherwise)

    def message(self) -> str:
        """0/5 nodes are available: 2 Insufficient cpu, 3 node(s) were unschedulable."""
        return f"{self._counted()} {self.post_filter}" if self.post_filter else self._counted()

    def _counted(self) -> str:
        head = f"0/{self.node_count} nodes are available:"
        if self.pre_filter is not None:
            return f"{head} {self.pre_filter.message}."
        counts: Counter[str] = Counter()
        for status, nodes in tally(self.refusals):
            for reason in status.reasons:
                counts[reason] += nodes
        if self.absent is not None:
            others = self.node_count - len(self.refusals)
            counts.update({reason: others for reason in self.absent.reasons if others > 0})
        entries = sorted(f"{number} {reason}" for reason, number in counts.items())  # as strings, like upstream
        return f"{head} {', '.join(entries)}." if entries else head

    def status(self) -> Status:
        """The whole attempt as one refusal."""
        return Status(Code.UNSCHEDULABLE, (self.message(),))
