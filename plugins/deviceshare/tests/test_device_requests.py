"""What pods may ask, how it is divided over cards, and what is refused before any node is looked at."""

from collections.abc import Mapping

import pytest

from koordpy.testing import make_pod
from koordpy_api.koordinator import (
    DEPRECATED_RESOURCES,
    DEVICE_RESOURCES,
    FPGA,
    GPU,
    GPU_CORE,
    GPU_MEMORY,
    GPU_MEMORY_RATIO,
    GPU_SHARED,
    HYGON_DCU,
    NPU_CORE,
    NVIDIA_GPU,
    RDMA,
)
from koordpy_api.status import Code, Status
from koordpy_deviceshare.args import DeviceShareArgs
from koordpy_deviceshare.dialects import Wish, read_wish
from koordpy_deviceshare.request import WHOLE_CARD
from koordpy_deviceshare.scheduling import DeviceShare

from .deviceshare_stage import GI, HALF, Host

Requests = Mapping[str, str | int]


@pytest.mark.parametrize(
    ("requests", "count", "per_card"),
    [
        pytest.param({NVIDIA_GPU: 1}, 1, WHOLE_CARD, id="one card of the vendor is a whole card"),
        pytest.param({NVIDIA_GPU: "3"}, 3, WHOLE_CARD, id="three cards of the vendor are three whole cards"),
        pytest.param({GPU: 25}, 1, {GPU_CORE: 25, GPU_MEMORY_RATIO: 25}, id="a percentage is of core and of memory"),
        pytest.param({GPU: 100}, 1, WHOLE_CARD, id="one hundred percent are a whole card"),
        pytest.param({GPU: 200}, 2, WHOLE_CARD, id="two hundred percent are two whole cards"),
        pytest.param(
            {GPU_CORE: 50, GPU_MEMORY_RATIO: 30},
            1,
            {GPU_CORE: 50, GPU_MEMORY_RATIO: 30},
            id="core and ratio differ",
        ),
        pytest.param({GPU_CORE: 300, GPU_MEMORY_RATIO: 300}, 3, WHOLE_CARD, id="equal hundreds are whole cards"),
        pytest.param({GPU_CORE: 40, GPU_MEMORY: "4Gi"}, 1, {GPU_CORE: 40, GPU_MEMORY: 4 * GI}, id="memory in bytes"),
        pytest.param(
            {GPU_CORE: 100, GPU_MEMORY: "4Gi"}, 1, {GPU_CORE: 100, GPU_MEMORY: 4 * GI}, id="all core and some bytes"
        ),
        pytest.param({"kubernetes.io/gpu": 200}, 2, WHOLE_CARD, id="the old name of the percentage"),
        pytest.param(
            {"kubernetes.io/gpu-core": 50, GPU_MEMORY_RATIO: 50},
            1,
            {GPU_CORE: 50, GPU_MEMORY_RATIO: 50},
            id="an old name beside a new one",
        ),
        pytest.param({GPU: 50, "kubernetes.io/gpu": 70}, 1, {GPU_CORE: 50, GPU_MEMORY_RATIO: 50}, id="new names win"),
        pytest.param({NVIDIA_GPU: 1, RDMA: 0, GPU_SHARED: "0"}, 1, WHOLE_CARD, id="zero is not asked for"),
    ],
)
def test_a_request_is_divided_over_cards(requests: Requests, count: int, per_card: Mapping[str, int]) -> None:
    wish = read_wish(make_pod(requests=requests))
    assert isinstance(wish, Wish)
    assert (wish.request.count, wish.request.per_card) == (count, per_card)


