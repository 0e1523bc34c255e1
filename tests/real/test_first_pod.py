"""A pod that asks for half a card is bound on a real API server; everything else here is about not doing it twice."""

import json
import random
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from koordpy.testing import device_manifest, gpu, node_manifest, pod_manifest
from koordpy_api.koordinator import DEVICE_ALLOCATED, GPU, GPU_CORE, GPU_MEMORY, GPU_MEMORY_RATIO, NVIDIA_GPU
from tests.controlplane.server import ControlPlane
from tests.controlplane.supervisor import wait_until
from tests.real.cluster_state import (
    allocation,
    condition,
    events,
    pod,
    pods,
    print_books,
    read_input,
    recount,
    wait_bound,
    wait_refused,
)
from tests.real.scheduler_process import SchedulerProcess, running_scheduler

HALF = {GPU_CORE: 50, GPU_MEMORY_RATIO: 50}
GI = 2**30


@pytest.fixture
def scheduler(control_plane: ControlPlane, tmp_path: Path) -> Iterator[SchedulerProcess]:
    with running_scheduler(control_plane, tmp_path / "scheduler.log") as running:
        yield running


@pytest.fixture
def input_node(control_plane: ControlPlane, request: pytest.FixtureRequest) -> Iterator[str]:
    """The node of a Device in tests/inputs, under the Device's own name; both go afterwards."""
    device = read_input(request.param)
    name: str = device["metadata"]["name"]
    control_plane.create(node_manifest(name))
    control_plane.create(device)
    yield name
    control_plane.request("DELETE", f"/apis/scheduling.koordinator.sh/v1alpha1/devices/{name}")
    control_plane.request("DELETE", f"/api/v1/nodes/{name}")


def create_pod(control_plane: ControlPlane, namespace: str, name: str, requests: dict[str, int]) -> None:
    containers = [{"limits": {resource: str(amount) for resource, amount in requests.items()}}]
    control_plane.create(pod_manifest(name, namespace=namespace, containers=containers))


def test_input_01_is_bound_with_its_annotation(
    control_plane: ControlPlane, namespace: str, scheduler: SchedulerProcess
) -> None:
    node = f"{namespace}-wool"
    control_plane.create(node_manifest(node))
    cards = [gpu(0, uuid="GPU-wool-0", memory="24Gi"), gpu(1, uuid="GPU-wool-1", memory="24Gi")]
    control_plane.create(device_manifest(node, cards))
    manifest = read_input("01")
    manifest["metadata"]["namespace"] = namespace
    control_plane.create(manifest)

    bound = wait_bound(control_plane, namespace, "wool-infer")

    text = bound["metadata"]["annotations"][DEVICE_ALLOCATED]
    print(f"\ninput 01: pod wool-infer is bound to {bound['spec']['nodeName']}\n  {DEVICE_ALLOCATED}: {text}")
    amounts = f'"{GPU_CORE}":"50","{GPU_MEMORY}":"12Gi","{GPU_MEMORY_RATIO}":"50"'
    assert text == f'{{"gpu":[{{"minor":0,"resources":{{{amounts}}},"id":"GPU-wool-0"}}]}}'
    assert bound["spec"]["nodeName"] == node
    assert condition(bound)["status"] == "True"


