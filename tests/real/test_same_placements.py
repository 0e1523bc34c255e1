"""One backlog of 200 Pods, one seed, two clusters: every Pod is on the same node with the same cards, or on none.

The backlog is there before the scheduler starts, and both clusters list it in the order of names, so both schedulers
see the same Pods in the same order, and must decide the same.
"""

import asyncio
import hashlib
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from koordpy.scenario.language import Scenario, Step
from koordpy.scenario.observed import Observed, condition
from koordpy.scenario.parts import Document
from koordpy.scenario.runner import play
from koordpy.scenario.world import World
from koordpy.scheduler.scheduler import Scheduler
from koordpy.virtual_time import run
from koordpy_api.koordinator import GPU_CORE, GPU_MEMORY_RATIO, NVIDIA_GPU
from koordpy_api.objects import Pod
from tests.controlplane.server import ControlPlane
from tests.scenarios.worlds import RealWorld, embedded_world

PODS = 200
PATIENCE_S = 90.0
SHAPES = [(8, 0, "")] * 6 + [(16, 4, "16Gi")] * 6 + [(32, 8, "80Gi")] * 3
"""Of nodes: cores, cards, the memory of a card."""

Placement = tuple[str, str, tuple[int, ...]]
"""Pod, node, minors; no node if it was refused."""


def backlog(seed: int) -> Scenario:
    rng = Random(f"backlog {seed}")
    objects: list[dict[str, Any]] = []
    for number, (cpu, gpus, memory) in enumerate(SHAPES):
        name = f"same-{number:02}"
        objects.append({"node": name, "allocatable": {"cpu": cpu, "memory": f"{cpu * 4}Gi"}})
        objects += [{"device": name, "gpus": gpus, "memory": memory}] if gpus else []
    objects += [{"pod": f"p-{number:03}", "requests": _asked(rng)} for number in range(PODS)]
    return Scenario.model_validate({"title": "A backlog is placed the same way everywhere", "objects": tuple(objects)})


def _asked(rng: Random) -> dict[str, int | str]:
    """Halves and wholes of cards, cores alone, and what no node has."""
    half, whole, pair, cores, too_many, too_big = range(6)
    what = rng.choices([half, whole, pair, cores, too_many, too_big], [50, 25, 10, 60, 3, 3])[0]
    cpu = {"cpu": rng.choice(["250m", "500m", "1", "2"])}
    asked: list[dict[str, int | str]] = [
        {GPU_CORE: 50, GPU_MEMORY_RATIO: 50},
        {NVIDIA_GPU: 1},
        {NVIDIA_GPU: 2},
        {"memory": rng.choice(["512Mi", "1Gi", "4Gi"])},
        {NVIDIA_GPU: 9},
        {"memory": "1Ti"},
    ]
    return {**cpu, **asked[what]}


class Settled:
    """An onlooker that waits until every Pod was told something, and notes where they are."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.placements: Sequence[Placement] = ()

    async def step(self, number: int, step: Step) -> None: ...

    async def end(self, scheduler: Scheduler | None) -> None:
        pods: Sequence[Document] = [{}]
        async with asyncio.timeout(PATIENCE_S):
            while not all(condition(pod, "PodScheduled") for pod in pods):
                await asyncio.sleep(0.2)
                pods = await self._world.read(Pod.KIND)
        seen = Observed(objects={f"pod/{pod['metadata']['name']}": pod for pod in pods})
        names = sorted(ref.removeprefix("pod/") for ref in seen.objects)
        self.placements = [(name, seen.pod(name)["spec"].get("nodeName", ""), seen.minors(name)) for name in names]


async def placements(world: World, seed: int, folder: Path) -> Sequence[Placement]:
    settled = Settled(world)
    await play(backlog(seed), world, folder, seed, settled)
    return settled.placements


def digest(found: Sequence[Placement]) -> str:
    return hashlib.sha256(repr(list(found)).encode()).hexdigest()[:16]


@pytest.mark.parametrize("seed", [7, 8])
def test_the_same_backlog_is_placed_the_same_way_on_both_clusters(
    seed: int, tmp_path: Path, control_plane: ControlPlane, namespace: str
) -> None:
    async def really() -> Sequence[Placement]:
        world = await RealWorld.open(control_plane, namespace, tmp_path)
        try:
            return await placements(world, seed, tmp_path)
        finally:
            await world.close()

    real = asyncio.run(really())
    embedded = run(placements(embedded_world(tmp_path), seed, tmp_path))

    placed = [each for each in real if each[1]]
    with_cards = [each for each in placed if each[2]]
    print(f"\nseed {seed}: {len(real)} pods; {len(placed)} placed, {len(with_cards)} of them with cards")
    print(f"  the real kube-apiserver {digest(real)}\n  the embedded cluster    {digest(embedded)}")
    assert len(real) == PODS
    assert 40 < len(with_cards) < len(placed) < PODS
    assert embedded == real