@pytest.mark.parametrize(
    ("requests", "reason"),
    [
        pytest.param({GPU: 101}, f"invalid resource unit {GPU}: 101", id="a card and a bit"),
        pytest.param({GPU: 150, NVIDIA_GPU: 1}, f"invalid resource unit {GPU}: 150", id="the unit is told first"),
        pytest.param({RDMA: 201}, f"invalid resource unit {RDMA}: 201", id="two NICs and a bit"),
        pytest.param({FPGA: 110}, f"invalid resource unit {FPGA}: 110", id="an FPGA and a bit"),
        pytest.param({GPU: -50}, f"invalid resource unit {GPU}: -50", id="less than nothing"),
        pytest.param({GPU_CORE: 50}, f"invalid resource device requests: [{GPU_CORE}]", id="core alone"),
        pytest.param(
            {GPU_CORE: 101, GPU_MEMORY_RATIO: 100},
            f"invalid resource device requests: [{GPU_CORE} {GPU_MEMORY_RATIO}]",
            id="core of a card and a bit",
        ),
        pytest.param(
            {GPU_MEMORY_RATIO: 50, GPU_MEMORY: "1Gi", GPU_CORE: 10},
            f"invalid resource device requests: [{GPU_CORE} {GPU_MEMORY} {GPU_MEMORY_RATIO}]",
            id="memory in two forms, names sorted",
        ),
        pytest.param(
            {NVIDIA_GPU: 1, GPU: 100},
            f"invalid resource device requests: [{GPU} {NVIDIA_GPU}]",
            id="two dialects at once",
        ),
        pytest.param({NPU_CORE: 8}, f"invalid resource device requests: [{NPU_CORE}]", id="NPU cores alone"),
        pytest.param(
            {GPU_SHARED: 2, GPU_CORE: 75, GPU_MEMORY_RATIO: 100},
            f"invalid resource device requests: [{GPU_CORE} {GPU_MEMORY_RATIO} {GPU_SHARED}]",
            id="core that does not divide over the cards",
        ),
    ],
)
def test_what_koordinator_does_not_permit_is_refused_in_its_words(requests: Requests, reason: str) -> None:
    assert Host().begin(make_pod(requests=requests)) == Status.unresolvable(reason)


@pytest.mark.parametrize(
    ("requests", "named"),
    [
        pytest.param({HYGON_DCU: 1}, f"{HYGON_DCU}=1", id="cards of another vendor"),
        pytest.param({GPU_MEMORY: "4Gi"}, f"{GPU_MEMORY}=4Gi", id="bytes alone"),
        pytest.param({GPU_MEMORY_RATIO: 50}, f"{GPU_MEMORY_RATIO}=50", id="ratio alone"),
        pytest.param({GPU_CORE: 200, GPU_MEMORY: "64Gi"}, f"{GPU_CORE}=200", id="core of two cards with bytes"),
        pytest.param({GPU_CORE: 100, GPU_MEMORY_RATIO: 200}, f"{GPU_MEMORY_RATIO}=200", id="one core, two memories"),
        pytest.param({GPU_CORE: 200, GPU_MEMORY_RATIO: 100}, f"{GPU_CORE}=200", id="two cores, one memory"),
        pytest.param({GPU_CORE: 50, GPU_MEMORY_RATIO: 200}, f"{GPU_CORE}=50", id="half a core, two memories"),
        pytest.param({GPU_SHARED: 2, GPU_MEMORY: "8Gi"}, f"{GPU_SHARED}=2", id="a share of two cards"),
        pytest.param({NPU_CORE: 8, GPU_MEMORY_RATIO: 100}, f"{NPU_CORE}=8", id="NPU cores"),
        pytest.param({RDMA: 100}, f"{RDMA}=100", id="a NIC"),
        pytest.param({FPGA: 50}, f"{FPGA}=50", id="half an FPGA"),
        pytest.param({NVIDIA_GPU: 1, RDMA: 100}, f"support {RDMA}=100 yet", id="a NIC beside a card"),
        pytest.param({"kubernetes.io/rdma": 100}, f"{RDMA}=100", id="a NIC by its old name"),
    ],
)
def test_what_koordpy_cannot_do_yet_is_refused_by_name(requests: Requests, named: str) -> None:
    answer = Host().begin(make_pod(requests=requests))
    assert answer is not None
    assert answer.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert answer.message.startswith("koordpy does not support ")
    assert named in answer.message


@pytest.mark.parametrize("name", ["device-allocate-hint", "device-joint-allocate", "gpu-partition-spec"])
def test_an_annotation_that_narrows_the_choice_is_refused_by_name(name: str) -> None:
    key = f"scheduling.koordinator.sh/{name}"
    answer = Host().begin(make_pod(requests=HALF, annotations={key: "{}"}))
    assert answer is not None
    assert answer.message.startswith(f"koordpy does not support {key} yet")


