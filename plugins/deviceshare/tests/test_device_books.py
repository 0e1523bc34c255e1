"""Who holds what of a card, through everything that pods and Devices do."""

from typing import Any

import pytest

from koordpy.testing import gpu, make_device, make_pod
from koordpy_api.koordinator import DEVICE_ALLOCATED, GPU, GPU_CORE, GPU_MEMORY_RATIO, NVIDIA_GPU
from koordpy_api.node_info import NodeInfo, PodInfo
from koordpy_api.status import Code
from koordpy_deviceshare.args import DeviceShareArgs
from koordpy_deviceshare.auditing import recount
from koordpy_deviceshare.refusals import UNREADABLE_POD
from koordpy_deviceshare.scheduling import DeviceShare

from .deviceshare_stage import GI, HALF, Host, assigned, node_of

BROKEN = '{"gpu":[{"minor":0,'


def holds(percent: int, minor: int = 0) -> dict[str, str]:
    """The annotation of a Pod that holds so much of one card of 16Gi."""
    amounts = f'"{GPU_CORE}":"{percent}","koordinator.sh/gpu-memory":"{percent * 16 * GI // 100}"'
    ratio = f'"{GPU_MEMORY_RATIO}":"{percent}"'
    return {DEVICE_ALLOCATED: f'{{"gpu":[{{"minor":{minor},"resources":{{{amounts},{ratio}}}}}]}}'}


def free(host: Host, minor: int = 0) -> int:
    return host.card(minor).free.get(GPU_CORE, 0)


def check(host: Host) -> None:
    assert host.plugin.books.sums() == host.plugin.books.recount()


@pytest.fixture
def host() -> Host:
    """One node with one card of 16Gi."""
    host = Host()
    host.list_device(make_device("node", 1))
    return host


# ---------------------------------------------------------------- our own pods


def test_a_pod_is_counted_once_from_reserve_to_the_last_echo(host: Host) -> None:
    pod = make_pod(requests={GPU: 40})
    assert host.hold(pod) is None
    assert free(host) == 60
    bound = assigned(pod, "node", host.plan(pod))
    host.see_again(pod, bound)
    assert free(host) == 60
    host.see_again(bound, bound)
    host.see(bound)
    assert free(host) == 60
    check(host)


def test_a_pod_that_is_bound_with_the_word_that_was_to_be_written_is_booked_as_it_says(host: Host) -> None:
    bound = host.bind(make_pod(requests={GPU: 40}))
    device = make_device("node", 1)
    assert list(recount(host.plugin.books, [bound, device], frozenset())) == []
    assert not host.plugin.books.is_assumed("node", bound.uid)


def test_two_undos_and_a_deletion_free_a_card_once(host: Host) -> None:
    host.see(make_pod("other", node="node", annotations=holds(50)))
    pod = make_pod(requests=HALF)
    assert host.hold(pod) is None
    for _ in range(2):
        host.give_up(pod)
    host.lose(pod, "node")
    assert free(host) == 50
    check(host)


def test_unreserve_without_reserve_changes_nothing(host: Host) -> None:
    pod = make_pod(requests=HALF)
    host.begin(pod)
    host.give_up(pod)
    assert free(host) == 100
    assert host.plan(pod) == ""


def test_a_late_undo_on_the_first_node_leaves_the_second_alone(host: Host) -> None:
    host.list_device(make_device("second", 1))
    pod = make_pod(requests=HALF)
    host.hold(pod)
    host.give_up(pod)
    assert host.hold(pod, "second") is None
    host.give_up(pod)
    assert free(host) == 100
    assert host.card(0, "second").free[GPU_CORE] == 50


def test_an_undo_after_the_server_has_shown_the_pod_bound_frees_nothing(host: Host) -> None:
    pod = make_pod(requests=HALF)
    host.bind(pod)
    host.plugin.unreserve(host.states[pod.uid], pod, "node")
    assert free(host) == 50


def test_reserving_again_replaces_what_was_reserved(host: Host) -> None:
    pod = make_pod(requests={NVIDIA_GPU: 1})
    assert host.hold(pod) is None
    assert host.plugin.reserve(host.states[pod.uid], pod, "node") is None
    assert free(host) == 0
    host.give_up(pod)
    assert free(host) == 100
    assert host.plan(pod) == ""