def test_a_pod_that_does_not_fit_has_its_condition_and_its_event(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    for index, cpu in enumerate(["8", "1"]):
        control_plane.create(node_manifest(f"{namespace}-{index}", cpu=cpu))
        control_plane.create(device_manifest(f"{namespace}-{index}", 1))
    containers = [{"requests": {"cpu": "2"}, "limits": {NVIDIA_GPU: "2"}}]
    control_plane.create(pod_manifest("too-big", namespace=namespace, containers=containers))

    with running_scheduler(control_plane, tmp_path / "scheduler.log"):  # its first list holds both nodes
        refused = wait_refused(control_plane, namespace, "too-big")
        wait_until("the Event", lambda: bool(events(control_plane, namespace, "too-big")))

    (event,) = events(control_plane, namespace, "too-big")
    shown = {key: event[key] for key in ("type", "reason", "action", "note", "reportingController")}
    print(f"\na pod that does not fit:\n  condition {json.dumps(condition(refused))}\n  event {json.dumps(shown)}")
    message = "0/2 nodes are available: 1 Insufficient cpu, 1 Insufficient gpu devices."
    assert condition(refused) | {"lastTransitionTime": None} == {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": message,
        "observedGeneration": 1,
        "lastProbeTime": None,
        "lastTransitionTime": None,
    }
    assert condition(refused)["lastTransitionTime"] is not None
    assert shown == {
        "type": "Warning",
        "reason": "FailedScheduling",
        "action": "Scheduling",
        "note": message,
        "reportingController": "koordpy-scheduler",
    }


@pytest.mark.parametrize("input_node", ["12"], indirect=True)
def test_input_12_offers_two_cards_of_104_gi_and_the_sick_third_takes_nothing(
    control_plane: ControlPlane, namespace: str, input_node: str, scheduler: SchedulerProcess
) -> None:
    for index in range(5):
        create_pod(control_plane, namespace, f"half-{index}", HALF)
        (wait_bound if index < 4 else wait_refused)(control_plane, namespace, f"half-{index}")
    books = recount(pods(control_plane, namespace))
    print_books("input 12, 50 % pods: four run, the fifth does not fit", books)
    assert {place: (book["pods"], book[GPU_MEMORY] // GI) for place, book in books.items()} == {
        (input_node, 0): (2, 24),
        (input_node, 1): (2, 80),
    }

    control_plane.request("DELETE", f"/api/v1/namespaces/{namespace}/pods")
    create_pod(control_plane, namespace, "three", {GPU: 300})
    refused = wait_refused(control_plane, namespace, "three")
    create_pod(control_plane, namespace, "two", {GPU: 200})
    gpus = allocation(wait_bound(control_plane, namespace, "two"))
    recorded = [(each["minor"], each["resources"][GPU_MEMORY]) for each in gpus]
    print(f"  {GPU} 300: {condition(refused)['message']}\n  {GPU} 200: {recorded}")
    assert recorded == [(0, "24Gi"), (1, "80Gi")]
    assert condition(refused)["message"] == "0/1 nodes are available: 1 Insufficient gpu devices."


@pytest.mark.parametrize("input_node", ["13"], indirect=True)
def test_input_13_offers_minors_0_2_and_3_and_its_nic_is_no_card(
    control_plane: ControlPlane, namespace: str, input_node: str, scheduler: SchedulerProcess
) -> None:
    for index in range(7):
        create_pod(control_plane, namespace, f"half-{index}", HALF)
        (wait_bound if index < 6 else wait_refused)(control_plane, namespace, f"half-{index}")
    books = recount(pods(control_plane, namespace))
    print_books("input 13, 50 % pods: six run, the seventh does not fit", books)
    assert {place: (book["pods"], book[GPU_MEMORY] // GI) for place, book in books.items()} == {
        (input_node, minor): (2, 16) for minor in (0, 2, 3)
    }

    control_plane.request("DELETE", f"/api/v1/namespaces/{namespace}/pods")
    create_pod(control_plane, namespace, "three", {NVIDIA_GPU: 3})
    minors = [each["minor"] for each in allocation(wait_bound(control_plane, namespace, "three"))]
    print(f"  {NVIDIA_GPU} 3: minors {minors}")
    assert minors == [0, 2, 3]


def test_40_half_card_pods_fill_20_cards_though_the_scheduler_is_killed_three_times(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    seed = random.SystemRandom().randrange(10**6)
    rng = random.Random(seed)
    for index in range(5):
        control_plane.create(node_manifest(f"{namespace}-{index}"))
        control_plane.create(device_manifest(f"{namespace}-{index}", 4))

    def bound() -> int:
        return sum(1 for each in pods(control_plane, namespace) if each["spec"].get("nodeName"))

    for life, arrivals in enumerate((range(14), range(14, 27), range(27, 40))):
        for number in arrivals:
            create_pod(control_plane, namespace, f"half-{number}", HALF)
        running = SchedulerProcess(control_plane, tmp_path / f"life-{life}.log")
        running.wait_log("ready:")  # from now on it binds the heap that came meanwhile
        delay_s = rng.uniform(0, 0.1)
        threading.Event().wait(delay_s)
        running.kill()
        moment = f"{delay_s * 1000:.0f} ms after ready"
        print(f"\n  seed {seed}: killed with -9 {moment}; {bound()} of {arrivals.stop} pods were bound", end="")
    with running_scheduler(control_plane, tmp_path / "last-life.log"):
        wait_until("all pods bound", lambda: bound() == 40)

    books = recount(pods(control_plane, namespace))
    print_books(f"40 half-card pods on 20 cards, seed {seed}, recounted from the annotations:", books)
    assert len(books) == 20
    assert {
        (book["pods"], book[GPU_CORE], book[GPU_MEMORY_RATIO], book[GPU_MEMORY] // GI) for book in books.values()
    } == {(2, 100, 100, 16)}


def test_a_pod_that_ends_or_is_deleted_frees_its_card(
    control_plane: ControlPlane, namespace: str, scheduler: SchedulerProcess
) -> None:
    node = f"{namespace}-one"
    control_plane.create(node_manifest(node))
    control_plane.create(device_manifest(node, 1))
    whole = {GPU: 100}
    create_pod(control_plane, namespace, "first", whole)
    wait_bound(control_plane, namespace, "first")
    create_pod(control_plane, namespace, "second", whole)
    wait_refused(control_plane, namespace, "second")

    done = {"status": {"phase": "Succeeded"}}
    path = f"/api/v1/namespaces/{namespace}/pods/first/status"
    control_plane.request("PATCH", path, done, content_type="application/merge-patch+json")
    wait_bound(control_plane, namespace, "second")

    create_pod(control_plane, namespace, "third", whole)
    wait_refused(control_plane, namespace, "third")
    control_plane.request("DELETE", f"/api/v1/namespaces/{namespace}/pods/second")
    assert allocation(wait_bound(control_plane, namespace, "third"))[0]["minor"] == 0


def test_other_schedulers_pods_are_left_alone_but_counted(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    node = f"{namespace}-small"
    control_plane.create(node_manifest(node, cpu="1"))
    foreign = pod_manifest("foreign", namespace=namespace, requests={"cpu": "600m"}, scheduler_name="somebody-else")
    control_plane.create(foreign)
    control_plane.create(
        pod_manifest("assigned", namespace=namespace, requests={"cpu": "600m"}, node=node, scheduler_name="another")
    )
    control_plane.create(pod_manifest("ours", namespace=namespace, requests={"cpu": "600m"}))

    with running_scheduler(control_plane, tmp_path / "scheduler.log"):  # its first list holds the node
        refused = wait_refused(control_plane, namespace, "ours")

    assert condition(refused)["message"] == "0/1 nodes are available: 1 Insufficient cpu."
    untouched = pod(control_plane, namespace, "foreign")
    assert not untouched["spec"].get("nodeName")
    assert condition(untouched) == {}


def test_sigterm_ends_with_status_0_and_the_probes_say_what_is_going_on(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    with running_scheduler(control_plane, tmp_path / "scheduler.log") as running:
        control_plane.create(node_manifest(f"{namespace}-n"))
        create_pod(control_plane, namespace, "plain", {"cpu": 1})
        wait_bound(control_plane, namespace, "plain")
        assert running.get("/healthz") == (200, "ok\n")
        assert running.get("/nothing")[0] == 404
        counted = 'scheduler_schedule_attempts_total{profile="koordpy-scheduler",result="scheduled"} 1.0'
        assert counted in running.get("/metrics")[1]
        assert running.terminate() == 0
