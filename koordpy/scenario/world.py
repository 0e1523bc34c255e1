"""World: what the owner of a cluster hands in beside it, so that a scenario can act as everybody but the scheduler."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Protocol

from koordpy.clock import Clock
from koordpy.cluster.protocol import Cluster
from koordpy.scenario.language import Fault, Rule
from koordpy.scenario.parts import Document
from koordpy_api.objects import Kind


@dataclass(frozen=True, slots=True)
class Finished:
    """A command that ended, or a start that was refused: its exit code and all that it printed."""

    exit_code: int
    output: str


class World(Protocol):
    """A cluster from outside.

    cluster: what the scheduler is handed. clock: its time, which the running event loop's agrees with.
    namespace: where objects live that name none.
    cannot: kind of step → what it waits for, of those that this world is not able to do.
    """

    @property
    def cluster(self) -> Cluster: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def namespace(self) -> str: ...

    @property
    def cannot(self) -> Mapping[str, str]: ...

    async def apply(self, manifest: Mapping[str, Any]) -> None:
        """Create an object; one that exists is merged with it, its status too.

        Raises: ApiError if the cluster refuses it.
        """
        ...

    async def patch(self, kind: Kind, name: str, body: Mapping[str, Any]) -> None:
        """Merge `body` into an object, its status too."""
        ...

    async def delete(self, kind: Kind, name: str, grace_s: int = 0) -> None:
        """Delete an object: at once, or a Pod on a node when its kubelet says so, or `grace_s` are over for that."""
        ...

    async def read(self, kind: Kind) -> Sequence[Document]:
        """All objects of a kind; of a namespaced one, those of `namespace`."""
        ...

    def fault(self, fault: Fault) -> None:
        """From now on, answer the scheduler so; nobody else notices."""
        ...

    async def kubelet(self, rules: Sequence[Rule], rng: Random) -> None:
        """Be the kubelet of all nodes, until cancelled."""
        ...

    def run(self, command: Sequence[str], files: Mapping[str, str], distributions: Sequence[Path]) -> Finished:
        """Run a command to its end in a folder with these files, with these distributions installed.

        A blocking call on purpose: on virtual time nothing else may move meanwhile.
        """
        ...
