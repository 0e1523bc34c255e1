"""Two worlds for scenarios: the embedded cluster on virtual time, and the real kube-apiserver."""

import asyncio
import io
import logging
import os
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec

from koordpy.cli.main import main
from koordpy.clock import LoopClock, SystemClock
from koordpy.cluster import fake_kubelet
from koordpy.cluster.kube import credentials
from koordpy.cluster.kube.cluster import KubeCluster
from koordpy.cluster.kube.transport import Transport
from koordpy.cluster.protocol import api_error
from koordpy.scenario.embedded import EmbeddedWorld, meant
from koordpy.scenario.language import Fault, Rule
from koordpy.scenario.world import Finished
from koordpy_api.objects import Kind
from tests.controlplane.fixtures import SCHEDULER
from tests.controlplane.server import ControlPlane, collection_path
from tests.plugins.installing import ROOT, install

Document = dict[str, Any]
COMMAND_TIMEOUT_S: Final = 60
MERGE: Final = "application/merge-patch+json"
EMBEDDED: Final = "the embedded cluster"


def embedded_world(folder: Path, seed: int = 0) -> EmbeddedWorld:
    """On virtual time. folder: where commands run."""
    return EmbeddedWorld(LoopClock(), seed, partial(run_command, folder))


class RealWorld:
    """The real kube-apiserver from outside; `close` removes what was made, but for Pods: the namespace's fixture does.

    The scheduler talks to it with the rights that deploy/rbac.yaml gives.
    """

    cannot: Final = {"fault": EMBEDDED}

    def __init__(self, control_plane: ControlPlane, cluster: KubeCluster, namespace: str, folder: Path) -> None:
        self.cluster = cluster
        self.clock = SystemClock()
        self.namespace = namespace
        self._server = control_plane
        self._folder = folder
        self._made: list[str] = []

    @classmethod
    async def open(cls, control_plane: ControlPlane, namespace: str, folder: Path) -> "RealWorld":
        config = await credentials.load(str(control_plane.kubeconfig(SCHEDULER)), environ={})
        return cls(control_plane, KubeCluster(Transport(config)), namespace, folder)

    async def apply(self, manifest: Mapping[str, Any]) -> None:
        path = collection_path(manifest)
        place = f"{path}/{manifest['metadata']['name']}"
        status, answer = await self._request("POST", path, manifest)
        if status == 409:
            await self._merge(place, manifest)
            return
        if status != 201:
            raise api_error(msgspec.json.encode(answer), status)
        self._made.append(place)
        if manifest["kind"] == "Pod" and manifest.get("status"):  # which the server drops when a Pod is created
            await self._merge(f"{place}/status", {"status": manifest["status"]})

    async def patch(self, kind: Kind, name: str, body: Mapping[str, Any]) -> None:
        await self._merge(kind.path(self.namespace, name), body)

    async def delete(self, kind: Kind, name: str, grace_s: int = 0) -> None:
        await self._request("DELETE", kind.path(self.namespace, name), {"gracePeriodSeconds": grace_s})

    async def read(self, kind: Kind) -> Sequence[Document]:
        status, found = await self._request("GET", kind.path(self.namespace))
        assert status == 200, found
        items: list[Document] = found["items"]
        return items

    def fault(self, fault: Fault) -> None:
        raise NotImplementedError(f"{fault}: `cannot` says so")

    async def kubelet(self, rules: Sequence[Rule], rng: Random) -> None:
        """With an administrator's rights: each node's own are not set up here."""
        config = await credentials.load(str(self._server.kubeconfig()), environ={})
        cluster = KubeCluster(Transport(config))
        try:
            await fake_kubelet.FakeKubelet(cluster, self.clock, rng, meant(rules)).run()
        finally:
            await cluster.close()

    def run(self, command: Sequence[str], files: Mapping[str, str], distributions: Sequence[Path]) -> Finished:
        return run_command(self._folder, command, files, distributions)

    async def close(self) -> None:
        for place in reversed(self._made):
            await self._request("DELETE", place, {"gracePeriodSeconds": 0})
        await self.cluster.close()

    async def _merge(self, place: str, body: Mapping[str, Any]) -> None:
        """A status is only written by its own request."""
        parts = {place: {key: part for key, part in body.items() if key != "status"}}
        if "status" in body:
            parts[place if place.endswith("/status") else f"{place}/status"] = {"status": body["status"]}
        for where, part in parts.items():
            if part:
                status, answer = await self._request("PATCH", where, part, MERGE)
                if status != 200:
                    raise api_error(msgspec.json.encode(answer), status)

    async def _request(
        self, method: str, path: str, body: object = None, content_type: str = "application/json"
    ) -> tuple[int, Any]:
        return await asyncio.to_thread(self._server.request, method, path, body, content_type)


def run_command(
    folder: Path, command: Sequence[str], files: Mapping[str, str], distributions: Sequence[Path]
) -> Finished:
    """`koordpy …` of this checkout, in a folder with these files.

    In this process, which is 40 times as fast, unless distributions must be found from its start on.
    """
    for name, text in files.items():
        (folder / name).write_text(text)
    assert command[0] == "koordpy", f"{command[0]}: only koordpy's own commands are run"
    return _own_process(folder, command[1:], distributions) if distributions else _this_process(folder, command)


def _own_process(folder: Path, arguments: Sequence[str], distributions: Sequence[Path]) -> Finished:
    site = folder / "site"
    if not site.exists():
        install(distributions, folder)
    ended = subprocess.run(
        [sys.executable, "-m", "koordpy", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (site, ROOT)))},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=COMMAND_TIMEOUT_S,
        check=False,
    )
    return Finished(ended.returncode, ended.stdout)


def _this_process(folder: Path, command: Sequence[str]) -> Finished:
    """In a thread, because this one runs an event loop already."""
    output, codes = io.StringIO(), list[object]()

    def perform() -> None:
        try:
            main()
        except SystemExit as ended:
            codes.append(ended.code or 0)
        except BaseException:  # noqa: BLE001 - as a process would end on it
            traceback.print_exc()
            codes.append(1)

    with _as_before(), chdir(folder), redirect_stdout(output), redirect_stderr(output):
        sys.argv = list(command)
        thread = threading.Thread(target=perform, name=" ".join(command), daemon=True)
        thread.start()
        thread.join(COMMAND_TIMEOUT_S)
    assert codes, f"{' '.join(command)} does not end"
    return Finished(codes[0] if isinstance(codes[0], int) else 1, output.getvalue())


@contextmanager
def _as_before() -> Iterator[None]:
    """A command owns its process; this one must not notice."""
    root, own, arguments = logging.getLogger(), logging.getLogger("koordpy"), sys.argv
    before = root.handlers[:], root.level, own.level
    try:
        yield
    finally:
        sys.argv = arguments
        root.handlers[:], level, own_level = before
        root.setLevel(level)
        own.setLevel(own_level)