def test_an_old_annotation_on_an_unbound_pod_holds_nothing_and_is_rewritten() -> None:
    host = Host()
    host.list_device(make_device("node", 2))
    host.see(make_pod("holder", node="node", annotations=holds(100)))
    ghost = make_pod("ghost", requests={NVIDIA_GPU: 1}, annotations=holds(100))
    assert host.hold(ghost) is None
    assert '"minor":1' in host.plan(ghost)
    assert host.card(0).holders == 1


def test_another_scheduler_that_binds_our_pod_without_a_card_frees_what_we_assumed(host: Host) -> None:
    pod = make_pod(requests=HALF)
    host.hold(pod)
    host.see_again(pod, assigned(pod))
    assert free(host) == 100


def test_another_scheduler_that_binds_our_pod_with_another_share_is_believed(host: Host) -> None:
    pod = make_pod(requests=HALF)
    host.hold(pod)
    host.see_again(pod, assigned(pod, "node", holds(80)[DEVICE_ALLOCATED]))
    assert free(host) == 20
    check(host)


def test_a_change_of_an_assumed_pod_before_its_bind_is_no_confirmation(host: Host) -> None:
    pod = make_pod(requests=HALF)
    host.hold(pod)
    host.see_again(pod, pod, "node")
    assert free(host) == 50
    host.give_up(pod)
    assert free(host) == 100


def test_a_pod_found_on_another_node_is_moved(host: Host) -> None:
    host.list_device(make_device("second", 1))
    pod = make_pod(requests=HALF)
    host.hold(pod)
    bound = assigned(pod, "second", host.plan(pod))
    host.lose(pod, "node")
    host.see(bound)
    assert free(host) == 100
    assert host.card(0, "second").free[GPU_CORE] == 50


def test_two_profiles_keep_one_book_and_take_every_event_twice(host: Host) -> None:
    other = DeviceShare(DeviceShareArgs(), host)
    pod, info = make_pod(requests=HALF), node_of("node")
    host.hold(pod)
    bound = assigned(pod, "node", host.plan(pod))
    for plugin in (host.plugin, other):
        plugin.pod_updated(PodInfo.of(pod, plugin.ANNOTATIONS, "node"), bound, info)
    assert other.books.devices_of("node").gpus[0].free[GPU_CORE] == 50
    broken = make_pod("run", node="node", annotations={DEVICE_ALLOCATED: BROKEN})
    for plugin in (host.plugin, other):
        plugin.pod_added(broken, info)
    assert len(host.reports) == 1
    for plugin in (host.plugin, other):
        plugin.pod_removed(PodInfo.of(broken, plugin.ANNOTATIONS), info)
        plugin.pod_removed(PodInfo.of(bound, plugin.ANNOTATIONS), info)
    assert free(host) == 100


# ------------------------------------------------------- pods of whoever it was


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_finished_pod_frees_its_card_once(host: Host, phase: str) -> None:
    pod = make_pod("a", node="node", annotations=holds(60))
    host.see(pod)
    host.see(make_pod("b", node="node", annotations=holds(40)))
    done = assigned(pod, phase=phase)
    host.see_again(pod, done)
    host.lose(done)
    host.lose(done)
    assert free(host) == 60
    host.see(done)
    assert free(host) == 60
    check(host)


def test_a_pod_without_an_annotation_opens_no_book() -> None:
    host, pod = Host(), make_pod(node="elsewhere")
    host.see(pod)
    host.lose(pod)
    assert host.plugin.books.sums() == {}


def test_a_phase_that_nobody_knows_holds_its_card(host: Host) -> None:
    host.see(make_pod(node="node", annotations=holds(60), phase="Unknown"))
    assert free(host) == 40


def test_pods_of_one_name_are_two_pods(host: Host) -> None:
    first = make_pod("db-0", uid="u1", node="node", annotations=holds(100))
    host.see(first)
    host.lose(first)
    host.see(make_pod("db-0", uid="u2", node="node", annotations=holds(30)))
    host.lose(first)
    assert free(host) == 70


def test_pods_that_hold_more_than_there_is_leave_nothing_until_enough_is_released(host: Host) -> None:
    pods = [make_pod(name, node="node", annotations=holds(60)) for name in ("a", "b")]
    for pod in pods:
        host.see(pod)
    assert (host.card(0).used[GPU_CORE], free(host)) == (120, 0)
    host.lose(pods[0])
    assert free(host) == 40
    check(host)


