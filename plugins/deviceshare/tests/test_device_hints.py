"""Annotations that narrow which devices a Pod gets, and how many of a NIC or an FPGA."""

import json
from typing import Any

import pytest

from koordpy.testing import gpu, make_device, make_pod
from koordpy_api.koordinator import (
    DEVICE_ALLOCATE_HINT,
    DEVICE_JOINT_ALLOCATE,
    FPGA,
    GPU,
    GPU_PARTITION_SPEC,
    NVIDIA_GPU,
    RDMA,
    SCHEDULING_HINTS,
    decode_device_allocated,
)
from koordpy_api.objects import Pod
from koordpy_api.status import Code, Status

from .deviceshare_stage import HALF, Host


def nic(minor: int, *, health: bool = True, **labels: str) -> dict[str, Any]:
    resources = {RDMA: 100}
    return {"type": "rdma", "id": f"nic-{minor}", "minor": minor, "health": health, "labels": labels} | {
        "resources": resources
    }


@pytest.fixture
def host() -> Host:
    """Two GPUs, of which one is fast; three NICs, of which one is slow and one is sick; an FPGA."""
    host = Host()
    fpga = {"type": "fpga", "id": "FPGA-0", "minor": 0, "health": True, "resources": {FPGA: 100}}
    nics = [nic(0, port="eth"), nic(1, port="ib"), nic(2, port="ib"), nic(3, health=False, port="ib")]
    host.list_device(make_device("node", [gpu(0), gpu(1, labels={"pool": "fast"}), *nics, fpga]))
    return host


def asks(requests: dict[str, str | int], **hints: Any) -> Pod:
    annotations = {DEVICE_ALLOCATE_HINT: json.dumps(hints)} if hints else {}
    return make_pod("asks", requests=requests, annotations=annotations)


def given(host: Host, pod: Pod) -> dict[str, dict[int, int]]:
    """Device type → minor → how much of NIC or FPGA, or percent of core."""
    refusal = host.hold(pod)
    assert refusal is None, refusal
    told = decode_device_allocated(host.plan(pod))
    return {kind: {each.minor: next(iter(each.resources.values())) for each in told[kind]} for kind in told}


IB = {"matchLabels": {"port": "ib"}}


@pytest.mark.parametrize(
    ("amount", "hint", "devices"),
    [
        pytest.param(30, {}, {0: 30}, id="a share of one device"),
        pytest.param(100, {}, {0: 100}, id="one device"),
        pytest.param(200, {}, {0: 100, 1: 100}, id="two devices"),
        pytest.param(30, {"selector": IB}, {1: 30}, id="one of those that the labels select"),
        pytest.param(
            2, {"allocateStrategy": "RequestsAsCount"}, {0: 1, 1: 1}, id="so many devices, one percent of each"
        ),
        pytest.param(
            2,
            {"allocateStrategy": "RequestsAsCount", "exclusivePolicy": "DeviceLevel"},
            {0: 100, 1: 100},
            id="so many devices, all of each",
        ),
        pytest.param(
            2,
            {"allocateStrategy": "RequestsAsCount", "selector": IB},
            {1: 1, 2: 1},
            id="so many of those that the labels select",
        ),
        pytest.param(
            7,
            {"allocateStrategy": "ApplyForAll", "selector": {"matchLabels": {"port": "eth"}}},
            {0: 7},
            id="the amount on every one that the labels select",
        ),
        pytest.param(200, {"allocateStrategy": "ApplyForAll"}, {0: 100, 1: 100}, id="whole devices are counted anyway"),
        pytest.param(30, {"selector": {}}, {0: 30}, id="an empty selector takes every one"),
    ],
)
def test_a_hint_says_which_nics_and_how_many(host: Host, amount: int, hint: object, devices: dict[int, int]) -> None:
    assert given(host, asks({RDMA: amount}, rdma=hint)) == {"rdma": devices}


