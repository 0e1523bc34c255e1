"""One client for everything: threads, sockets and memory are the same after 100 requests and after thousands."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

from koordpy.clock import LoopClock
from koordpy.cluster.embedded.cluster import EmbeddedCluster
from koordpy.cluster.embedded.server import EmbeddedServer
from koordpy.cluster.embedded.store import Store
from koordpy.cluster.kube import credentials
from koordpy.cluster.kube.cluster import KubeCluster
from koordpy.cluster.kube.transport import Transport
from koordpy.testing import pod_manifest
from koordpy_api.objects import Pod

WATCHES: Final = 1000
PATCHES: Final = 10_000
SETTLED: Final = 0.1
"""So much of them are made before it is first looked."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Of this process, in which the server runs too. memory: resident bytes."""

    threads: int
    open_files: int
    memory: int

    @classmethod
    def now(cls) -> "Cost":
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return cls(threading.active_count(), len(list(Path("/proc/self/fd").iterdir())), pages * 4096)


def test_thousands_of_watches_and_patches_cost_no_thread_no_socket_and_no_memory(tmp_path: Path) -> None:
    async def main() -> None:
        cluster = EmbeddedCluster(LoopClock(), Random(0))
        cluster.store = Store(LoopClock(), Random(0), history=100)  # what the server remembers is not the client's
        server = EmbeddedServer(cluster)
        await server.start()
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(written(server.port))
        client = KubeCluster(Transport(await credentials.load(str(kubeconfig), environ={})))
        try:
            await client.create(Pod.KIND, "default", pod_manifest("p"))
            watches = await costs(client, watch, WATCHES)
            patches = await costs(client, patch, PATCHES)
        finally:
            await client.close()
            await server.stop()
        print(f"\n{WATCHES} watches: {watches[0]}\n  then {watches[1]}")
        print(f"{PATCHES} patches: {patches[0]}\n  then {patches[1]}")
        for before, after in (watches, patches):
            assert after.threads <= before.threads
            assert after.open_files <= before.open_files + 2
            assert after.memory < before.memory * 1.05 + 4 * 2**20

    asyncio.run(main())


async def costs(
    client: KubeCluster, act: Callable[[KubeCluster, int], Awaitable[None]], times: int
) -> tuple[Cost, Cost]:
    before = Cost.now()
    for number in range(times):
        if number == int(times * SETTLED):
            before = Cost.now()
        await act(client, number)
    return before, Cost.now()


async def watch(client: KubeCluster, number: int) -> None:
    """One that the client leaves after the first event."""
    async with client.watch(Pod.KIND, "") as events:
        async for _ in events:
            break


async def patch(client: KubeCluster, number: int) -> None:
    await client.patch(Pod.KIND, "default", "p", {"metadata": {"labels": {"number": str(number)}}})


def written(port: int) -> str:
    """A kubeconfig for the embedded cluster's server."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "tests", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "tests", "user": {}}],
        "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": "tests"}}],
        "current-context": "tests",
    }
    return json.dumps(config)
