"""What the API server says of pods, and a recount of the cards from their annotations alone."""

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import yaml

from koordpy_api.koordinator import DEVICE_ALLOCATED, GPU_CORE, GPU_MEMORY, GPU_MEMORY_RATIO
from koordpy_api.quantity import value_of
from tests.controlplane.server import ControlPlane
from tests.controlplane.supervisor import wait_until

Document = dict[str, Any]
INPUTS = Path(__file__).parents[1] / "inputs"


def read_input(name: str) -> Document:
    """A file of tests/inputs by the number it begins with."""
    (path,) = INPUTS.glob(f"{name}-*.yaml")
    document: Document = yaml.safe_load(path.read_text())
    return document


def pods(control_plane: ControlPlane, namespace: str) -> list[Document]:
    _, found = control_plane.request("GET", f"/api/v1/namespaces/{namespace}/pods")
    items: list[Document] = found["items"]
    return items


def pod(control_plane: ControlPlane, namespace: str, name: str) -> Document:
    _, found = control_plane.request("GET", f"/api/v1/namespaces/{namespace}/pods/{name}")
    document: Document = found
    return document


def wait_bound(control_plane: ControlPlane, namespace: str, name: str) -> Document:
    wait_until(f"the bind of {name}", lambda: bool(pod(control_plane, namespace, name)["spec"].get("nodeName")))
    return pod(control_plane, namespace, name)


def condition(document: Document) -> Document:
    """Its PodScheduled condition, empty if there is none."""
    conditions = document.get("status", {}).get("conditions", [])
    return next((each for each in conditions if each["type"] == "PodScheduled"), {})


def wait_refused(control_plane: ControlPlane, namespace: str, name: str) -> Document:
    def is_refused() -> bool:
        return condition(pod(control_plane, namespace, name)).get("status") == "False"

    wait_until(f"the refusal of {name}", is_refused)
    return pod(control_plane, namespace, name)


def events(control_plane: ControlPlane, namespace: str, name: str) -> list[Document]:
    _, found = control_plane.request("GET", f"/apis/events.k8s.io/v1/namespaces/{namespace}/events")
    return [each for each in found["items"] if each["regarding"]["name"] == name]


def allocation(document: Document) -> list[Document]:
    """The GPUs of a pod's device-allocated annotation, empty without one."""
    text = document["metadata"].get("annotations", {}).get(DEVICE_ALLOCATED)
    gpus: list[Document] = json.loads(text).get("gpu", []) if text else []
    return gpus


def recount(documents: list[Document]) -> dict[tuple[str, int], Counter[str]]:
    """(node, minor) → what the annotations say is used there, and by how many pods."""
    books: dict[tuple[str, int], Counter[str]] = defaultdict(Counter)
    for document in documents:
        for device in allocation(document):
            book = books[document["spec"]["nodeName"], device["minor"]]
            book["pods"] += 1
            for resource in (GPU_CORE, GPU_MEMORY_RATIO, GPU_MEMORY):
                book[resource] += value_of(device["resources"][resource])
    return books


def print_books(title: str, books: dict[tuple[str, int], Counter[str]]) -> None:
    print(f"\n{title}")
    for (node, minor), book in sorted(books.items()):
        memory = book[GPU_MEMORY] / 2**30
        print(
            f"  {node:<16} card {minor}: {book['pods']} pods, core {book[GPU_CORE]} %, "
            f"ratio {book[GPU_MEMORY_RATIO]} %, memory {memory:g}Gi"
        )