@pytest.mark.parametrize(
    ("requests", "hints", "code", "reason"),
    [
        pytest.param(
            {RDMA: 7},
            {"rdma": {"allocateStrategy": "ApplyForAll"}},
            Code.UNSCHEDULABLE,
            "rdma",
            id="every NIC, one is sick",
        ),
        pytest.param(
            {RDMA: 7},
            {"rdma": {"allocateStrategy": "ApplyForAll", "selector": {"matchLabels": {"port": "zz"}}}},
            Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            "rdma",
            id="on every one of none",
        ),
        pytest.param(
            {RDMA: 7},
            {"rdma": {"selector": {"matchLabels": {"port": "zz"}}}},
            Code.UNSCHEDULABLE,
            "rdma",
            id="one of none",
        ),
        pytest.param({FPGA: 200}, {}, Code.UNSCHEDULABLE, "fpga", id="two FPGAs where there is one"),
        pytest.param(
            {GPU: 100},
            {"gpu": {"selector": {"matchLabels": {"pool": "x"}}}},
            Code.UNSCHEDULABLE,
            "gpu",
            id="no such GPU",
        ),
    ],
)
def test_too_few_devices_of_a_type_are_told_by_its_name(
    host: Host, requests: dict[str, str | int], hints: dict[str, Any], code: Code, reason: str
) -> None:
    refusal = host.try_node(asks(requests, **hints))
    assert refusal is not None
    assert (refusal.code, refusal.reasons) == (code, (f"Insufficient {reason} devices",))


def test_a_type_that_the_node_never_had_can_never_be_given() -> None:
    host = Host()
    host.list_device(make_device("node", 1))
    refusal = host.try_node(asks({GPU: 50, RDMA: 10}))
    assert refusal == Status.unresolvable("Insufficient rdma devices", details=refusal.details if refusal else {})


def test_all_types_of_which_too_little_is_left_are_told_with_their_amounts(host: Host) -> None:
    refusal = host.try_node(asks({NVIDIA_GPU: 3, RDMA: 400, FPGA: 10}))
    assert refusal is not None
    assert refusal.reasons == ("Insufficient gpu devices", "Insufficient rdma devices")
    assert refusal.details["gpu.asked.count"] == 3
    assert refusal.details["rdma.asked.count"] == 4
    assert refusal.details[f"rdma[0].asked.{RDMA}"] == 100
    assert "unhealthy" in str(refusal.details["rdma[3].why"])


@pytest.mark.parametrize(
    ("expressions", "minors"),
    [
        pytest.param([{"key": "pool", "operator": "Exists"}], [1], id="has the label"),
        pytest.param([{"key": "pool", "operator": "DoesNotExist"}], [0], id="has it not"),
        pytest.param([{"key": "pool", "operator": "In", "values": ["slow", "fast"]}], [1], id="has one of the values"),
        pytest.param([{"key": "pool", "operator": "NotIn", "values": ["fast"]}], [0], id="has none of the values"),
        pytest.param([], [0], id="nothing is demanded"),
    ],
)
def test_a_gpu_is_selected_by_the_labels_of_its_entry(host: Host, expressions: list[Any], minors: list[int]) -> None:
    pod = asks({GPU: 50}, gpu={"selector": {"matchExpressions": expressions}})
    assert list(given(host, pod)["gpu"]) == minors


def test_three_types_are_given_together_or_not_at_all(host: Host) -> None:
    pod = asks({GPU: 50, RDMA: 10, FPGA: 100})
    assert given(host, pod) == {"fpga": {0: 100}, "gpu": {0: 50}, "rdma": {0: 10}}
    second = make_pod("second", requests={GPU: 50, RDMA: 10, FPGA: 100})
    before = host.plugin.books.devices_of("node")
    assert host.hold(second) is not None
    assert host.plugin.books.devices_of("node") == before


