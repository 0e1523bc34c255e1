"""What a node must be, besides having enough left: with a Device, or plainly without; isolating, sharing."""

import json
from collections.abc import Mapping

import msgspec
import pytest

from koordpy.testing import make_device, make_node, make_pod
from koordpy_api.koordinator import (
    AMD_GPU,
    DEVICE_ALLOCATE_HINT,
    FPGA,
    GPU,
    GPU_CORE,
    GPU_ISOLATION_PROVIDER,
    GPU_MEMORY,
    GPU_MEMORY_RATIO,
    GPU_MODEL,
    GPU_PARTITION_SPEC,
    GPU_PARTITIONS,
    GPU_VENDOR,
    NVIDIA_GPU,
    RDMA,
)
from koordpy_api.node_info import NodeInfo
from koordpy_api.objects import Pod
from koordpy_api.status import Code, Status
from koordpy_deviceshare.args import DeviceShareArgs
from koordpy_deviceshare.vendors import WHOLE_CARD_NAMES

from .deviceshare_stage import HALF, Host, assigned

Requests = Mapping[str, str | int]
NO_DEVICE = Status.unresolvable("node(s) had no Device")
HELD = '{"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":"50","koordinator.sh/gpu-memory-ratio":"50"}}]}'


def filtered(host: Host, pod: Pod, node: NodeInfo) -> Status | None:
    refusal = host.begin(pod)
    assert refusal is None, refusal
    return host.plugin.filter(host.states[pod.uid], pod, node)


def node_with(labels: Mapping[str, str] | None = None, requested: int = 0, **allocatable: int) -> NodeInfo:
    extended = {name.replace("_", ".") + "/gpu": amount for name, amount in allocatable.items()}
    info = NodeInfo("node").with_node(make_node("node", labels=labels, extended=extended))
    return msgspec.structs.replace(info, requested=dict.fromkeys(extended, requested)) if requested else info


# ---------------------------------------------------------------- without a Device


@pytest.mark.parametrize(
    "requests",
    [
        pytest.param(HALF, id="a share"),
        pytest.param({GPU: 100}, id="a whole card by Koordinator's name"),
        pytest.param({GPU_MEMORY: "1Gi"}, id="bytes"),
        pytest.param({RDMA: 10}, id="a NIC"),
        pytest.param({FPGA: 10}, id="an FPGA"),
        pytest.param({NVIDIA_GPU: 1, RDMA: 10}, id="a card beside a NIC"),
    ],
)
def test_koordinators_names_are_refused_where_no_device_tells_of_the_node(requests: Requests) -> None:
    assert filtered(Host(), make_pod(requests=requests), node_with(nvidia_com=8)) == NO_DEVICE


@pytest.mark.parametrize("name", sorted(WHOLE_CARD_NAMES))
def test_a_vendors_cards_are_left_to_its_device_plugin_on_a_plain_node(name: str) -> None:
    host, pod = Host(), make_pod(requests={name: 2})
    info = NodeInfo("node").with_node(make_node("node", extended={name: 2}))
    assert filtered(host, pod, info) is None
    assert host.plugin.reserve(host.states[pod.uid], pod, "node") is None
    assert host.plan(pod) == ""
    assert host.plugin.books.sums() == {}


@pytest.mark.parametrize(
    ("node", "refusal"),
    [
        pytest.param(node_with(), NO_DEVICE, id="nobody offers such cards there"),
        pytest.param(node_with(nvidia_com=0), NO_DEVICE, id="the device plugin has none"),
        pytest.param(node_with(amd_com=2), NO_DEVICE, id="the device plugin is another vendor's"),
        pytest.param(
            node_with(nvidia_com=1),
            Status.unschedulable(f"Insufficient {NVIDIA_GPU}", details={"asked": 2, "free": 1}),
            id="too few",
        ),
        pytest.param(
            node_with(nvidia_com=4, requested=3),
            Status.unschedulable(f"Insufficient {NVIDIA_GPU}", details={"asked": 2, "free": 1}),
            id="too few are left",
        ),
    ],
)
def test_a_plain_node_needs_the_vendors_cards(node: NodeInfo, refusal: Status) -> None:
    assert filtered(Host(), make_pod(requests={NVIDIA_GPU: 2}), node) == refusal


def test_a_node_that_had_a_device_in_this_run_is_not_plain_any_more() -> None:
    host, device, pod = Host(), make_device("node", 2), make_pod(requests={NVIDIA_GPU: 1})
    host.list_device(device)
    host.delete_device(device)
    refusal = filtered(host, pod, node_with(nvidia_com=2))
    assert refusal is not None
    assert refusal.reasons == ("Insufficient gpu devices",)
    assert host.plugin.reserve(host.states[pod.uid], pod, "node") is not None


