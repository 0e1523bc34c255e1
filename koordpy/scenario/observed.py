"""What a scenario can see: the cluster as everybody sees it, and the diaries of the runner."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from koordpy.scenario.parts import Document
from koordpy.scenario.recording import Request
from koordpy.scenario.standins import CallBook
from koordpy.scenario.world import Finished
from koordpy_api.koordinator import DEVICE_ALLOCATED, GPU_CORE, GPU_MEMORY, GPU_MEMORY_RATIO
from koordpy_api.quantity import value_of


@dataclass(slots=True)
class Book:
    """What is used of one card: percent, percent, bytes."""

    core: int = 0
    ratio: int = 0
    memory: int = 0


@dataclass(frozen=True, slots=True)
class Observed:
    """One look at everything. objects: pod/p → its document. finished: the last command, or a refused start."""

    objects: Mapping[str, Document] = field(default_factory=dict)
    events: Sequence[Document] = ()
    requests: Sequence[Request] = ()
    log: Sequence[str] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)
    book: CallBook = field(default_factory=CallBook)
    finished: Finished | None = None

    def pod(self, name: str) -> Document:
        """Empty if there is none."""
        return self.objects.get(f"pod/{name}", {})

    def minors(self, pod: str) -> tuple[int, ...]:
        return tuple(each["minor"] for each in _allocated(self.pod(pod)))

    def books(self) -> Mapping[tuple[str, int], Book]:
        """(node, minor) → what annotations of bound Pods say is used there."""
        books: defaultdict[tuple[str, int], Book] = defaultdict(Book)
        for ref, document in self.objects.items():
            node = str(document.get("spec", {}).get("nodeName", "")) if ref.startswith("pod/") else ""
            for each in _allocated(document) if node else ():
                book, amounts = books[node, each["minor"]], each.get("resources", {})
                book.core += value_of(amounts.get(GPU_CORE, 0))
                book.ratio += value_of(amounts.get(GPU_MEMORY_RATIO, 0))
                book.memory += value_of(amounts.get(GPU_MEMORY, 0))
        return books


def condition(pod: Mapping[str, Any], type_: str) -> Document:
    """Empty if the Pod has no condition of this type."""
    conditions = pod.get("status", {}).get("conditions") or []
    return next((each for each in conditions if each["type"] == type_), {})


def _allocated(pod: Mapping[str, Any]) -> Sequence[Document]:
    text = (pod.get("metadata", {}).get("annotations") or {}).get(DEVICE_ALLOCATED)
    gpus: Sequence[Document] = json.loads(text).get("gpu", []) if text else []
    return gpus
