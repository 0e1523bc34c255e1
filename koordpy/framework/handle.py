"""The Handle that the plugins of one profile are given."""

from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from koordpy.errors import PluginError
from koordpy.framework.waiting import WaitingPods
from koordpy.telemetry.metrics import PluginMetrics
from koordpy_api import NodeInfo, ObjectHandler, Problem, WaitingPod
from koordpy_api.objects import KubeObject

T = TypeVar("T")
K = TypeVar("K", bound=KubeObject)

Report = Callable[[str, str, Problem], None]
"""Told (kind, name, problem) of every object that cannot be read in full."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """A plugin's wish to be told of all objects of one kind."""

    kind: type[KubeObject]
    handler: ObjectHandler[Any]


@dataclass(slots=True)
class BelievedNodes:
    """What the scheduler believes of each node now. It is there before the cache is, and knows nothing until then."""

    find: Callable[[str], NodeInfo | None] = lambda name: None


@dataclass(frozen=True, slots=True)
class Common:
    """What the plugins of all profiles of a scheduler have in common, besides what they share among themselves."""

    waiting: WaitingPods = field(default_factory=WaitingPods)
    nodes: BelievedNodes = field(default_factory=BelievedNodes)
    metrics: PluginMetrics = field(default_factory=PluginMetrics)


class HostHandle:
    """koordpy_api.Handle for one profile; `shared` and `common` are the same for all profiles of a scheduler."""

    def __init__(
        self,
        accounted_resources: frozenset[str],
        report: Report,
        shared: MutableMapping[str, object],
        common: Common,
    ) -> None:
        self._accounted_resources = accounted_resources
        self._report = report
        self._shared = shared
        self._common = common
        self._subscriptions: list[Subscription] | None = []

    @property
    def accounted_resources(self) -> frozenset[str]:
        return self._accounted_resources

    @property
    def metrics(self) -> PluginMetrics:
        return self._common.metrics

    def watch(self, kind: type[K], handler: ObjectHandler[K]) -> None:
        """Raises: PluginError once the profile is built: later there is no informer to start."""
        if self._subscriptions is None:
            raise PluginError(f"watch({kind.__name__}) is only possible while the plugin is being constructed")
        self._subscriptions.append(Subscription(kind, handler))

    def shared(self, name: str, make: Callable[[], T]) -> T:
        if name not in self._shared:
            self._shared[name] = make()
        return cast(T, self._shared[name])

    def report(self, kind: str, name: str, problem: Problem) -> None:
        self._report(kind, name, problem)

    def node_info(self, name: str) -> NodeInfo | None:
        return self._common.nodes.find(name)

    def waiting_pods(self) -> Sequence[WaitingPod]:
        return self._common.waiting.all()

    def waiting_pod(self, uid: str) -> WaitingPod | None:
        return self._common.waiting.get(uid)

    def close(self) -> tuple[Subscription, ...]:
        """End of construction; the subscriptions that were made."""
        made = tuple(self._subscriptions or ())
        self._subscriptions = None
        return made
