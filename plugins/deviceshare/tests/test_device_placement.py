"""From Filter to the annotation: which cards a Pod gets on a node, and in which words it is refused."""

import pytest

from koordpy.testing import gpu, make_device, make_pod
from koordpy_api.koordinator import GPU, GPU_CORE, GPU_MEMORY, GPU_MEMORY_RATIO, NVIDIA_GPU, decode_device_allocated
from koordpy_api.state import CycleState
from koordpy_api.status import Code

from .deviceshare_stage import GI, HALF, Host, node_of

INSUFFICIENT = ("Insufficient gpu devices",)


def minors(annotation: str) -> list[int]:
    return [device.minor for device in decode_device_allocated(annotation)["gpu"]]


@pytest.fixture
def host() -> Host:
    """One node with four equal cards."""
    host = Host()
    host.list_device(make_device("node", 4))
    return host


def test_a_share_is_written_in_percent_and_bytes_with_the_cards_id() -> None:
    host = Host()
    host.list_device(make_device("node", [gpu(0, memory="80Gi", uuid="GPU-11aa")]))
    pod = make_pod(requests=HALF)
    assert host.hold(pod) is None
    assert host.plan(pod) == (
        '{"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":"50","koordinator.sh/gpu-memory":"40Gi",'
        '"koordinator.sh/gpu-memory-ratio":"50"},"id":"GPU-11aa"}]}'
    )


@pytest.mark.parametrize(
    ("memory", "asked", "recorded"),
    [
        pytest.param("16Gi", {GPU_MEMORY_RATIO: 33}, (33, 5669356830), id="a third of sixteen, rounded down"),
        pytest.param("80Gi", {GPU_MEMORY_RATIO: 1}, (1, 858993459), id="a hundredth, rounded down"),
        pytest.param("24Gi", {GPU_MEMORY: "8Gi"}, (33, 8 * GI), id="bytes to a ratio, rounded down"),
        pytest.param("192Gi", {GPU_MEMORY: "1Gi"}, (0, GI), id="bytes below one percent"),
        pytest.param("100Gi", {GPU_MEMORY: "29Gi"}, (29, 29 * GI), id="exactly, where a binary float says 28"),
        pytest.param("16Gi", {GPU_MEMORY: "16Gi"}, (100, 16 * GI), id="all bytes are the whole ratio"),
    ],
)
def test_memory_is_completed_on_the_chosen_card(
    memory: str, asked: dict[str, str | int], recorded: tuple[int, int]
) -> None:
    host, pod = Host(), make_pod(requests={GPU_CORE: 10, **asked})
    host.list_device(make_device("node", [gpu(0, memory=memory)]))
    assert host.hold(pod) is None
    (device,) = decode_device_allocated(host.plan(pod))["gpu"]
    assert (device.resources[GPU_MEMORY_RATIO], device.resources[GPU_MEMORY]) == recorded


def test_two_unlike_cards_are_given_whole_each_with_its_own_bytes() -> None:
    host = Host()
    cards = [gpu(0, memory="24Gi"), gpu(1, memory="85899345920"), gpu(2, memory="24Gi", health=False)]
    host.list_device(make_device("node", cards))
    pod = make_pod(requests={GPU: "200"})
    assert host.hold(pod) is None
    given = decode_device_allocated(host.plan(pod))["gpu"]
    assert [(device.minor, device.resources[GPU_MEMORY]) for device in given] == [(0, 24 * GI), (1, 80 * GI)]


def test_three_cards_are_not_enough_where_one_of_three_is_sick() -> None:
    host = Host()
    host.list_device(make_device("node", [gpu(0), gpu(1), gpu(2, health=False)]))
    refusal = host.try_node(make_pod(requests={GPU: "300"}))
    assert refusal is not None
    assert (refusal.code, refusal.reasons) == (Code.UNSCHEDULABLE, INSUFFICIENT)


def test_minors_are_names_not_places() -> None:
    host = Host()
    nic = {"type": "rdma", "id": "0000:05:00.0", "minor": 0, "health": True, "resources": {"koordinator.sh/rdma": 100}}
    host.list_device(make_device("node", [nic, gpu(3), gpu(0), gpu(2)]))
    pod = make_pod(requests={NVIDIA_GPU: 3})
    assert host.hold(pod) is None
    assert minors(host.plan(pod)) == [0, 2, 3]