def test_nics_and_fpgas_in_an_annotation_are_booked_too(host: Host) -> None:
    text = (
        '{"fpga":[{"minor":0,"resources":{"koordinator.sh/fpga":"50"}}],'
        '"rdma":[{"minor":1,"resources":{"koordinator.sh/rdma":"1"},"extension":{"vfs":[{"busID":"x"}]}}]}'
    )
    pod = make_pod(node="node", annotations={DEVICE_ALLOCATED: text})
    host.see(pod)
    held = host.plugin.books.sums()["node"]
    assert held["rdma"][1, ""].amounts == {"koordinator.sh/rdma": 1}
    assert held["fpga"][0, ""].amounts == {"koordinator.sh/fpga": 50}
    host.lose(pod)
    assert host.plugin.books.sums()["node"] == {}


def test_an_annotation_with_old_names_holds_the_same(host: Host) -> None:
    text = holds(60)[DEVICE_ALLOCATED].replace("koordinator.sh/", "kubernetes.io/")
    host.see(make_pod(node="node", annotations={DEVICE_ALLOCATED: text}))
    assert free(host) == 40


@pytest.mark.parametrize("text", ["null", "{}", '{"gpu":null}', '{"gpu":[]}', '{"gpu":[{"minor":0,"resources":null}]}'])
def test_an_annotation_that_loses_its_amounts_frees_nothing_and_is_reported(host: Host, text: str) -> None:
    pod = make_pod(node="node", annotations=holds(60))
    host.see(pod)
    before = host.card(0)
    host.see_again(pod, assigned(pod, "node", text))
    assert host.card(0) == before
    assert [problem.path for _, _, problem in host.reports] == [f"metadata.annotations[{DEVICE_ALLOCATED}]"]


def test_an_annotation_that_vanishes_from_a_running_pod_frees_nothing(host: Host) -> None:
    pod = make_pod(node="node", annotations=holds(60))
    host.see(pod)
    bare = make_pod(node="node")
    host.see_again(pod, bare)
    assert free(host) == 40
    host.lose(bare)
    assert free(host) == 100


# ------------------------------------------------------ what cannot be read


def test_an_annotation_that_turns_unreadable_frees_nothing_until_the_pod_is_gone(host: Host) -> None:
    pod = make_pod("run", node="node", annotations=holds(100))
    host.see(pod)
    broken = make_pod("run", node="node", annotations={DEVICE_ALLOCATED: BROKEN})
    host.see_again(pod, broken)
    refusal = host.try_node(make_pod("next", requests={NVIDIA_GPU: 1}))
    assert refusal is not None
    assert refusal.reasons == ("Insufficient gpu devices",)
    ((kind, name, problem),) = host.reports
    assert (kind, name) == ("Pod", "default/run")
    assert problem.path == f"metadata.annotations[{DEVICE_ALLOCATED}]"
    host.lose(broken)
    assert host.try_node(make_pod("next", requests={NVIDIA_GPU: 1})) is None


def test_a_node_with_a_pod_that_was_never_readable_takes_no_pod_that_asks_for_devices(host: Host) -> None:
    broken = make_pod("run", node="node", annotations={DEVICE_ALLOCATED: BROKEN})
    host.see(broken)
    refusal = host.try_node(make_pod(requests=HALF))
    assert refusal is not None
    assert (refusal.code, refusal.reasons) == (Code.UNSCHEDULABLE, (UNREADABLE_POD,))
    assert refusal.details == {"pod": "default/run", "pods": 1}
    assert host.plugin.reserve(host.states["uid-default-pod"], make_pod(requests=HALF), "node") == refusal


@pytest.mark.parametrize(
    "mended",
    [
        pytest.param("readable", id="once its annotation can be read"),
        pytest.param("finished", id="once it has finished"),
        pytest.param("deleted", id="once it is deleted"),
    ],
)
def test_a_node_opens_again(host: Host, mended: str) -> None:
    broken = make_pod("run", node="node", annotations={DEVICE_ALLOCATED: BROKEN})
    host.see(broken)
    match mended:
        case "readable":
            host.see_again(broken, make_pod("run", node="node", annotations=holds(50)))
        case "finished":
            host.see_again(broken, assigned(broken, phase="Failed"))
        case _:
            host.lose(broken)
    assert host.try_node(make_pod(requests=HALF)) is None


