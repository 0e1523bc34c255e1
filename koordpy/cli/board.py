"""What can be seen of a cluster from outside: nodes, Devices and Pods, kept by watches, and told as they change."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random
from typing import Any

from koordpy.cli.cards import holding, name_of
from koordpy.cluster.informer import Informer
from koordpy.cluster.protocol import Cluster
from koordpy.telemetry.metrics import Metrics
from koordpy.telemetry.problems import ProblemLog
from koordpy.whatif.cards import GPU, Count, count
from koordpy.whatif.explain import listed
from koordpy_api.koordinator import GPU_MEMORY
from koordpy_api.objects import Device, Node, Pod

Tell = Callable[[str], None]
"""Told one line for each thing that happens."""


class Board:
    """placed: the Pods (namespace/name) that came without a node, in the order in which they got one."""

    def __init__(self, cluster: Cluster, tell: Tell) -> None:
        self.placed: dict[str, None] = {}
        self._tell = tell
        self._cluster = cluster
        self._report, rng = ProblemLog(Metrics()).report, Random(0)
        self._nodes = Informer(cluster, Node, self._report, rng)
        self._devices = Informer(cluster, Device, self._report, rng)
        self._pods = Informer(cluster, Pod, self._report, rng)
        self._devices.add_handler(_Devices(self))
        self._pods.add_handler(_Pods(self))
        self._watches: list[asyncio.Task[None]] = []

    async def open(self) -> None:
        """Returns once everything that exists is on the board."""
        informers: list[Informer[Any]] = [self._nodes, self._devices, self._pods]
        self._watches = [asyncio.create_task(each.run()) for each in informers]
        for each in informers:
            await each.synced.wait()

    async def caught_up(self) -> bool:
        """Are the Pods on it those that there are?"""
        there = await listed(self._cluster, Pod, self._report)
        return _versions(there) == _versions(self._pods.objects.values())

    async def close(self) -> None:
        for watch in self._watches:
            watch.cancel()
        await asyncio.gather(*self._watches, return_exceptions=True)

    def cards(self) -> Count:
        return count(self._devices.objects.values(), self._pods.objects.values())

    def pods(self) -> list[Pod]:
        """In the order of their names."""
        return sorted(self._pods.objects.values(), key=lambda pod: pod.key)

    def without_cards(self) -> dict[str, list[str]]:
        """Node that has no card → the Pods on it."""
        with_cards = {node for node, cards in self.cards().nodes.items() if cards}
        found: dict[str, list[str]] = {node: [] for node in sorted(self._nodes.objects.keys() - with_cards)}
        for pod in self.pods():
            if pod.spec.node_name in found and not pod.is_terminated:
                found[pod.spec.node_name].append(pod.key)
        return found

    def say(self, line: str) -> None:
        self._tell(f"{asyncio.get_running_loop().time():5.1f}s  {line}")

    def say_place(self, pod: Pod, verb: str) -> None:
        device = self._devices.objects.get(pod.spec.node_name)
        what = holding(count([device] if device else [], [pod]).held_by(pod.key))
        self.say(f"pod {name_of(pod.key)} {verb} {pod.spec.node_name}{f', {what}' if what else ''}")


@dataclass(frozen=True, slots=True)
class _Devices:
    board: Board

    def added(self, obj: Device) -> None:
        cards = [each for each in obj.spec.devices if each.type == GPU]
        sizes = ", ".join(sorted({str(each.resources.get(GPU_MEMORY, "?")) for each in cards}))
        told = f"{len(cards)} card{'' if len(cards) == 1 else 's'} of {sizes}" if cards else "no card"
        self.board.say(f"node {obj.metadata.name} has {told}")

    def updated(self, old: Device, new: Device) -> None:
        self.board.say(f"the Device of node {new.metadata.name} changed")

    def deleted(self, obj: Device) -> None:
        self.board.say(f"the Device of node {obj.metadata.name} is gone")


@dataclass(frozen=True, slots=True)
class _Pods:
    board: Board

    def added(self, obj: Pod) -> None:
        if obj.spec.node_name:
            self.board.say_place(obj, "is on")

    def updated(self, old: Pod, new: Pod) -> None:
        if new.spec.node_name and not old.spec.node_name:
            self.board.placed[new.key] = None
            self.board.say_place(new, "goes to")
        elif new.is_terminated and not old.is_terminated:
            self.board.say(f"pod {name_of(new.key)} ends: {new.status.phase}")
        elif (why := _refusal(new)) and why != _refusal(old):
            self.board.say(f"pod {name_of(new.key)} waits: {why}")

    def deleted(self, obj: Pod) -> None:
        self.board.say(f"pod {name_of(obj.key)} is gone")


def _versions(pods: Iterable[Pod]) -> set[tuple[str, str]]:
    return {(pod.key, pod.metadata.resource_version) for pod in pods}


def _refusal(pod: Pod) -> str:
    """What its condition says; empty if it does not wait."""
    said = (each.message for each in pod.status.conditions if each.type == "PodScheduled" and each.status == "False")
    return next(said, "")
