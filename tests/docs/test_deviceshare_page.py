"""docs/deviceshare.md: each request on fresh nodes, and what the page says of it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from koordpy.scheduler.outcome import NotPlaced, Placed
from koordpy.testing import CycleHarness, make_node, make_pod, read_object
from koordpy_api.koordinator import DEVICE_ALLOCATED, GPU_MEMORY, decode_device_allocated
from koordpy_api.objects import Device, Pod
from koordpy_api.quantity import format_binary, format_decimal

PAGE: Final = Path(__file__).parents[2] / "docs" / "deviceshare.md"
BLOCK: Final = re.compile(r"^```yaml\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)
ROW: Final = re.compile(r"^\| `([^`]+: [^`]+)` \| `?([^`\n]*?)`? \|$", re.MULTILINE)


def blocks() -> list[tuple[dict[str, Any], str]]:
    return [(yaml.safe_load(text), shown or "") for text, shown in BLOCK.findall(PAGE.read_text())]


def requests() -> Iterator[Any]:
    for document, shown in blocks():
        if "spec" in document and document.get("kind", "Pod") == "Pod":
            pod = {"kind": "Pod", **document, "metadata": {"name": "pod", "uid": "uid", **document.get("metadata", {})}}
            amounts = [each.get("resources", {}).get("limits", {}) for each in document["spec"]["containers"]]
            yield pytest.param(pod, shown, id=" and ".join(map(str, amounts)))


def refused() -> list[Any]:
    section = PAGE.read_text().partition("## What is refused")[2].partition("\n## ")[0]
    return [pytest.param(asked, text, id=asked) for asked, text in ROW.findall(section)]


def nodes() -> CycleHarness:
    devices = [read_object(Device, document) for document, _ in blocks() if document.get("kind") == "Device"]
    plain = make_node("plain-node", extended={"amd.com/gpu": 2})
    return CycleHarness([*(make_node(device.metadata.name) for device in devices), plain, *devices])


def told(harness: CycleHarness, placed: Placed) -> str:
    """As the page shows it: a line for each device."""
    written = harness.plan(placed).pod.annotations.get(DEVICE_ALLOCATED, "")
    if not written:
        return f"{placed.node_name}: nothing is written\n"
    lines = [f"{placed.node_name}:"]
    for kind, devices in decode_device_allocated(written).items():
        for device in devices:
            amounts = ", ".join(
                f"{name.partition('/')[2]} {format_binary(amount) if name == GPU_MEMORY else format_decimal(amount)}"
                for name, amount in sorted(device.resources.items())
            )
            lines.append(f"  {kind} {device.minor}: {amounts}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(("manifest", "shown"), list(requests()))
def test_a_request_of_the_page_gets_what_the_page_says(manifest: dict[str, Any], shown: str) -> None:
    harness = nodes()
    assert harness.problems.count == 0
    placed = harness.schedule(read_object(Pod, manifest))
    assert isinstance(placed, Placed), placed
    assert told(harness, placed) == shown


@pytest.mark.parametrize(("asked", "text"), refused())
def test_what_the_page_says_is_refused_is_refused_in_these_words(asked: str, text: str) -> None:
    amounts = dict(each.split(": ") for each in asked.split(", "))
    limits = {name if "/" in name else f"koordinator.sh/{name}": amount for name, amount in amounts.items()}
    answer = nodes().schedule(make_pod(containers=[{"name": "main", "resources": {"limits": limits}}]))
    assert isinstance(answer, NotPlaced)
    assert answer.status.message.rpartition("available: ")[2] == text