@pytest.mark.parametrize("annotation", [HELD, "{"])
def test_a_node_on_which_a_pod_carries_our_annotation_is_not_plain(annotation: str) -> None:
    """Its Device is not here yet; what the device plugin counts is not what our pods hold."""
    host, pod = Host(), make_pod(requests={NVIDIA_GPU: 1})
    host.see(assigned(make_pod("holder"), annotation=annotation))
    assert filtered(host, pod, node_with(nvidia_com=2)) == NO_DEVICE
    assert host.plugin.reserve(host.states[pod.uid], pod, "node") == NO_DEVICE


def test_reserve_writes_nothing_and_refuses_a_share_where_no_device_tells_of_the_node() -> None:
    host, pod = Host(), make_pod(requests=HALF)
    host.begin(pod)
    assert host.plugin.reserve(host.states[pod.uid], pod, "node") == NO_DEVICE
    assert host.plan(pod) == ""


# ---------------------------------------------------------------- isolation, sharing, topology

PROVIDER = {GPU_ISOLATION_PROVIDER: "HAMi-core"}


@pytest.mark.parametrize(
    ("requests", "pod_labels", "node_labels", "fits"),
    [
        pytest.param(HALF, PROVIDER, PROVIDER, True, id="both name it"),
        pytest.param(HALF, PROVIDER, {}, False, id="the node has none"),
        pytest.param(HALF, PROVIDER, {GPU_ISOLATION_PROVIDER: "other"}, False, id="the node has another"),
        pytest.param(HALF, {}, PROVIDER, True, id="the Pod does not care"),
        pytest.param(HALF, {GPU_ISOLATION_PROVIDER: ""}, {}, True, id="the Pod names none"),
        pytest.param({NVIDIA_GPU: 1}, PROVIDER, {}, True, id="a whole card needs none"),
        pytest.param({GPU_MEMORY: "16Gi"}, PROVIDER, {}, False, id="all bytes of a card are still a share"),
    ],
)
def test_a_share_goes_where_its_isolation_is_provided(
    requests: Requests, pod_labels: Mapping[str, str], node_labels: Mapping[str, str], fits: bool
) -> None:
    host = Host()
    host.list_device(make_device("node", 1))
    refusal = filtered(host, make_pod(requests=requests, labels=pod_labels), node_with(node_labels))
    assert refusal == (None if fits else Status.unresolvable("GPUIsolationProviderHAMICore not found on the node"))


@pytest.mark.parametrize(
    ("name", "vendor", "fits"),
    [
        pytest.param(NVIDIA_GPU, "nvidia", True, id="its own"),
        pytest.param(AMD_GPU, "nvidia", False, id="another vendor's"),
        pytest.param(NVIDIA_GPU, "huawei", False, id="another kind of accelerator"),
        pytest.param(AMD_GPU, "", True, id="nobody says whose they are"),
        pytest.param(AMD_GPU, "someone", True, id="a vendor that we do not know"),
        pytest.param(GPU, "huawei", True, id="Koordinator's name is no vendor's"),
    ],
)
def test_cards_by_a_vendors_name_are_that_vendors(name: str, vendor: str, fits: bool) -> None:
    host, pod = Host(), make_pod(requests={name: 100 if name == GPU else 1})
    host.list_device(make_device("node", 1, labels={GPU_VENDOR: vendor} if vendor else {}))
    refusal = filtered(host, pod, node_with())
    assert (refusal is None) is fits
    if refusal is not None:
        assert (refusal.code, refusal.reasons) == (
            Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            ("node(s) had cards of another vendor",),
        )


def test_a_model_that_is_not_shared_is_given_whole_only() -> None:
    models = [{"vendor": "huawei", "model": "Ascend-310P"}]
    host = Host(DeviceShareArgs.model_validate({"gpuShareUnsupportedModels": models}))
    host.list_device(make_device("node", 1))
    node = node_with({GPU_VENDOR: "huawei", GPU_MODEL: "Ascend-310P"})
    text = 'model "Ascend-310P" of vendor "huawei" does not support GPU Share'
    assert filtered(host, make_pod(requests=HALF), node) == Status.unresolvable(text)
    assert filtered(host, make_pod(requests={NVIDIA_GPU: 1}), node) is None
    assert filtered(host, make_pod(requests=HALF), node_with({GPU_VENDOR: "huawei", GPU_MODEL: "other"})) is None


def test_a_table_of_partitions_that_is_there_is_not_said_to_be_missing() -> None:
    host, device = Host(), make_device("node", 2)
    annotations = {GPU_PARTITIONS: '{"2":[{"minors":[0,1],"gpuLinkType":"NVLink","allocationScore":1}]}'}
    meta = msgspec.structs.replace(device.metadata, annotations=annotations)
    host.list_device(msgspec.structs.replace(device, metadata=meta))
    pod = make_pod(requests={NVIDIA_GPU: 2}, annotations={GPU_PARTITION_SPEC: "{}"})
    reason = "node(s) had a GPU Partition Table, and koordpy knows no GPU partitions yet"
    assert filtered(host, pod, node_with()) == Status.unresolvable(reason)


