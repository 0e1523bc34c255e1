"""Why a Pod fits on no node: the plugins of its profile, asked again about what a cluster holds now.

The objects are listed, and plugins are built and told of them as in a scheduler that starts. Nothing is written, and no
scheduler is asked: two processes that know the same objects give the same answer.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from koordpy.cache.cache import Cache
from koordpy.cluster.decoding import ObjectDecoder, Report, UndecodableObject
from koordpy.cluster.protocol import Cluster
from koordpy.config.load import Loaded
from koordpy.framework.build import build
from koordpy.framework.registry import Registry
from koordpy.framework.runner import Framework
from koordpy.scheduler.diagnosis import NO_NODES, Diagnosis
from koordpy.scheduler.unheard import refuse_unheard
from koordpy_api import CycleState, NodeInfo, Problem, QuantityError, Status
from koordpy_api.objects import KubeObject, Node, Pod

K = TypeVar("K", bound=KubeObject)

Objects = Mapping[type[KubeObject], Sequence[KubeObject]]

_PLACE: Final = re.compile(
    r"(?P<type>\w+)\[(?P<minor>\d+)\]\.(?P<what>asked|free|holders|held_by|why)(?:\.(?P<resource>.+))?"
)
_ASKED: Final = re.compile(r"(?P<type>\w+)\.asked\.count")


@dataclass(frozen=True, slots=True)
class CardAnswer:
    """What a refusal says of one card: what was asked of it, what of that is free, how many pods hold some of it.

    held_by: their names (namespace/name); empty if the plugin does not tell them.
    why: the reason for which it is closed to everybody; empty if it is not.
    """

    type: str
    minor: int
    asked: Mapping[str, int] = field(default_factory=dict)
    free: Mapping[str, int] = field(default_factory=dict)
    holders: int = 0
    held_by: tuple[str, ...] = ()
    why: str = ""

    @property
    def short_of(self) -> list[str]:
        """The resources of which less is free than was asked."""
        return [name for name, amount in self.asked.items() if self.free.get(name, 0) < amount]


@dataclass(frozen=True, slots=True)
class Explanation:
    """What the plugins said. settled: a refusal before any node was looked at. nodes: by name; None: it fits there."""

    pod: Pod
    settled: Status | None = None
    nodes: Mapping[str, Status | None] = field(default_factory=dict)

    @property
    def fits(self) -> list[str]:
        return [name for name, refusal in self.nodes.items() if refusal is None]

    @property
    def message(self) -> str:
        """The scheduler's own sentence; empty if a node would do."""
        if self.settled is None and not self.nodes:
            return NO_NODES
        refusals = {name: refusal for name, refusal in self.nodes.items() if refusal is not None}
        is_refused = self.settled is not None or len(refusals) == len(self.nodes)
        return Diagnosis(len(self.nodes), refusals, pre_filter=self.settled).message() if is_refused else ""


