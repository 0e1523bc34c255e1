"""Annotations about devices on a Pod that gets none: copied with another Pod's YAML, or left from an earlier try."""

import json
from collections.abc import Mapping

import msgspec
import pytest

from koordpy.testing import gpu, make_device, make_node, make_pod
from koordpy_api.koordinator import DEVICE_ALLOCATED, GPU_MINORS, GPU_UUIDS, HOLDS_NOTHING, NVIDIA_GPU, RDMA
from koordpy_api.objects import Pod

from .deviceshare_stage import HALF, Host, node_of

WHOLE = {"minor": 0, "id": "GPU-x", "resources": {"koordinator.sh/gpu-core": "100"}}
HELD = json.dumps({"gpu": [WHOLE]})
COPIED = {DEVICE_ALLOCATED: HELD, GPU_MINORS: "0", GPU_UUIDS: "GPU-x"}
DESIGNATING = COPIED | {"internal.scheduling.koordinator.sh/scheduling-hint": '{"extensions":{"DeviceShare":{}}}'}


@pytest.fixture
def host() -> Host:
    """One node with two cards and a NIC."""
    host = Host()
    nic = {"type": "rdma", "minor": 0, "id": "NIC-0", "health": True, "resources": {RDMA: 100}}
    host.list_device(make_device("node", [gpu(0), gpu(1), nic]))
    return host


def written(host: Host, pod: Pod, node: str = "node") -> Mapping[str, str]:
    """What the Binding carries."""
    host.hold(pod, node)
    plan = host.plugin.pre_bind(host.states[pod.uid], pod, node)
    return {} if plan is None else plan.pod.annotations


def bound(pod: Pod, annotations: Mapping[str, str], node: str = "node") -> Pod:
    """As the API server shows it: a Binding merges annotations."""
    meta = msgspec.structs.replace(pod.metadata, annotations={**pod.metadata.annotations, **annotations})
    spec = msgspec.structs.replace(pod.spec, node_name=node)
    return msgspec.structs.replace(pod, metadata=meta, spec=spec)


@pytest.mark.parametrize("text", [HELD, "{", "null"], ids=["readable", "broken", "null"])
@pytest.mark.parametrize("hinted", [False, True], ids=["copied", "designating, without a request"])
def test_a_pod_that_gets_no_device_is_bound_with_annotations_that_say_so(host: Host, text: str, hinted: bool) -> None:
    annotations = (DESIGNATING if hinted else COPIED) | {DEVICE_ALLOCATED: text}
    assert written(host, make_pod(requests={"cpu": 1}, annotations=annotations)) == HOLDS_NOTHING


def test_nothing_is_written_on_a_pod_that_says_nothing_of_devices(host: Host) -> None:
    assert written(host, make_pod(requests={"cpu": 1})) == {}
    assert written(host, make_pod("again", requests={"cpu": 1}, annotations=dict(HOLDS_NOTHING))) == {}


def test_a_pod_that_gets_a_nic_only_has_no_list_of_cards(host: Host) -> None:
    told = written(host, make_pod(requests={RDMA: 10}, annotations=COPIED))
    assert (told[GPU_MINORS], told[GPU_UUIDS]) == ("", "")
    assert '"rdma"' in told[DEVICE_ALLOCATED]
    assert '"gpu"' not in told[DEVICE_ALLOCATED]


@pytest.mark.parametrize("text", [HELD, "{"], ids=["readable", "broken"])
def test_a_copied_annotation_holds_no_card_live_nor_after_a_restart(host: Host, text: str) -> None:
    pod = make_pod(requests={"cpu": 1}, annotations=COPIED | {DEVICE_ALLOCATED: text})
    shown = bound(pod, written(host, pod))
    host.see_again(pod, shown)
    again = Host()
    again.list_device(make_device("node", 2))
    again.see(shown)
    for each in (host, again):
        assert each.try_node(make_pod("asks", requests={NVIDIA_GPU: 2})) is None
        assert each.reports == []


def test_a_copied_annotation_that_somebody_elses_bind_left_counts_before_a_restart_as_after_it(host: Host) -> None:
    pod = make_pod(requests={"cpu": 1}, annotations=COPIED)
    host.hold(pod)
    shown = bound(pod, {})
    host.see_again(pod, shown)
    again = Host()
    again.list_device(make_device("node", 2))
    again.see(shown)
    assert host.plugin.books.sums() == again.plugin.books.sums()
    assert host.plugin.books.sums()["node"] != {}


def test_a_vendors_pod_with_copied_annotations_leaves_its_node_to_the_device_plugin() -> None:
    host, node = Host(), "plain"
    has_two = node_of(node).with_node(make_node(node, extended={NVIDIA_GPU: 2}))
    for name in ("first", "second"):
        pod = make_pod(name, requests={NVIDIA_GPU: 1}, annotations=COPIED)
        host.begin(pod)
        assert host.plugin.filter(host.states[pod.uid], pod, has_two) is None
        assert host.plugin.reserve(host.states[pod.uid], pod, node) is None
        plan = host.plugin.pre_bind(host.states[pod.uid], pod, node)
        assert plan is not None
        assert plan.pod.annotations == HOLDS_NOTHING
        host.see_again(pod, bound(pod, plan.pod.annotations, node))
    refusal = host.try_node(make_pod("share", requests=HALF), node)
    assert refusal is not None
