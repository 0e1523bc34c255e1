"""Which node: how full or empty its devices would be, stretched over all nodes."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from koordpy.testing import gpu, make_device, make_pod
from koordpy_api.koordinator import FPGA, GPU, GPU_CORE, GPU_MEMORY_RATIO, NVIDIA_GPU, RDMA
from koordpy_api.status import Code
from koordpy_deviceshare.args import DeviceShareArgs

from .deviceshare_stage import Host, node_of

Requests = Mapping[str, str | int]
LEAST, MOST = (
    {"scoringStrategy": {"type": name, "resources": [{"name": GPU_MEMORY_RATIO, "weight": 1}]}}
    for name in ("LeastAllocated", "MostAllocated")
)


def nic(minor: int) -> dict[str, Any]:
    return {"type": "rdma", "id": f"nic-{minor}", "minor": minor, "health": True, "resources": {RDMA: 100}}


def score(host: Host, requests: Requests, node: str = "node") -> int:
    pod = make_pod("asks", requests=requests)
    assert host.begin(pod) is None
    return host.plugin.score(host.states[pod.uid], pod, node_of(node))


def host_with(args: Mapping[str, Any], cards: int = 4, **used: Requests) -> Host:
    """used: pods that are bound before."""
    host = Host(DeviceShareArgs.model_validate(args))
    host.list_device(make_device("node", cards))
    for name, requests in used.items():
        host.bind(make_pod(name, requests=requests))
    return host


@pytest.mark.parametrize(
    ("args", "requests", "expected"),
    [
        pytest.param(LEAST, {GPU: 50}, 87, id="an eighth of four cards would be used"),
        pytest.param(MOST, {GPU: 50}, 12, id="an eighth of four cards would be used, packing"),
        pytest.param(LEAST, {NVIDIA_GPU: 3}, 25, id="all the cards that are asked for count"),
        pytest.param(MOST, {NVIDIA_GPU: 3}, 75, id="all the cards that are asked for count, packing"),
        pytest.param(MOST, {NVIDIA_GPU: 9}, 100, id="more than the node has is all of it"),
        pytest.param(LEAST, {NVIDIA_GPU: 9}, 0, id="more than the node has leaves nothing"),
        pytest.param({}, {GPU: 100}, 87, id="by default ratio and bytes count, as they were asked"),
    ],
)
def test_a_node_is_rated_by_what_its_cards_would_have_left(
    args: Mapping[str, Any], requests: Requests, expected: int
) -> None:
    assert score(host_with(args), requests) == expected


def test_what_is_used_already_counts() -> None:
    assert score(host_with(MOST, first={GPU: 50}, second={GPU: 50}), {GPU: 100}) == 50
    assert score(host_with(LEAST, first={GPU: 50}, second={GPU: 50}), {GPU: 100}) == 50


def test_device_types_add_up() -> None:
    host = Host()
    host.list_device(make_device("node", [gpu(0), gpu(1), nic(0), nic(1)]))
    assert score(host, {GPU: 100}) == 75
    assert score(host, {RDMA: 100}) == 50
    assert score(host, {GPU: 100, RDMA: 100}) == 125


@pytest.mark.parametrize("args", [LEAST, MOST])
def test_a_node_with_nothing_left_or_without_a_device_has_no_score(args: Mapping[str, Any]) -> None:
    assert score(host_with(args, 1, all={NVIDIA_GPU: 1}), {GPU: 50}) == 0
    assert score(host_with(args), {GPU: 50}, "another") == 0
    assert score(host_with(args), {FPGA: 50}) == 0


def test_packing_nodes_prefers_the_one_that_the_request_fills_though_it_is_emptier_now() -> None:
    host = host_with(MOST, 4)
    host.list_device(make_device("large", 8))
    host.bind(make_pod("on-large", requests={NVIDIA_GPU: 2}), "large")
    assert score(host, {NVIDIA_GPU: 4}) > score(host, {NVIDIA_GPU: 4}, "large")


def test_two_keys_rate_nodes_and_cards_apart() -> None:
    host = host_with({"allocator": "binpack", **LEAST}, first={GPU: 50})
    host.list_device(make_device("empty", 4))
    assert score(host, {GPU: 50}) < score(host, {GPU: 50}, "empty")


@pytest.mark.parametrize(
    ("scores", "stretched"),
    [
        pytest.param([200, 10], [100, 5], id="the best has a hundred"),
        pytest.param([3, 2, 1], [100, 66, 33], id="small ones are stretched, rounded down"),
        pytest.param([0, 0], [0, 0], id="nothing stays nothing"),
        pytest.param([], [], id="no node at all"),
    ],
)
def test_scores_are_stretched_to_a_hundred(scores: list[int], stretched: list[int]) -> None:
    array = np.array(scores, dtype=np.int64)
    Host().plugin.normalize_scores(array)
    assert array.tolist() == stretched


def test_a_pod_without_devices_is_not_scored() -> None:
    host, pod = host_with({}), make_pod()
    host.begin(pod)
    answer = host.plugin.pre_score(host.states[pod.uid], pod, [])
    assert answer is not None
    assert answer.code is Code.SKIP
    assert host.plugin.score(host.states[pod.uid], pod, node_of("node")) == 0


def test_scoring_changes_nothing() -> None:
    host = host_with({}, first={GPU_CORE: 10, GPU_MEMORY_RATIO: 10})
    before = host.plugin.books.devices_of("node")
    score(host, {GPU: 200, RDMA: 100})
    assert host.plugin.books.devices_of("node") == before
