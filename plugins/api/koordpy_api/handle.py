"""Handle: what a plugin may ask of the host that runs it."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from koordpy_api.errors import Problem
from koordpy_api.metrics import Metrics
from koordpy_api.node_info import NodeInfo
from koordpy_api.objects import KubeObject, Pod

T = TypeVar("T")
K = TypeVar("K", bound=KubeObject)
K_contra = TypeVar("K_contra", bound=KubeObject, contravariant=True)


class ObjectHandler(Protocol[K_contra]):
    """Told of every object of one kind, in the order of the API server, between scheduling cycles."""

    def added(self, obj: K_contra) -> None: ...

    def updated(self, old: K_contra, new: K_contra) -> None: ...

    def deleted(self, obj: K_contra) -> None: ...


class WaitingPod(Protocol):
    """A Pod that is held on its node because a plugin answered Wait at Permit. The first word about it counts."""

    @property
    def pod(self) -> Pod: ...

    @property
    def node_name(self) -> str: ...

    @property
    def pending_plugins(self) -> frozenset[str]:
        """Who has not allowed it yet."""
        ...

    def allow(self, plugin: str) -> bool:
        """`plugin` waits no longer; the Pod is bound once nobody does. False if that was settled before."""
        ...

    def reject(self, plugin: str, why: str) -> bool:
        """The Pod leaves its node and is queued again, refused by `plugin`. False if that was settled before."""
        ...


class Handle(Protocol):
    """Given to a plugin's constructor; good for the plugin's whole life."""

    @property
    def accounted_resources(self) -> frozenset[str]:
        """Resources whose fit some plugin of the profile decides by itself (its `accounts_for`)."""
        ...

    @property
    def metrics(self) -> Metrics:
        """Where a plugin counts what it does, and shows what it knows. The same for all profiles."""
        ...

    def watch(self, kind: type[K], handler: ObjectHandler[K]) -> None:
        """Keep telling `handler` of all objects of this kind. Only while the plugin is being constructed.

        Every object that exists at the start is told before the first Pod is scheduled.
        """
        ...

    def shared(self, name: str, make: Callable[[], T]) -> T:
        """The one object of this name for all profiles of the scheduler; the first that asks makes it.

        For what a plugin believes of the cluster: a card that one profile holds for a Pod is held for every profile.
        What a profile wishes belongs in the plugin itself. Events of pods and nodes reach every profile's plugins, so
        what is shared must take the same event twice.
        """
        ...

    def report(self, kind: str, name: str, problem: Problem) -> None:
        """Say that an object cannot be read in full. The host counts it, and logs it once per object and path."""
        ...

    def node_info(self, name: str) -> NodeInfo | None:
        """What the scheduler believes of this node now, after everything that it was told; None if it knows it not.

        For hints, which are asked after an event: may the Pod fit there now? In a cycle, the NodeInfo at hand counts.
        """
        ...

    def waiting_pods(self) -> Sequence[WaitingPod]:
        """The Pods of all profiles that Permit holds, in the order in which they began to wait."""
        ...

    def waiting_pod(self, uid: str) -> WaitingPod | None:
        """The Pod of this UID if Permit holds it."""
        ...