@pytest.mark.parametrize(
    "requests",
    [
        pytest.param({}, id="nothing at all"),
        pytest.param({"cpu": "2", "memory": "4Gi"}, id="cpu and memory"),
        pytest.param({NVIDIA_GPU: "0"}, id="no card"),
        pytest.param({GPU: 0, "kubernetes.io/gpu": "0"}, id="no percentage, in both names"),
        pytest.param({"example.test/gpu": 1}, id="a resource of somebody else"),
    ],
)
def test_a_pod_without_devices_is_skipped_and_held_nothing(requests: Requests) -> None:
    host, pod = Host(), make_pod(requests=requests)
    assert host.begin(pod) == Status.skip()
    assert host.hold(pod) is None or host.begin(pod) == Status.skip()
    assert host.plan(pod) == ""
    assert host.plugin.books.sums() == {}


@pytest.mark.parametrize("amount", ["500m", "0.5", "1.5"])
def test_part_of_a_card_that_is_counted_whole_is_refused_and_not_rounded_up(amount: str) -> None:
    refusal = read_wish(make_pod(requests={NVIDIA_GPU: amount}))
    assert isinstance(refusal, Status)
    assert f"{NVIDIA_GPU}: {amount} is no whole number" in refusal.message


def test_an_amount_that_is_no_quantity_is_refused_with_its_text() -> None:
    answer = Host().begin(make_pod(requests={NVIDIA_GPU: "one"}))
    assert answer is not None
    assert answer.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert "'one'" in answer.message


def test_containers_are_kept_apart_and_summed_by_the_pods_rule() -> None:
    def asks(name: str, percent: int, **more: str) -> dict[str, object]:
        return {"name": name, "resources": {"limits": {GPU: percent}}, **more}

    pod = make_pod(
        containers=[asks("a", 20), asks("b", 30), {"name": "log"}],
        init_containers=[asks("warm", 40), asks("side", 10, restartPolicy="Always")],
    )
    wish = read_wish(pod)
    assert isinstance(wish, Wish)
    assert wish.request.containers == {"warm": {GPU: 40}, "side": {GPU: 10}, "a": {GPU: 20}, "b": {GPU: 30}}
    assert wish.request.total == {GPU: 60}
    assert wish.request.per_card == {GPU_CORE: 60, GPU_MEMORY_RATIO: 60}


def test_old_and_new_names_in_two_containers_are_added_up() -> None:
    pod = make_pod(
        containers=[
            {"name": "old", "resources": {"requests": {"kubernetes.io/gpu": 30}}},
            {"name": "new", "resources": {"requests": {GPU: 20}}},
        ]
    )
    wish = read_wish(pod)
    assert isinstance(wish, Wish)
    assert wish.request.total == {GPU: 50}


def test_a_sidecar_by_an_old_name_is_added_to_the_containers() -> None:
    sidecar = {"name": "side", "restartPolicy": "Always", "resources": {"limits": {"kubernetes.io/gpu": 10}}}
    wish = read_wish(make_pod(requests={GPU: 50}, init_containers=[sidecar]))
    assert isinstance(wish, Wish)
    assert wish.request.total == {GPU: 60}


def test_two_containers_in_two_dialects_are_refused() -> None:
    pod = make_pod(
        containers=[
            {"name": "a", "resources": {"limits": {NVIDIA_GPU: "1"}}},
            {"name": "b", "resources": {"limits": {GPU: "50"}}},
        ]
    )
    reason = f"invalid resource device requests: [{GPU} {NVIDIA_GPU}]"
    assert Host().begin(pod) == Status.unresolvable(reason)


def test_overhead_counts_as_asked() -> None:
    wish = read_wish(make_pod(requests={GPU: 50}, overhead={"kubernetes.io/gpu": 10}))
    assert isinstance(wish, Wish)
    assert wish.request.total == {GPU: 60}


def test_every_name_of_a_device_is_decided_here_the_old_ones_too() -> None:
    assert DeviceShare.accounts_for(DeviceShareArgs()) == DEVICE_RESOURCES | set(DEPRECATED_RESOURCES)
