"""EmbeddedWorld: an embedded cluster for one scenario, on the clock of whoever plays it."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final

from koordpy.clock import Clock
from koordpy.cluster import fake_kubelet
from koordpy.cluster.embedded import faults
from koordpy.cluster.embedded.cluster import EmbeddedCluster
from koordpy.cluster.embedded.kinds import RESOURCES, Resource
from koordpy.cluster.protocol import Selection
from koordpy.errors import Conflict, NotFound
from koordpy.scenario.language import Fault, Rule
from koordpy.scenario.parts import Document
from koordpy.scenario.world import Finished
from koordpy_api.objects import Kind

Run = Callable[[Sequence[str], Mapping[str, str], Sequence[Path]], Finished]
"""What a step `run` does, as World.run."""

_BY_NAME: Final = {(each.kind.api_version, each.kind.name): each for each in RESOURCES}
_BY_KIND: Final = {each.kind: each for each in RESOURCES}


class EmbeddedWorld:
    """koordpy.scenario.world.World. cluster: for the scheduler, and for whoever watches; faults are in it alone.

    run: how commands are run, where steps may say so.
    """

    namespace = "default"

    def __init__(self, clock: Clock, seed: int = 0, run: Run | None = None) -> None:
        self.clock = clock
        self.cluster = EmbeddedCluster(clock, Random(f"cluster {seed}"))
        self.cannot: Mapping[str, str] = {} if run else {"run": "somebody who runs commands"}
        self._store = self.cluster.store
        self._run = run

    async def apply(self, manifest: Mapping[str, Any]) -> None:
        resource = _resource(manifest)
        name, namespace = manifest["metadata"]["name"], manifest["metadata"].get("namespace", "")
        try:
            self._store.create(resource.kind, namespace, manifest)
        except Conflict:
            self._merge(resource, namespace, name, manifest)
        else:
            if resource.has_status and manifest.get("status"):  # which is dropped when a Pod is created
                self._merge(resource, namespace, name, {"status": manifest["status"]})

    async def patch(self, kind: Kind, name: str, body: Mapping[str, Any]) -> None:
        self._merge(_BY_KIND[kind], self._place(kind), name, body)

    async def delete(self, kind: Kind, name: str, grace_s: int = 0) -> None:
        self._store.delete(kind, self._place(kind), name, grace_s=grace_s)

    async def read(self, kind: Kind) -> Sequence[Document]:
        return [each.document for each in self._store.list(kind, Selection(self._place(kind))).items]

    def fault(self, fault: Fault) -> None:
        answer = fault.answer if fault.answer is not None else ""
        retry_after_s = fault.retry_after or None
        self.cluster.faults.add(faults.Fault(fault.request, answer, fault.delay, fault.times, retry_after_s))

    async def kubelet(self, rules: Sequence[Rule], rng: Random) -> None:
        await fake_kubelet.FakeKubelet(self.without_faults(), self.clock, rng, meant(rules)).run()

    def run(self, command: Sequence[str], files: Mapping[str, str], distributions: Sequence[Path]) -> Finished:
        assert self._run, "`cannot` says so"
        return self._run(command, files, distributions)

    def without_faults(self) -> EmbeddedCluster:
        """The same objects for everybody but the scheduler."""
        beside = EmbeddedCluster(self.clock, Random(0))
        beside.store = self._store
        return beside

    def _place(self, kind: Kind) -> str:
        return self.namespace if kind.namespaced else ""

    def _merge(self, resource: Resource, namespace: str, name: str, body: Mapping[str, Any]) -> None:
        """A status is only written by its own request."""
        if not resource.has_status:
            self._store.patch(resource.kind, namespace, name, body)
            return
        if main := {key: part for key, part in body.items() if key != "status"}:
            self._store.patch(resource.kind, namespace, name, main)
        if "status" in body:
            self._store.patch(resource.kind, namespace, name, {"status": body["status"]}, subresource="status")


def meant(rules: Sequence[Rule]) -> list[fake_kubelet.Rule]:
    """What a scenario says, as the fake kubelet wants it."""
    return [fake_kubelet.Rule(each.labels, each.runs_for, each.fails_after, each.stops_in) for each in rules]


def _resource(manifest: Mapping[str, Any]) -> Resource:
    version, kind = manifest["apiVersion"], manifest["kind"]
    if found := _BY_NAME.get((version, kind)):
        return found
    known = ", ".join(sorted({each.kind.name for each in RESOURCES}))
    raise NotFound(404, "NotFound", f"no matches for kind {kind!r} in version {version!r}; there are {known}")