class Belief:
    """What a scheduler that starts now would believe. problems: what it could not read, as (kind, name, what)."""

    def __init__(self, loaded: Loaded, registry: Registry) -> None:
        """Raises: PluginError or ConfigError if a profile cannot be built."""
        self.problems: list[tuple[str, str, Problem]] = []
        shared: dict[str, object] = {}
        built = [build(profile, registry, self._report, shared) for profile in loaded.profiles]
        self._frameworks = {framework.profile: framework for framework in built}
        self._cache = Cache(built, tuple(dict.fromkeys(each for one in built for each in one.annotation_prefixes)))

    @classmethod
    async def of(cls, cluster: Cluster, loaded: Loaded, registry: Registry) -> "Belief":
        """Everything that the profiles look at, listed once. Raises: ClusterError, PluginError or ConfigError."""
        belief = cls(loaded, registry)
        belief.learn({kind: await listed(cluster, kind, belief._report) for kind in belief.kinds})
        return belief

    @property
    def kinds(self) -> list[type[KubeObject]]:
        """What a scheduler with these profiles reads."""
        subscribed = [each.kind for framework in self._frameworks.values() for each in framework.subscriptions]
        return list(dict.fromkeys([*subscribed, Node, Pod]))

    @property
    def frameworks(self) -> list[Framework]:
        return list(self._frameworks.values())

    @property
    def nodes(self) -> list[NodeInfo]:
        """By name."""
        return sorted(self._cache.update_snapshot().nodes, key=lambda node: node.name)

    @property
    def ghosts(self) -> list[NodeInfo]:
        """What pods name as their node and nobody knows, by name."""
        return sorted((node for node in self._cache.nodes() if node.node is None), key=lambda node: node.name)

    def learn(self, objects: Objects) -> None:
        """Tell everybody of them, in the order of a scheduler: plugins before nodes, nodes before pods."""
        for framework in self._frameworks.values():
            for subscription in framework.subscriptions:
                for obj in objects.get(subscription.kind, ()):
                    subscription.handler.added(obj)
        for obj in [*objects.get(Node, ()), *objects.get(Pod, ())]:
            try:
                if isinstance(obj, Node):
                    self._cache.set_node(obj)
                elif isinstance(obj, Pod) and obj.spec.node_name and not obj.is_terminated:
                    self._cache.set_pod(obj)
            except QuantityError as error:
                self._report(obj.KIND.name, obj.key, Problem("", "", str(error)))

    def explain(self, pod: Pod) -> Explanation | None:
        """None: none of the profiles is for this Pod."""
        if (framework := self._frameworks.get(pod.spec.scheduler_name)) is None:
            return None
        nodes = self.nodes
        unasked: dict[str, Status | None] = {node.name: None for node in nodes}
        state = CycleState()
        if (unheard := refuse_unheard(pod, framework.left_out)) is not None:
            return Explanation(pod, unheard, unasked)
        candidates = framework.run_pre_filter(state, pod, nodes)
        if isinstance(candidates, Status):
            return Explanation(pod, candidates, unasked)
        filtered = framework.run_filter(state, pod, candidates.nodes)
        if isinstance(filtered, Status):
            return Explanation(pod, filtered, unasked)
        looked_at = {node.name for node in candidates.nodes}
        otherwise = {name: candidates.absent for name in unasked if name not in looked_at}
        return Explanation(pod, None, {**unasked, **otherwise, **filtered.refusals})

    def _report(self, kind: str, name: str, problem: Problem) -> None:
        self.problems.append((kind, name, problem))


async def listed(cluster: Cluster, kind: type[K], report: Report) -> list[K]:
    """All objects of a kind that can be read, page by page, in the cluster's order."""
    decoder, found, token = ObjectDecoder(kind, report), list[K](), ""
    while True:
        page = await cluster.list(kind.KIND, continue_token=token)
        for raw in page.items:
            try:
                found.append(decoder.decode(raw))
            except UndecodableObject:  # reported by the decoder
                continue
        if not (token := page.continue_token):
            return found


def cards_of(refusal: Status) -> list[CardAnswer]:
    """The cards that a refusal speaks of in its details, in order; none if it is not about cards."""
    answers: dict[tuple[str, int], CardAnswer] = {}
    for key, value in refusal.details.items():
        if (match := _PLACE.fullmatch(key)) is None:
            continue
        place = (match["type"], int(match["minor"]))
        answer = answers.get(place) or CardAnswer(*place)
        match match["what"], match["resource"], value:
            case "asked", str(resource), int(amount):
                answer = replace(answer, asked={**answer.asked, resource: amount})
            case "free", str(resource), int(amount):
                answer = replace(answer, free={**answer.free, resource: amount})
            case "holders", None, int(holders):
                answer = replace(answer, holders=holders)
            case "held_by", None, str(names):
                answer = replace(answer, held_by=tuple(names.split(", ")))
            case "why", None, str(why):
                answer = replace(answer, why=why)
        answers[place] = answer
    return [answers[place] for place in sorted(answers)]


def devices_asked(refusal: Status) -> dict[str, int]:
    """Device type → how many of them the Pod asks for; empty if the refusal does not say so in its details."""
    matches = ((_ASKED.fullmatch(key), value) for key, value in refusal.details.items())
    return {match["type"]: value for match, value in matches if match is not None and isinstance(value, int)}