@pytest.mark.parametrize(
    ("annotations", "reason"),
    [
        pytest.param(
            {DEVICE_ALLOCATE_HINT: '{"gpu":{"requiredTopologyScope":"NUMANode"}}'},
            "node(s) missing GPU Device Topology Tree",
            id="a topology",
        ),
        pytest.param({GPU_PARTITION_SPEC: "{}"}, "node(s) missing GPU Partition Table", id="a partition"),
    ],
)
def test_what_is_wished_of_a_nodes_build_is_refused_as_long_as_none_is_known(
    annotations: Mapping[str, str], reason: str
) -> None:
    host = Host()
    host.list_device(make_device("node", 2))
    pod = make_pod(requests={NVIDIA_GPU: 2}, annotations=annotations)
    assert filtered(host, pod, node_with()) == Status.unresolvable(reason)


# ---------------------------------------------------------------- designated devices


def designated(requests: Requests, *, hinted: bool = True, **minors: Mapping[str, str]) -> Pod:
    held = {"gpu": [{"minor": int(minor[1:]), "resources": amounts} for minor, amounts in minors.items()]}
    annotations = {"scheduling.koordinator.sh/device-allocated": json.dumps(held)}
    if hinted:
        annotations["internal.scheduling.koordinator.sh/scheduling-hint"] = '{"extensions":{"DeviceShare":{}}}'
    return make_pod("designated", requests=requests, annotations=annotations)


WHOLE = {GPU_CORE: "100", GPU_MEMORY_RATIO: "100"}


def minors(host: Host, pod: Pod) -> list[int]:
    refusal = host.hold(pod)
    assert refusal is None, refusal
    return [each["minor"] for each in json.loads(host.plan(pod))["gpu"]]


@pytest.fixture
def host() -> Host:
    """Four cards; half of the first is held."""
    host = Host()
    host.list_device(make_device("node", 4))
    host.bind(make_pod("holder", requests=HALF))
    return host


def test_a_pod_gets_the_devices_that_somebody_designated_for_it(host: Host) -> None:
    assert minors(host, designated({GPU: 100}, m3=WHOLE)) == [3]


def test_a_share_is_cut_from_a_designated_device(host: Host) -> None:
    assert minors(host, designated(HALF, m0=WHOLE)) == [0]


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(designated({GPU: 100}, m0=WHOLE), id="it is in use"),
        pytest.param(designated({GPU: 60}, m3={GPU_CORE: "50", GPU_MEMORY_RATIO: "50"}), id="less is designated"),
        pytest.param(designated({GPU: 200}, m3=WHOLE), id="fewer are designated"),
        pytest.param(designated({GPU: 50}, m3={GPU_MEMORY_RATIO: "100"}), id="no core is designated"),
    ],
)
def test_a_designation_gives_nothing_that_is_not_there(host: Host, pod: Pod) -> None:
    refusal = host.try_node(pod)
    assert refusal is not None
    assert (refusal.code, refusal.reasons) == (Code.UNSCHEDULABLE, ("Insufficient gpu devices",))


def test_a_designated_card_that_is_not_there_refuses_the_node_and_not_the_attempt(host: Host) -> None:
    text = "fillGPUTotalMem failed: no healthy gpu device with minor 7 of allocation, node: node"
    assert host.try_node(designated({GPU: 100}, m7=WHOLE)) == Status.unresolvable(text)


def test_an_old_allocation_without_the_scheduling_hint_designates_nothing(host: Host) -> None:
    assert minors(host, designated({GPU: 100}, hinted=False, m3=WHOLE)) == [1]


# ---------------------------------------------------------------- what others would give up


def test_a_dry_run_counts_what_a_victim_would_give_up_and_changes_nothing(host: Host) -> None:
    pod, info = make_pod("asks", requests={NVIDIA_GPU: 4}), host.info("holder")
    assert host.try_node(pod) is not None
    before, state = host.plugin.books.devices_of("node"), host.states[pod.uid]
    dry = state.clone()
    assert host.plugin.remove_pod(dry, pod, info, node_with()) is None
    assert host.plugin.filter(dry, pod, node_with()) is None
    assert host.plugin.filter(state, pod, node_with()) is not None
    assert host.plugin.add_pod(dry, pod, info, node_with()) is None
    assert host.plugin.filter(dry, pod, node_with()) is not None
    assert host.plugin.books.devices_of("node") == before


def test_a_victim_whose_annotation_nobody_can_read_opens_the_node_in_a_dry_run() -> None:
    host, pod = Host(), make_pod("asks", requests=HALF)
    host.list_device(make_device("node", 1))
    broken = assigned(make_pod("broken"), annotation="{")
    host.see(broken)
    assert host.try_node(pod) is not None
    dry = host.states[pod.uid].clone()
    host.plugin.remove_pod(dry, pod, host.info("broken"), node_with())
    assert host.plugin.filter(dry, pod, node_with()) is None