@pytest.mark.parametrize("left", [{}, {DEVICE_ALLOCATED: "{}"}])
@pytest.mark.parametrize(("asks", "is_open"), [({"cpu": 1}, True), (HALF, False)])
def test_an_annotation_that_is_taken_away_opens_the_node_if_the_pod_asks_for_no_device(
    host: Host, left: dict[str, str], asks: dict[str, Any], is_open: bool
) -> None:
    broken = make_pod("run", requests=asks, node="node", annotations={DEVICE_ALLOCATED: BROKEN})
    host.see(broken)
    host.see_again(broken, make_pod("run", requests=asks, node="node", annotations=left))
    assert (host.try_node(make_pod(requests=HALF)) is None) is is_open


def test_an_unreadable_echo_of_our_own_bind_keeps_what_was_reserved(host: Host) -> None:
    pod = make_pod(requests=HALF)
    host.hold(pod)
    host.see_again(pod, assigned(pod, "node", BROKEN))
    host.plugin.unreserve(host.states[pod.uid], pod, "node")
    assert free(host) == 50


def test_an_annotation_that_breaks_again_is_reported_again(host: Host) -> None:
    broken = make_pod("run", node="node", annotations={DEVICE_ALLOCATED: BROKEN})
    well = make_pod("run", node="node", annotations=holds(50))
    host.see(broken)
    host.see_again(broken, well)
    host.see_again(well, broken)
    assert len(host.reports) == 2


def test_an_unreadable_annotation_on_an_unbound_pod_is_overwritten(host: Host) -> None:
    pod = make_pod(requests=HALF, annotations={DEVICE_ALLOCATED: BROKEN})
    assert host.hold(pod) is None
    assert host.reports == []


# ------------------------------------------------------------------- Devices


def test_pods_may_be_seen_before_their_nodes_device() -> None:
    host = Host()
    host.see(make_pod("run", node="node", annotations=holds(60)))
    refusal = host.try_node(make_pod(requests=HALF))
    assert refusal is not None
    assert refusal.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert host.card(0).held_by == ("default/run",)
    host.list_device(make_device("node", 1))
    assert free(host) == 40


def test_a_deleted_device_takes_nothing_and_forgets_nobody() -> None:
    host, device = Host(), make_device("node", 2)
    host.list_device(device)
    host.see(make_pod("run", node="node", annotations=holds(100)))
    host.delete_device(device)
    refusal = host.try_node(make_pod("next", requests={NVIDIA_GPU: 1}))
    assert refusal is not None
    assert refusal.code is Code.UNSCHEDULABLE
    host.list_device(device)
    host.bind(make_pod("next", requests={NVIDIA_GPU: 1}))
    assert [host.card(minor).holders for minor in (0, 1)] == [1, 1]
    assert host.try_node(make_pod("next2", requests={NVIDIA_GPU: 1})) is not None


def test_a_deleted_device_says_nothing_of_cards_that_it_did_not_list() -> None:
    host, device = Host(), make_device("node", [])
    host.see(make_pod("run", node="node", annotations=holds(100)))
    host.list_device(device)
    host.delete_device(device)
    refusal = host.try_node(make_pod(requests=HALF))
    assert refusal is not None
    assert refusal.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE


def test_a_device_that_nobody_knew_may_be_deleted_and_opens_no_book() -> None:
    unknowing = Host()
    unknowing.delete_device(make_device("node", 1))
    assert unknowing.plugin.books.sums() == {}
    assert unknowing.reports == []


def test_a_card_that_falls_off_keeps_its_holder_and_has_nothing_free(host: Host) -> None:
    two, one = make_device("node", 2), make_device("node", 1)
    host.change_device(one, two)
    host.see(make_pod("run", node="node", annotations=holds(100, minor=1)))
    host.change_device(two, one)
    assert (host.card(1).total, host.card(1).holders, free(host, 1)) == ({}, 1, 0)
    assert host.try_node(make_pod(requests={NVIDIA_GPU: 2})) is not None
    assert host.try_node(make_pod(requests={NVIDIA_GPU: 1})) is None


def test_a_device_is_the_full_list_each_time(host: Host) -> None:
    pod = make_pod(requests={NVIDIA_GPU: 1})
    host.change_device(make_device("node", 1), make_device("node", []))
    assert host.try_node(pod) is not None
    host.change_device(make_device("node", []), make_device("node", 1))
    assert host.try_node(pod) is None


