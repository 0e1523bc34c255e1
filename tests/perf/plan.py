"""What the ceiling writes: the requests that koordpy would send for a workload, with every node chosen in advance.

Each is as long as koordpy's own: the same Binding with the same annotations, the same Event, for a pod that fits
nowhere the same patch of its status.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from koordpy_api.koordinator import (
    DEVICE_ALLOCATED,
    GPU_CORE,
    GPU_MEMORY,
    GPU_MEMORY_RATIO,
    AllocatedDevice,
    encode_device_allocated,
    encode_gpu_lists,
)
from tests.perf.environs import Meta
from tests.perf.workloads import CARDS, NAMESPACE, PATTERN, SCHEDULER_NAME, SHARES, Workload, card_id

PODS: Final = f"/api/v1/namespaces/{NAMESPACE}/pods"
EVENTS: Final = f"/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events"
JSON: Final = "application/json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
WHEN: Final = "2030-01-01T00:00:00.000000Z"
CARD_BYTES: Final = 80 * 2**30


class Write(msgspec.Struct, frozen=True, array_like=True):
    """One request."""

    method: str
    path: str
    content_type: str
    body: bytes


Chain = list[Write]
"""Requests of one pod; each is sent when the one before it is answered."""


def write_plan(path: Path, workload: Workload, backlog: Sequence[Meta], *, with_events: bool) -> None:
    """backlog: the workload's pods, as they were created."""
    path.write_bytes(msgspec.msgpack.encode(list(chains(workload, backlog, with_events=with_events))))


def chains(workload: Workload, backlog: Sequence[Meta], *, with_events: bool) -> Iterator[Chain]:
    """In the order of the backlog."""
    refused, placed = backlog[: workload.never_fit], backlog[workload.never_fit :]
    why = f"0/{workload.nodes} nodes are available: {workload.nodes} Insufficient cpu."
    for pod in refused:
        events = [_event(pod, "Warning", "FailedScheduling", "Scheduling", why)] if with_events else []
        yield [_condition(pod, why), *events]
    places = card_places() if workload.device else ((number % workload.nodes, {}) for number in range(len(placed)))
    for pod, (node, annotations) in zip(placed, places, strict=False):
        name = f"node-{node:05}"
        note = f"Successfully assigned {NAMESPACE}/{pod.name} to {name}"
        events = [_event(pod, "Normal", "Scheduled", "Binding", note)] if with_events else []
        yield [_binding(pod, name, annotations), *events]


def card_places() -> Iterator[tuple[int, Mapping[str, str]]]:
    """Node and annotations of one pod of the pattern after the other, one card after the other."""
    fresh = itertools.count()
    alone: list[int] = []  # the last card of a node, where a pair did not fit in any more
    shared: dict[str, tuple[int, float]] = {}  # kind → the card that it fills, and how far
    for kind in itertools.cycle(PATTERN):
        share = SHARES[kind]
        card, used = shared.get(kind, (-1, 1.0))
        if used + share > 1:
            card, used = alone.pop() if alone and share <= 1 else next(fresh), 0.0
        if share > 1 and card % CARDS == CARDS - 1:
            alone.append(card)
            card = next(fresh)
        minors = [card % CARDS] if share <= 1 else [card % CARDS, next(fresh) % CARDS]
        shared[kind] = (card, used + share)
        yield card // CARDS, _held(card // CARDS, minors, min(1.0, share))


def _held(node: int, minors: Sequence[int], share: float) -> Mapping[str, str]:
    percent, memory = int(100 * share), int(CARD_BYTES * share)
    amounts = {GPU_CORE: percent, GPU_MEMORY: memory, GPU_MEMORY_RATIO: percent}
    held = {"gpu": [AllocatedDevice(minor, amounts, card_id(node, minor)) for minor in minors]}
    return {DEVICE_ALLOCATED: encode_device_allocated(held), **encode_gpu_lists(held)}


def _binding(pod: Meta, node: str, annotations: Mapping[str, str]) -> Write:
    metadata: dict[str, Any] = {"namespace": NAMESPACE, "name": pod.name, "uid": pod.uid}
    metadata |= {"annotations": annotations} if annotations else {}
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    body = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
    return Write("POST", f"{PODS}/{pod.name}/binding", JSON, msgspec.json.encode(body))


def _condition(pod: Meta, message: str) -> Write:
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": message,
        "observedGeneration": 1,
        "lastTransitionTime": "2030-01-01T00:00:00Z",
    }
    body = {"metadata": {"uid": pod.uid}, "status": {"conditions": [condition]}}
    return Write("PATCH", f"{PODS}/{pod.name}/status", STRATEGIC, msgspec.json.encode(body))


def _event(pod: Meta, type_: str, reason: str, action: str, note: str) -> Write:
    regarding = {"apiVersion": "v1", "kind": "Pod", "namespace": NAMESPACE, "name": pod.name}
    body = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"namespace": NAMESPACE, "name": f"{pod.name}.{'0' * 16}"},
        "eventTime": WHEN,
        "reportingController": SCHEDULER_NAME,
        "reportingInstance": f"{SCHEDULER_NAME}-localhost",
        "regarding": {**regarding, "uid": pod.uid, "resourceVersion": pod.resource_version},
        "type": type_,
        "reason": reason,
        "action": action,
        "note": note,
    }
    return Write("POST", EVENTS, JSON, msgspec.json.encode(body))