@pytest.mark.parametrize(
    ("annotations", "reason"),
    [
        pytest.param({DEVICE_ALLOCATE_HINT: "{"}, "invalid DeviceAllocateHint annotation, err: ", id="no JSON"),
        pytest.param({DEVICE_ALLOCATE_HINT: '{"gpu":3}'}, "invalid DeviceAllocateHint annotation, err: ", id="no hint"),
        pytest.param(
            {DEVICE_ALLOCATE_HINT: '{"rdma":null}'},
            "invalid DeviceAllocateHint annotation, err: the hint for rdma is null",
            id="null as a hint",
        ),
        pytest.param(
            {DEVICE_ALLOCATE_HINT: '{"gpu":{"selector":{"matchExpressions":[{"key":"a","operator":"Near"}]}}}'},
            'invalid Selector of DeviceHint, deviceType: gpu, err: "Near" is not a valid label selector operator',
            id="an unknown operator",
        ),
        pytest.param(
            {DEVICE_ALLOCATE_HINT: '{"rdma":{"vfSelector":{"matchExpressions":[{"key":"a","operator":"In"}]}}}'},
            "invalid VFSelector of DeviceHint, deviceType: rdma, err: a: for 'in', 'notin' operators, values set",
            id="one of no values",
        ),
        pytest.param(
            {DEVICE_ALLOCATE_HINT: '{"gpu":{"selector":{"matchLabels":{"pool":"fast lane"}}}}'},
            'invalid Selector of DeviceHint, deviceType: gpu, err: values[0][pool]: Invalid value: "fast lane": ',
            id="what no label can be",
        ),
        pytest.param(
            {DEVICE_JOINT_ALLOCATE: "[]"}, "invalid DeviceJointAllocate annotation, err: ", id="joint: a list"
        ),
        pytest.param({GPU_PARTITION_SPEC: '"x"'}, "invalid GPUPartitionSpec annotation, err: ", id="partition: a text"),
        pytest.param(
            {
                SCHEDULING_HINTS[0]: '{"extensions":{"DeviceShare":{}}}',
                "scheduling.koordinator.sh/device-allocated": "{",
            },
            "metadata.annotations[scheduling.koordinator.sh/device-allocated]",
            id="a designated allocation that cannot be read",
        ),
    ],
)
def test_an_annotation_that_cannot_be_read_is_refused_and_not_taken_for_none(
    annotations: dict[str, str], reason: str
) -> None:
    answer = Host().begin(make_pod(requests=HALF, annotations=annotations))
    assert answer is not None
    assert answer.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert reason in answer.message


@pytest.mark.parametrize(
    ("requests", "annotations", "named"),
    [
        pytest.param(
            {RDMA: 1},
            {DEVICE_ALLOCATE_HINT: '{"rdma":{"vfSelector":{}}}'},
            "vfSelector for rdma",
            id="a virtual function",
        ),
        pytest.param(
            {GPU: 100, RDMA: 1},
            {DEVICE_JOINT_ALLOCATE: '{"deviceTypes":["gpu","rdma"]}'},
            DEVICE_JOINT_ALLOCATE,
            id="devices that are near one another",
        ),
    ],
)
def test_a_wish_that_nobody_can_grant_yet_is_refused_by_name(
    requests: dict[str, str | int], annotations: dict[str, str], named: str
) -> None:
    answer = Host().begin(make_pod(requests=requests, annotations=annotations))
    assert answer == Status.unresolvable(f"koordpy does not support {named} yet")


@pytest.mark.parametrize(
    "annotations",
    [
        pytest.param(
            {DEVICE_ALLOCATE_HINT: '{"rdma":{"vfSelector":{}}}'}, id="a hint for a type that is not asked for"
        ),
        pytest.param({DEVICE_JOINT_ALLOCATE: '{"deviceTypes":["gpu","rdma"]}'}, id="nothing to be near to"),
        pytest.param({GPU_PARTITION_SPEC: "{}"}, id="a partition for a share"),
        pytest.param({DEVICE_ALLOCATE_HINT: '{"gpu":{"allocateStrategy":"ApplyForAll"}}'}, id="a strategy of NICs"),
        pytest.param({DEVICE_ALLOCATE_HINT: "null"}, id="null"),
    ],
)
def test_a_wish_that_says_nothing_about_what_is_asked_is_no_hindrance(host: Host, annotations: dict[str, str]) -> None:
    assert given(host, make_pod(requests=HALF, annotations=annotations)) == {"gpu": {0: 50}}