def test_a_card_that_turns_sick_leaves_with_its_pod() -> None:
    host, well = Host(), make_device("node", 2)
    host.list_device(well)
    host.see(make_pod("old", node="node", annotations=holds(100)))
    host.change_device(well, make_device("node", [gpu(0, health=False), gpu(1)]))
    pod = make_pod("new", requests={NVIDIA_GPU: 1})
    assert host.hold(pod) is None
    assert '"minor":1' in host.plan(pod)


@pytest.mark.parametrize(
    ("bad", "path", "value"),
    [
        pytest.param([gpu(0) | {"minor": None}], "spec.devices[1].minor", "", id="an entry without a minor"),
        pytest.param([gpu(-1)], "spec.devices[1].minor", "-1", id="a negative minor"),
        pytest.param(
            [gpu(0) | {"resources": {GPU_CORE: "all"}}],
            f"spec.devices[1].resources[{GPU_CORE}]",
            "all",
            id="an amount that is no quantity",
        ),
        pytest.param(
            [gpu(0) | {"resources": {GPU_CORE: "-1"}}],
            f"spec.devices[1].resources[{GPU_CORE}]",
            "-1",
            id="an amount below zero",
        ),
    ],
)
def test_a_bad_entry_is_left_out_and_reported_once(bad: list[dict[str, object]], path: str, value: str) -> None:
    host, device = Host(), make_device("node", [gpu(7), *bad])
    host.list_device(device)
    host.change_device(device, device)
    ((kind, name, problem),) = host.reports
    assert (kind, name, problem.path, problem.value) == ("Device", "node", path, value)
    pod = make_pod(requests={NVIDIA_GPU: 1})
    assert host.hold(pod) is None
    assert '"minor":7' in host.plan(pod)
    assert host.try_node(make_pod("next", requests={GPU: 1})) is not None


def test_of_entries_that_claim_one_minor_none_is_used() -> None:
    host = Host()
    host.list_device(make_device("node", [gpu(1, uuid="b"), gpu(1, uuid="c"), gpu(2), gpu(2) | {"type": "rdma"}]))
    assert [problem.path for _, _, problem in host.reports] == ["spec.devices[0].minor", "spec.devices[1].minor"]
    pod = make_pod(requests={NVIDIA_GPU: 1})
    assert host.hold(pod) is None
    assert '"minor":2' in host.plan(pod)


def test_entries_that_claim_one_id_are_given_and_reported(host: Host) -> None:
    host.list_device(make_device("node", [gpu(0, uuid="GPU-x"), gpu(1, uuid="GPU-x"), gpu(2)]))
    assert [(problem.path, problem.value) for _, _, problem in host.reports] == [
        ("spec.devices[0].id", "GPU-x"),
        ("spec.devices[1].id", "GPU-x"),
    ]
    assert host.try_node(make_pod(requests=HALF)) is None


def test_a_problem_that_comes_back_is_reported_again() -> None:
    host, bad, good = Host(), make_device("node", [gpu(-1)]), make_device("node", 1)
    host.list_device(bad)
    host.change_device(bad, good)
    host.change_device(good, bad)
    assert len(host.reports) == 2


def test_a_device_with_old_names_offers_the_same() -> None:
    host = Host()
    old = {"kubernetes.io/gpu-core": 100, "kubernetes.io/gpu-memory-ratio": 100, "kubernetes.io/gpu-memory": "16Gi"}
    host.list_device(make_device("node", [gpu(0) | {"resources": old}]))
    assert host.try_node(make_pod(requests={NVIDIA_GPU: 1})) is None


# --------------------------------------------------------------------- nodes


def test_the_book_of_a_node_is_closed_when_node_device_and_pods_are_gone(host: Host) -> None:
    pod = make_pod(node="node", annotations=holds(60))
    host.see(pod)
    host.plugin.node_updated(node_of("node"), NodeInfo("node"))
    host.delete_device(make_device("node", 1))
    assert host.plugin.books.sums() != {}
    host.lose(pod)
    assert host.plugin.books.sums() == {}


def test_a_node_that_comes_back_finds_its_book(host: Host) -> None:
    host.see(make_pod(node="node", annotations=holds(60)))
    host.plugin.node_updated(node_of("node"), NodeInfo("node"))
    host.plugin.node_updated(NodeInfo("node"), node_of("node"))
    assert free(host) == 40
