"""Many pods at once, and a scheduler that dies at every step of a bind: on a real API server no card is given twice.

CI plays a few rounds, `make device-races` fifty of the one and sixty of the other.
"""

import os
import random
import signal
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from koordpy.testing import device_manifest, node_manifest, pod_manifest
from koordpy_api.koordinator import DEVICE_ALLOCATED, GPU_CORE, GPU_MEMORY_RATIO, GPU_MINORS, GPU_UUIDS
from tests.controlplane.server import ControlPlane
from tests.controlplane.supervisor import wait_until
from tests.real.cluster_state import allocation, pods, print_books, recount
from tests.real.scheduler_process import SchedulerProcess, running_scheduler

RUNS = int(os.environ.get("RACE_RUNS", "3"))
KILLS = int(os.environ.get("RACE_KILLS", "6"))
HALF = {GPU_CORE: "50", GPU_MEMORY_RATIO: "50"}
STEPS = ("reserve", "permit", "pre_bind", "bind", "wire", "post_bind")
PODS_A_LIFE = 4
CARDS_A_NODE = 8


def create_halves(control_plane: ControlPlane, namespace: str, names: list[str]) -> None:
    """All at once, as far as one machine can."""

    def create(name: str) -> None:
        control_plane.create(pod_manifest(name, namespace=namespace, containers=[{"limits": HALF}]))

    with ThreadPoolExecutor(len(names)) as together:
        list(together.map(create, names))