def test_minors_beyond_a_machine_word_are_given() -> None:
    host = Host()
    host.list_device(make_device("node", [gpu(200), gpu(63)]))
    pod = make_pod(requests={NVIDIA_GPU: 2})
    assert host.hold(pod) is None
    assert minors(host.plan(pod)) == [63, 200]


def test_shares_go_to_the_emptiest_card_the_lowest_minor_among_equals(host: Host) -> None:
    chosen = []
    for i in range(6):
        pod = make_pod(f"pod-{i}", requests={GPU: 30})
        host.bind(pod)
        chosen += minors(host.plan(pod))
    assert chosen == [0, 1, 2, 3, 0, 1]


def test_the_emptiest_of_unlike_cards_is_the_one_with_most_left_in_percent() -> None:
    host = Host()
    host.list_device(make_device("node", [gpu(0, memory="80Gi"), gpu(1, memory="24Gi")]))
    host.bind(make_pod("first", requests={GPU: 10}))
    pod = make_pod("second", requests={GPU: 10})
    host.hold(pod)
    assert minors(host.plan(pod)) == [1]


def test_sixteen_halves_fill_eight_cards_two_on_each() -> None:
    host = Host()
    host.list_device(make_device("node", [gpu(minor, memory="80Gi") for minor in range(8)]))
    for i in range(16):
        host.bind(make_pod(f"half-{i}", requests=HALF))
    assert [host.card(minor).holders for minor in range(8)] == [2] * 8
    assert host.try_node(make_pod(requests={GPU: 1})) is not None


@pytest.mark.parametrize(
    "held",
    [
        pytest.param('{"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-memory":"1"}}]}', id="one byte"),
        pytest.param('{"gpu":[{"minor":0,"resources":{"huawei.com/npu-core":"1"}}]}', id="a resource of another kind"),
        pytest.param('{"gpu":[{"minor":0,"resources":null}]}', id="nothing that can be counted"),
    ],
)
def test_a_card_that_somebody_holds_is_not_given_whole(held: str) -> None:
    host = Host()
    host.list_device(make_device("node", 1))
    host.see(make_pod("holder", node="node", annotations={"scheduling.koordinator.sh/device-allocated": held}))
    refusal = host.try_node(make_pod(requests={NVIDIA_GPU: 1}))
    assert refusal is not None
    assert refusal.details["gpu[0].holders"] == 1


@pytest.mark.parametrize(
    ("held", "asked"),
    [
        pytest.param({GPU_CORE: 60, GPU_MEMORY_RATIO: 10}, {GPU_CORE: 50, GPU_MEMORY_RATIO: 10}, id="core"),
        pytest.param({GPU_CORE: 10, GPU_MEMORY_RATIO: 60}, {GPU_CORE: 10, GPU_MEMORY_RATIO: 50}, id="ratio"),
        pytest.param({GPU_CORE: 10, GPU_MEMORY_RATIO: 60}, {GPU_CORE: 10, GPU_MEMORY: "7Gi"}, id="bytes after ratio"),
        pytest.param({GPU_CORE: 10, GPU_MEMORY: "10Gi"}, {GPU_CORE: 10, GPU_MEMORY_RATIO: 40}, id="ratio after bytes"),
        pytest.param({GPU_CORE: 10, GPU_MEMORY: "10Gi"}, {GPU_CORE: 10, GPU_MEMORY: "7Gi"}, id="bytes"),
    ],
)
def test_no_dimension_of_a_card_is_given_twice(held: dict[str, str | int], asked: dict[str, str | int]) -> None:
    host = Host()
    host.list_device(make_device("node", 1))
    host.bind(make_pod("holder", requests=held))
    assert host.try_node(make_pod(requests=asked)) is not None


@pytest.mark.parametrize(
    ("held", "asked", "used"),
    [
        pytest.param(
            f'"{GPU_MEMORY_RATIO}":"60"',
            {GPU_CORE: 10, GPU_MEMORY: "6554Mi"},
            (60, 10307921510),
            id="ratio holds bytes",
        ),
        pytest.param(
            f'"{GPU_MEMORY}":"10Gi"', {GPU_CORE: 10, GPU_MEMORY_RATIO: 38}, (62, 10 * GI), id="bytes and ratio"
        ),
    ],
)
def test_an_allocation_in_one_form_of_memory_counts_in_both(
    held: str, asked: dict[str, str | int], used: tuple[int, int]
) -> None:
    host = Host()
    host.list_device(make_device("node", 1))
    annotation = f'{{"gpu":[{{"minor":0,"resources":{{{held}}}}}]}}'
    host.see(make_pod("holder", node="node", annotations={"scheduling.koordinator.sh/device-allocated": annotation}))
    card = host.card(0)
    assert (card.used[GPU_MEMORY_RATIO], card.used[GPU_MEMORY]) == used
    assert host.try_node(make_pod(requests=asked)) is not None


