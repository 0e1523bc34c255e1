"""Cards as the API tells them: what each Device lists, and what the annotations of bound Pods take of it.

Counted from the objects alone and by other code than the plugin's, so that either can be held against the other.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from koordpy_api import AnnotationError, Problem, QuantityError
from koordpy_api.koordinator import (
    DEVICE_ALLOCATED,
    DEVICE_RESOURCES,
    FPGA,
    GPU_CORE,
    GPU_MEMORY,
    GPU_MEMORY_RATIO,
    RDMA,
    current_names,
    decode_device_allocated,
)
from koordpy_api.objects import Container, Device, DeviceInfo, Pod
from koordpy_api.quantity import value_of
from koordpy_api.resources import Amounts, add

GPU: Final = "gpu"
DIMENSIONS: Final = (GPU_CORE, GPU_MEMORY_RATIO, GPU_MEMORY)
"""What a card has. Percent, percent, bytes."""

CARDS: Final = DEVICE_RESOURCES - {RDMA, FPGA}
"""What asks for a card, or a part of one."""


@dataclass(frozen=True, slots=True)
class Share:
    """What one Pod (namespace/name) holds of a card."""

    pod: str
    amounts: Amounts


@dataclass(frozen=True, slots=True)
class CardUse:
    """A card and all shares of it. total: empty if the Device does not list it, or calls it sick."""

    minor: int
    total: Amounts = field(default_factory=dict)
    shares: tuple[Share, ...] = ()

    @property
    def used(self) -> Amounts:
        amounts: Amounts = {}
        for share in self.shares:
            amounts = add(amounts, share.amounts)
        return amounts

    @property
    def free(self) -> Amounts:
        """Never below zero, as plugins tell it."""
        used = self.used
        return {name: max(self.total.get(name, 0) - used.get(name, 0), 0) for name in DIMENSIONS}

    @property
    def exceeded(self) -> list[str]:
        """Of what more is given away than there is. A card without a total says nothing of that."""
        used = self.used
        return [name for name in DIMENSIONS if self.total and used.get(name, 0) > self.total.get(name, 0)]


@dataclass(frozen=True, slots=True)
class Count:
    """All cards by node, nodes and minors in order; and what could not be counted, as sentences."""

    nodes: Mapping[str, tuple[CardUse, ...]]
    problems: tuple[str, ...] = ()

    def held_by(self, pod: str) -> dict[int, Amounts]:
        """Minor → what this Pod (namespace/name) holds of it; a Pod is on one node."""
        return {
            card.minor: share.amounts
            for cards in self.nodes.values()
            for card in cards
            for share in card.shares
            if share.pod == pod
        }


def count(devices: Iterable[Device], pods: Iterable[Pod]) -> Count:
    """Pods that have finished hold nothing."""
    totals: dict[str, dict[int, Amounts]] = {}
    problems: list[str] = []
    for device in devices:
        cards = totals.setdefault(device.metadata.name, {})
        for info in device.spec.devices:
            if info.type == GPU and info.minor is not None:
                cards[info.minor] = _total(info) if info.health else {}
    shares: dict[str, dict[int, list[Share]]] = {}
    for pod in sorted(pods, key=lambda each: each.key):
        if pod.spec.node_name and not pod.is_terminated:
            held = _held(pod, totals.get(pod.spec.node_name, {}))
            if isinstance(held, Problem):
                problems.append(f"pod {pod.key}: {held}")
                continue
            for minor, amounts in held.items():
                shares.setdefault(pod.spec.node_name, {}).setdefault(minor, []).append(Share(pod.key, amounts))
    return Count(
        {
            node: tuple(
                CardUse(minor, totals.get(node, {}).get(minor, {}), tuple(shares.get(node, {}).get(minor, ())))
                for minor in sorted(totals.get(node, {}).keys() | shares.get(node, {}).keys())
            )
            for node in sorted(totals.keys() | shares.keys())
        },
        tuple(problems),
    )


def unknown_holders(count: Count, pods: Iterable[Pod]) -> list[Pod]:
    """Pods on nodes with cards that ask for some and do not say which they have: nobody counts what they hold."""
    return [
        pod
        for pod in pods
        if count.nodes.get(pod.spec.node_name)
        and not pod.is_terminated
        and DEVICE_ALLOCATED not in pod.metadata.annotations
        and any(_asks_for_cards(each) for each in (*pod.spec.containers, *pod.spec.init_containers))
    ]


def _asks_for_cards(container: Container) -> bool:
    return any(name in CARDS for name in current_names({**container.resources.limits, **container.resources.requests}))


def _total(info: DeviceInfo) -> Amounts:
    """Of a card with an amount that is no quantity nothing is given."""
    try:
        return {name: value_of(raw) for name, raw in current_names(info.resources).items()}
    except QuantityError:
        return {}


def _held(pod: Pod, totals: Mapping[int, Amounts]) -> dict[int, Amounts] | Problem:
    text = pod.metadata.annotations.get(DEVICE_ALLOCATED)
    try:
        devices = decode_device_allocated(text).get(GPU, ()) if text else ()
    except AnnotationError as error:
        return error.problem
    return {device.minor: _both_forms(device.resources, totals.get(device.minor, {})) for device in devices}


def _both_forms(amounts: Mapping[str, int], total: Amounts) -> Amounts:
    """A share of memory that was written in percent or in bytes alone counts in the other form too."""
    memory = total.get(GPU_MEMORY, 0)
    if not memory or (GPU_MEMORY in amounts) == (GPU_MEMORY_RATIO in amounts):
        return dict(amounts)
    if GPU_MEMORY in amounts:
        return {**amounts, GPU_MEMORY_RATIO: amounts[GPU_MEMORY] * 100 // memory}
    return {**amounts, GPU_MEMORY: amounts[GPU_MEMORY_RATIO] * memory // 100}