def bound(documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [each for each in documents if each["spec"].get("nodeName")]


@pytest.mark.timeout(60 + 20 * RUNS)
def test_16_half_card_pods_at_once_on_8_cards_land_two_per_card(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    right = 0
    with running_scheduler(control_plane, tmp_path / "scheduler.log"):
        for run in range(RUNS):
            node = f"{namespace}-{run}"
            control_plane.create(node_manifest(node))
            control_plane.create(device_manifest(node, CARDS_A_NODE))
            create_halves(control_plane, namespace, [f"half-{run}-{number}" for number in range(16)])
            wait_until("all 16 bound", lambda: len(bound(pods(control_plane, namespace))) == 16)
            found = pods(control_plane, namespace)
            books = recount(found)
            assert {place: book["pods"] for place, book in books.items()} == {
                (node, minor): 2 for minor in range(CARDS_A_NODE)
            }
            assert all(book[GPU_CORE] == book[GPU_MEMORY_RATIO] == 100 for book in books.values())
            for each in found:
                (card,), annotations = allocation(each), each["metadata"]["annotations"]
                assert (annotations[GPU_MINORS], annotations[GPU_UUIDS]) == (str(card["minor"]), card["id"])
            right += 1
            _clear(control_plane, namespace, node)
    print(f"\n16 half-card pods at once on {CARDS_A_NODE} cards: two per card in {right} runs of {RUNS}")


@pytest.mark.timeout(120 + 20 * KILLS)
def test_a_scheduler_killed_at_each_step_of_a_bind_books_nothing_twice_and_leaks_nothing(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    seed = int(os.environ.get("RACE_SEED", "0")) or random.SystemRandom().randrange(1, 10**6)
    rng, died, came_through = random.Random(seed), Counter[str](), Counter[str]()
    wanted = PODS_A_LIFE * KILLS
    for index in range(-(-wanted // (2 * CARDS_A_NODE))):
        control_plane.create(node_manifest(f"{namespace}-{index}"))
        cards = min(CARDS_A_NODE, -(-wanted // 2) - index * CARDS_A_NODE)
        control_plane.create(device_manifest(f"{namespace}-{index}", cards))
    for life in range(KILLS):
        step = STEPS[life % len(STEPS)]
        names = [f"half-{life}-{number}" for number in range(PODS_A_LIFE)]
        create_halves(control_plane, namespace, names)
        args = {"step": step, "pod": rng.randint(1, PODS_A_LIFE), "delayMs": rng.uniform(0, 20)}
        before = len(bound(pods(control_plane, namespace)))
        running = _dying_scheduler(control_plane, tmp_path / f"life-{life}", args)
        assert running.process.wait(timeout=60) == -signal.SIGKILL
        found = pods(control_plane, namespace)
        died[step] += 1
        came_through[step] += len(bound(found)) - before
        _check_never_too_much(found)
    with running_scheduler(control_plane, tmp_path / "last-life.log") as last:
        wait_until("all pods bound", lambda: len(bound(pods(control_plane, namespace))) == wanted)
        books = recount(pods(control_plane, namespace))
        print_books(f"{wanted} half-card pods, {KILLS} kills, seed {seed}, recounted from the annotations:", books)
        lives = ", ".join(f"{step} {times} ({came_through[step]} pods bound)" for step, times in died.items())
        print(f"  killed at {lives}: no card given twice")
        assert len(books) == wanted // 2
        assert {(book["pods"], book[GPU_CORE], book[GPU_MEMORY_RATIO]) for book in books.values()} == {(2, 100, 100)}
        believed = _used_core(last, namespace)
        assert believed == dict.fromkeys(books, 100)
        at_once = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}
        control_plane.request("DELETE", f"/api/v1/namespaces/{namespace}/pods", at_once)
        wait_until("all cards free", lambda: not any(_used_core(last, namespace).values()))
        print(f"  the scheduler's own books said the same, and nothing is left of {len(believed)} cards' use")


def _check_never_too_much(documents: list[dict[str, Any]]) -> None:
    """Who is bound has exactly one card, and nobody else has one; no card is given more than once."""
    for each in documents:
        assert bool(each["spec"].get("nodeName")) == bool(each["metadata"].get("annotations", {}).get(DEVICE_ALLOCATED))
    books = recount(bound(documents))
    assert all(book[GPU_CORE] <= 100 and book[GPU_MEMORY_RATIO] <= 100 for book in books.values())


def _used_core(running: SchedulerProcess, namespace: str) -> dict[tuple[str, int], float]:
    """(node, minor) → device_gpu_used_core of this test's nodes."""
    found = {}
    for line in running.get("/metrics")[1].splitlines():
        if line.startswith("device_gpu_used_core{"):
            labels, value = line.removeprefix("device_gpu_used_core").rsplit(" ", 1)
            named = {part.split("=")[0]: part.split('"')[1] for part in labels.strip("{}").split(",")}
            if named["node"].startswith(f"{namespace}-"):
                found[named["node"], int(named["minor"])] = float(value)
    return found


def _clear(control_plane: ControlPlane, namespace: str, node: str) -> None:
    at_once = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}
    control_plane.request("DELETE", f"/apis/scheduling.koordinator.sh/v1alpha1/devices/{node}")
    control_plane.request("DELETE", f"/api/v1/nodes/{node}")
    control_plane.request("DELETE", f"/api/v1/namespaces/{namespace}/pods", at_once)
    wait_until("no pod left", lambda: not pods(control_plane, namespace))


def _dying_scheduler(control_plane: ControlPlane, folder: Path, args: dict[str, Any]) -> SchedulerProcess:
    """A scheduler with the plugin of dying/ beside the default ones."""
    information = folder / "dying-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: dying\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[koordpy.scheduler]\nDying = dying:Dying\n")
    enabled = {"multiPoint": {"enabled": [{"name": "Dying"}]}}
    first_at_bind = {"bind": {"enabled": [{"name": "Dying"}, {"name": "DefaultBinder"}], "disabled": [{"name": "*"}]}}
    profile = {
        "schedulerName": "koordpy-scheduler",
        "plugins": enabled | first_at_bind,
        "pluginConfig": [{"name": "Dying", "args": args}],
    }
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "profiles": [profile],
    }
    config = folder / "config.yaml"
    config.write_text(yaml.safe_dump(document))
    paths = os.pathsep.join([str(folder), str(Path(__file__).parent / "dying")])
    environ = {**os.environ, "PYTHONPATH": paths}
    return SchedulerProcess(control_plane, folder / "scheduler.log", ["--config", str(config)], environ)