@pytest.mark.parametrize(
    ("card", "why"),
    [
        pytest.param({"health": False}, "unhealthy", id="an unhealthy card"),
        pytest.param({"resources": {GPU_CORE: 100, GPU_MEMORY_RATIO: 100}}, GPU_MEMORY, id="a card without memory"),
        pytest.param({"resources": {GPU_MEMORY: "16Gi", GPU_CORE: "all"}}, "no quantity", id="a bad amount"),
    ],
)
@pytest.mark.parametrize("requests", [HALF, {GPU_CORE: 10, GPU_MEMORY: "1Gi"}, {NVIDIA_GPU: 1}])
def test_a_card_that_takes_nothing_says_why(card: dict[str, object], why: str, requests: dict[str, str | int]) -> None:
    host = Host()
    host.list_device(make_device("node", [gpu(0) | card]))
    refusal = host.try_node(make_pod(requests=requests))
    assert refusal is not None
    assert (refusal.code, refusal.reasons) == (Code.UNSCHEDULABLE, INSUFFICIENT)
    assert why in str(refusal.details["gpu[0].why"])


def test_a_device_without_a_gpu_can_never_take_the_pod() -> None:
    host = Host()
    host.list_device(make_device("node", []))
    refusal = host.try_node(make_pod(requests=HALF))
    assert refusal is not None
    assert refusal.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE


def test_a_full_node_tells_per_card_what_was_asked_and_what_was_free() -> None:
    host = Host()
    host.list_device(make_device("node", [gpu(5)]))
    host.bind(make_pod("holder", requests={GPU: 70}))
    refusal = host.try_node(make_pod(requests=HALF))
    assert refusal is not None
    assert (refusal.code, refusal.reasons) == (Code.UNSCHEDULABLE, INSUFFICIENT)
    assert refusal.details == {
        "gpu.asked.count": 1,
        f"gpu[5].asked.{GPU_CORE}": 50,
        f"gpu[5].asked.{GPU_MEMORY}": 8 * GI,
        f"gpu[5].asked.{GPU_MEMORY_RATIO}": 50,
        f"gpu[5].free.{GPU_CORE}": 30,
        f"gpu[5].free.{GPU_MEMORY}": 16 * GI - 70 * 16 * GI // 100,
        f"gpu[5].free.{GPU_MEMORY_RATIO}": 30,
        "gpu[5].holders": 1,
        "gpu[5].held_by": "default/holder",
    }


def test_a_refusal_keeps_telling_what_was_free_then() -> None:
    host = Host()
    host.list_device(make_device("node", 1))
    holder = host.bind(make_pod("holder", requests={GPU: 70}))
    refusal = host.try_node(make_pod(requests=HALF))
    host.lose(holder)
    assert refusal is not None
    assert refusal.details[f"gpu[0].free.{GPU_CORE}"] == 30


def test_reserve_refuses_what_filter_would_refuse(host: Host) -> None:
    pod = make_pod(requests={NVIDIA_GPU: 4})
    assert host.try_node(pod) is None
    host.bind(make_pod("quicker", requests=HALF))
    refusal = host.plugin.reserve(host.states[pod.uid], pod, "node")
    assert refusal is not None
    assert refusal.reasons == INSUFFICIENT


def test_filter_changes_nothing(host: Host) -> None:
    before = host.plugin.books.devices_of("node")
    for percent in (1, 50, 100, 400, 500):
        host.try_node(make_pod(requests={GPU: percent}))
    assert host.plugin.books.devices_of("node") == before


def test_filter_without_a_pre_filter_is_a_bug_that_is_told() -> None:
    with pytest.raises(KeyError, match="DeviceShare"):
        Host().plugin.filter(CycleState(), make_pod(requests=HALF), node_of("node"))


def test_a_refused_pod_has_nothing_to_write() -> None:
    host, pod = Host(), make_pod(requests=HALF)
    assert host.hold(pod) is not None
    assert host.plan(pod) == ""
