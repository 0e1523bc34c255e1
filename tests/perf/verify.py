"""Whether a run counts: everything that was bound has room where it is, and nothing else is left than may be."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

import aiohttp
import msgspec

from koordpy_api.koordinator import DEVICE_ALLOCATED, GPU_CORE, GPU_MEMORY_RATIO, NVIDIA_GPU, decode_device_allocated
from koordpy_api.resources import PODS as PODS_RESOURCE
from koordpy_api.resources import parse_amounts
from tests.perf.plan import PODS
from tests.perf.watching import WrongResult

WHOLE: Final = 100
"""Percent of a card."""
NEVER: Final = "never-"


class _Meta(msgspec.Struct):
    name: str
    annotations: dict[str, str] = {}


class _Resources(msgspec.Struct):
    requests: dict[str, str] = {}


class _Container(msgspec.Struct):
    resources: _Resources = msgspec.field(default_factory=_Resources)


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str = ""
    containers: list[_Container] = []


class _Condition(msgspec.Struct):
    type: str
    status: str = ""


class _Status(msgspec.Struct):
    allocatable: dict[str, str] = {}
    conditions: list[_Condition] = []


class _Object(msgspec.Struct):
    metadata: _Meta
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


class _List(msgspec.Struct):
    items: list[_Object]


_LIST: Final = msgspec.json.Decoder(_List)


async def left_out(session: aiohttp.ClientSession, count: int) -> int:
    """How many of count pods that could be bound are not.

    *Raises* WrongResult if there are not so many, a node is over its resources or a card over 100 %, a pod has other
    cards than it asked for, or one that fits nowhere is bound or not told why it is not.
    """
    pods = await _read(session, PODS)
    room = {
        node.metadata.name: parse_amounts(node.status.allocatable) for node in await _read(session, "/api/v1/nodes")
    }
    never = [pod for pod in pods if pod.metadata.name.startswith(NEVER)]
    for pod in never:
        if pod.spec.node_name or not any(each.type == "PodScheduled" for each in pod.status.conditions):
            raise WrongResult(f"pod {pod.metadata.name}, which fits nowhere, is bound or not told so")
    bound = [pod for pod in pods if pod.spec.node_name]
    _check_nodes(bound, room)
    _check_cards(bound)
    if len(pods) - len(never) != count:
        raise WrongResult(f"there are {len(pods) - len(never)} pods that fit, there were {count}")
    return count - len(bound)


def _check_nodes(bound: list[_Object], room: Mapping[str, Mapping[str, int]]) -> None:
    used: dict[str, dict[str, int]] = {name: defaultdict(int) for name in room}
    for pod in bound:
        if pod.spec.node_name not in room:
            raise WrongResult(f"pod {pod.metadata.name} is bound to {pod.spec.node_name}, which does not exist")
        book = used[pod.spec.node_name]
        book[PODS_RESOURCE] += 1
        for resource, amount in _asked(pod).items():
            book[resource] += amount
    for name, book in used.items():
        # What a node does not name is not counted on it: cards are counted from the annotations.
        if over := [each for each, amount in book.items() if each in room[name] and amount > room[name][each]]:
            raise WrongResult(f"node {name} is over its {', '.join(over)}")


def _check_cards(bound: list[_Object]) -> None:
    used: dict[tuple[str, int, str], int] = defaultdict(int)
    for pod in bound:
        asked = _asked(pod)
        percent = asked.get(GPU_CORE, 0) + WHOLE * asked.get(NVIDIA_GPU, 0)
        held = decode_device_allocated(pod.metadata.annotations.get(DEVICE_ALLOCATED, "{}")).get("gpu", ())
        if sum(device.resources[GPU_CORE] for device in held) != percent:
            raise WrongResult(f"pod {pod.metadata.name} asks for {percent} % of cards and has {held}")
        for device in held:
            for resource in (GPU_CORE, GPU_MEMORY_RATIO):
                used[pod.spec.node_name, device.minor, resource] += device.resources[resource]
    if over := [key for key, percent in used.items() if percent > WHOLE]:
        raise WrongResult(f"{len(over)} cards are over 100 %, such as {over[0]}")


def _asked(pod: _Object) -> Mapping[str, int]:
    total: dict[str, int] = defaultdict(int)
    for container in pod.spec.containers:
        for resource, amount in parse_amounts(container.resources.requests).items():
            total[resource] += amount
    return total


async def _read(session: aiohttp.ClientSession, path: str) -> list[_Object]:
    async with session.get(path, raise_for_status=True) as answer:
        return _LIST.decode(await answer.read()).items
