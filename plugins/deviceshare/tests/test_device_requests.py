"""What pods may ask, how it is divided over cards, and what is refused before any node is looked at."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    NPU_CORE,
    NPU_CPU,
    NVIDIA_GPU,
    RDMA,
)
from koordpy_api.status import Code, Status
from koordpy_deviceshare.args import DeviceShareArgs
from koordpy_deviceshare.dialects import Wish, read_wish
from koordpy_deviceshare.dialects.combinations import validate
from koordpy_deviceshare.request import WHOLE_CARD, TypeRequest
from koordpy_deviceshare.scheduling import DeviceShare
from koordpy_deviceshare.vendors import VENDORS

from .deviceshare_stage import GI, Host

Requests = Mapping[str, str | int]


def combination(*names: str) -> str:
    return f"invalid resource device requests: [{' '.join(sorted(names))}]"


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
        pytest.param({GPU_MEMORY: "4Gi"}, 1, {GPU_MEMORY: 4 * GI}, id="bytes alone"),
        pytest.param({GPU_MEMORY_RATIO: 50}, 1, {GPU_MEMORY_RATIO: 50}, id="ratio alone"),
        pytest.param({GPU_MEMORY_RATIO: 200}, 2, {GPU_MEMORY_RATIO: 100}, id="the memory of two cards"),
        pytest.param(
            {GPU_CORE: 200, GPU_MEMORY: "30Gi"},
            2,
            {GPU_CORE: 100, GPU_MEMORY: 15 * GI},
            id="the core of two cards with bytes, which are divided",
        ),
        pytest.param(
            {GPU_CORE: 50, GPU_MEMORY_RATIO: 200},
            2,
            {GPU_CORE: 25, GPU_MEMORY_RATIO: 100},
            id="little core and the memory of two cards",
        ),
        pytest.param({GPU_SHARED: 2, GPU_MEMORY: "8Gi"}, 2, {GPU_MEMORY: 4 * GI}, id="bytes of two cards"),
        pytest.param(
            {GPU_SHARED: 3, GPU_MEMORY: "10Gi"},
            3,
            {GPU_MEMORY: 3579139414},
            id="bytes that do not divide are rounded up, so that no less is booked than may be used",
        ),
        pytest.param({GPU_SHARED: 2, GPU_MEMORY: 1}, 2, {GPU_MEMORY: 1}, id="one byte is booked on each of two cards"),
        pytest.param(
            {GPU_CORE: 200, GPU_MEMORY: 1},
            2,
            {GPU_CORE: 100, GPU_MEMORY: 1},
            id="one byte beside the core of two cards",
        ),
        pytest.param({GPU_SHARED: 4, GPU_MEMORY_RATIO: 100}, 4, {GPU_MEMORY_RATIO: 25}, id="a quarter of four cards"),
        pytest.param(
            {GPU_SHARED: 2, GPU_CORE: 100, GPU_MEMORY: "16Gi"},
            2,
            {GPU_CORE: 50, GPU_MEMORY: 8 * GI},
            id="core and bytes of two cards",
        ),
        pytest.param(
            {GPU_SHARED: 2, GPU_CORE: 200, GPU_MEMORY_RATIO: 200}, 2, WHOLE_CARD, id="what a webhook makes of two cards"
        ),
        pytest.param(
            {NPU_CORE: 16, GPU_MEMORY_RATIO: 200}, 2, {NPU_CORE: 8, GPU_MEMORY_RATIO: 100}, id="two NPUs by their cores"
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
    assert (gpus := wish.request.gpus) is not None
    assert (gpus.count, gpus.per_device) == (count, per_card)


@pytest.mark.parametrize(
    ("requests", "reason", "right"),
    [
        pytest.param({GPU: 101}, f"invalid resource unit {GPU}: 101", "ask for 100 or 200", id="a card and a bit"),
        pytest.param(
            {GPU: 150, NVIDIA_GPU: 1}, f"invalid resource unit {GPU}: 150", "100 or 200", id="the unit is told first"
        ),
        pytest.param({RDMA: 201}, f"invalid resource unit {RDMA}: 201", "200 or 300", id="two NICs and a bit"),
        pytest.param({FPGA: 110}, f"invalid resource unit {FPGA}: 110", "100 or 200", id="an FPGA and a bit"),
        pytest.param({GPU: -50}, f"invalid resource unit {GPU}: -50", "must be >= 0", id="less than nothing"),
        pytest.param({GPU_CORE: 50}, combination(GPU_CORE), f"add {GPU_MEMORY_RATIO}: 50", id="core alone"),
        pytest.param({GPU_CORE: 200}, combination(GPU_CORE), f"add {GPU_MEMORY_RATIO}: 200", id="core of two cards"),
        pytest.param(
            {GPU_CORE: 150}, combination(GPU_CORE), f"{GPU_CORE}: 150: above 100", id="core alone, and a bit too much"
        ),
        pytest.param(
            {GPU_SHARED: 2}, combination(GPU_SHARED), f"add {GPU_MEMORY_RATIO}: 200", id="a number of cards alone"
        ),
        pytest.param(
            {GPU_SHARED: 2, GPU_CORE: 100},
            combination(GPU_CORE, GPU_SHARED),
            f"add {GPU_MEMORY_RATIO}: 100",
            id="a share without memory",
        ),
        pytest.param(
            {GPU_CORE: 101, GPU_MEMORY_RATIO: 100},
            combination(GPU_CORE, GPU_MEMORY_RATIO),
            f"{GPU_CORE}: 101: above 100 only multiples of 100 are devices, ask for 100 or 200",
            id="core of a card and a bit",
        ),
        pytest.param(
            {GPU_CORE: 200, GPU_MEMORY_RATIO: 50},
            combination(GPU_CORE, GPU_MEMORY_RATIO),
            f"ask {GPU_MEMORY_RATIO}: 200 for all of their memory, or add {GPU_SHARED}: 2",
            id="more core than the one card has",
        ),
        pytest.param(
            {GPU_CORE: 300, GPU_MEMORY_RATIO: 200},
            combination(GPU_CORE, GPU_MEMORY_RATIO),
            f"{GPU_CORE}: 300 is of 3 cards, but {GPU_MEMORY_RATIO}: 200 of 2; ask {GPU_MEMORY_RATIO}: 300",
            id="the core of three cards with the memory of two",
        ),
        pytest.param(
            {GPU_MEMORY_RATIO: 250},
            combination(GPU_MEMORY_RATIO),
            "ask for 200 or 300",
            id="memory of two cards and a bit",
        ),
        pytest.param(
            {GPU_MEMORY_RATIO: 50, GPU_MEMORY: "1Gi", GPU_CORE: 10},
            combination(GPU_CORE, GPU_MEMORY, GPU_MEMORY_RATIO),
            f"leave out {GPU_MEMORY} or {GPU_MEMORY_RATIO}",
            id="memory in two forms, names sorted",
        ),
        pytest.param(
            {NVIDIA_GPU: 1, GPU: 100},
            combination(GPU, NVIDIA_GPU),
            f"leave out {NVIDIA_GPU}",
            id="two dialects at once",
        ),
        pytest.param({NPU_CORE: 8}, combination(NPU_CORE), f"add {GPU_MEMORY_RATIO}", id="NPU cores alone"),
        pytest.param(
            {GPU_SHARED: 1, NPU_CORE: 8, GPU_MEMORY: "6Gi"},
            combination(GPU_MEMORY, GPU_SHARED, NPU_CORE),
            f"add {NPU_CPU}",
            id="a slice of an NPU without its CPUs",
        ),
        pytest.param(
            {GPU_SHARED: 2, NPU_CORE: 8, NPU_CPU: 2, GPU_MEMORY: "6Gi"},
            combination(GPU_MEMORY, GPU_SHARED, NPU_CORE, NPU_CPU),
            f"{GPU_SHARED}: 1",
            id="slices of two NPUs",
        ),
        pytest.param(
            {GPU_SHARED: 2, GPU_CORE: 75, GPU_MEMORY_RATIO: 100},
            combination(GPU_CORE, GPU_MEMORY_RATIO, GPU_SHARED),
            f"{GPU_CORE}: 75 must be a multiple of {GPU_SHARED} (2), at most 200",
            id="core that does not divide over the cards",
        ),
        pytest.param(
            {GPU_SHARED: 2, GPU_CORE: 300, GPU_MEMORY_RATIO: 100},
            combination(GPU_CORE, GPU_MEMORY_RATIO, GPU_SHARED),
            "at most 200",
            id="more core than the cards have",
        ),
    ],
)
def test_what_koordinator_does_not_permit_is_refused_in_its_words_and_told_what_would_be_right(
    requests: Requests, reason: str, right: str
) -> None:
    answer = Host().begin(make_pod(requests=requests))
    assert answer is not None
    assert answer.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    said, _, advice = answer.message.partition("; ")
    assert said == reason
    assert right in advice


NAMES = sorted(DEVICE_RESOURCES - {RDMA, FPGA})


@given(st.sets(st.sampled_from(NAMES), min_size=1), st.data())
def test_a_set_of_names_is_permitted_or_refused_with_another_that_is_nearer_to_right(
    names: set[str], data: st.DataObject
) -> None:
    asked = {name: data.draw(st.sampled_from([1, 100, 200]), label=name) for name in sorted(names)}
    refusal = validate(asked)
    if refusal is not None:
        said, _, advice = refusal.message.partition("; ")
        assert said == combination(*names)
        assert advice


@pytest.mark.parametrize("named", [VENDOR.whole_card for VENDOR in VENDORS if VENDOR.whole_card])
def test_whole_cards_may_be_asked_for_by_every_vendors_name(named: str) -> None:
    wish = read_wish(make_pod(requests={named: 2}))
    assert isinstance(wish, Wish)
    assert wish.request.vendor_cards == named
    assert wish.request.types == (TypeRequest("gpu", {GPU_CORE: 200, GPU_MEMORY_RATIO: 200}, 2, WHOLE_CARD),)


def test_three_device_types_in_one_pod_are_three_requests() -> None:
    wish = read_wish(make_pod(requests={GPU: 50, RDMA: 200, "kubernetes.io/fpga": 25}))
    assert isinstance(wish, Wish)
    assert wish.request.types == (
        TypeRequest("fpga", {FPGA: 25}, 1, {FPGA: 25}),
        TypeRequest("gpu", {GPU_CORE: 50, GPU_MEMORY_RATIO: 50}, 1, {GPU_CORE: 50, GPU_MEMORY_RATIO: 50}),
        TypeRequest("rdma", {RDMA: 200}, 2, {RDMA: 100}),
    )
    assert wish.request.vendor_cards == ""


def test_a_slice_of_an_npu_is_refused_as_long_as_there_are_no_templates() -> None:
    answer = Host().begin(make_pod(requests={GPU_SHARED: 1, NPU_CORE: 4, NPU_CPU: 4, GPU_MEMORY: "12Gi"}))
    assert answer == Status.unresolvable(
        "no matched GPU shared resource template; koordpy knows no GPU resource templates yet"
    )


def test_a_request_that_is_not_its_limit_is_refused() -> None:
    resources = {"requests": {NVIDIA_GPU: 1}, "limits": {NVIDIA_GPU: 2}}
    answer = Host().begin(make_pod(containers=[{"name": "main", "resources": resources}]))
    assert answer == Status.unresolvable(f"invalid resource amount: {NVIDIA_GPU}: requests must equal limits")


def test_a_request_that_is_its_limit_in_other_words_is_right() -> None:
    resources = {"requests": {GPU_MEMORY: "1Gi"}, "limits": {GPU_MEMORY: "1024Mi"}}
    assert isinstance(read_wish(make_pod(containers=[{"name": "main", "resources": resources}])), Wish)


def peak(**more: object) -> dict[str, object]:
    return {"name": "warm", "resources": {"limits": {NVIDIA_GPU: 2}}, **more}


@pytest.mark.parametrize(
    ("init", "cards"),
    [
        pytest.param([peak()], 2, id="an init container asks for more than the others"),
        pytest.param([peak(), peak(name="again")], 2, id="two init containers, one after the other"),
        pytest.param([peak(restartPolicy="Always")], 3, id="a sidecar stays beside them"),
        pytest.param([peak(restartPolicy="Always"), peak(name="again")], 4, id="an init container beside a sidecar"),
    ],
)
def test_init_containers_count_at_their_peak(init: list[dict[str, object]], cards: int) -> None:
    wish = read_wish(make_pod(requests={NVIDIA_GPU: 1}, init_containers=init))
    assert isinstance(wish, Wish)
    assert wish.request.gpus is not None
    assert wish.request.gpus.count == cards


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
    assert wish.request.gpus is not None
    assert wish.request.gpus.per_device == {GPU_CORE: 60, GPU_MEMORY_RATIO: 60}


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
    assert Host().begin(pod) == Status.unresolvable(f"{combination(GPU, NVIDIA_GPU)}; leave out {NVIDIA_GPU}")


def test_overhead_counts_as_asked() -> None:
    wish = read_wish(make_pod(requests={GPU: 50}, overhead={"kubernetes.io/gpu": 10}))
    assert isinstance(wish, Wish)
    assert wish.request.total == {GPU: 60}


def test_every_name_of_a_device_is_decided_here_the_old_ones_too() -> None:
    assert DeviceShare.accounts_for(DeviceShareArgs()) == DEVICE_RESOURCES | set(DEPRECATED_RESOURCES)
