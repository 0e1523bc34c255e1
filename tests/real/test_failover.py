"""Replicas on a real API server: the leader is killed, stopped, or hangs in a plugin, and another one goes on.

CI plays a few rounds; `make failover` plays 10 kills and 5 stops.
"""

import json
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from koordpy.testing import device_manifest, node_manifest, pod_manifest
from koordpy_api.koordinator import GPU_CORE, GPU_MEMORY_RATIO
from tests.controlplane.fixtures import SCHEDULER
from tests.controlplane.server import ControlPlane
from tests.controlplane.supervisor import wait_until
from tests.real.cluster_state import allocation, pods, recount, wait_bound
from tests.real.scheduler_process import SchedulerProcess

KILLS = int(os.environ.get("FAILOVER_KILLS", "1"))
STOPS = int(os.environ.get("FAILOVER_STOPS", "1"))
TAKEN_AWAY = 4
LEASE_S, DEADLINE_S, RETRY_S = 4.0, 3.0, 1.0
BUSY_S = 8.0
"""What a busy machine may add to what the lease allows."""
NODES, CARDS = 4, 8
MOST_PODS = 40
PODS_PER_S = 12
HALF = {GPU_CORE: "50", GPU_MEMORY_RATIO: "50"}
LEASE = "/apis/coordination.k8s.io/v1/namespaces/koordpy-system/leases/koordpy-scheduler"
KUBE_SCHEDULERS = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"


def configuration(**profile: Any) -> dict[str, Any]:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {
            "leaderElect": True,
            "leaseDuration": f"{LEASE_S:g}s",
            "renewDeadline": f"{DEADLINE_S:g}s",
            "retryPeriod": f"{RETRY_S:g}s",
        },
        "profiles": [{"schedulerName": "koordpy-scheduler", **profile}],
    }


class Replicas:
    """Processes that want the same lease."""

    def __init__(self, control_plane: ControlPlane, folder: Path) -> None:
        self.alive: list[SchedulerProcess] = []
        self._control_plane = control_plane
        self._folder = folder
        self._config = folder / "config.yaml"
        self._config.write_text(yaml.safe_dump(configuration()))
        self._started = 0

    def start(self, *options: str, environ: dict[str, str] | None = None) -> SchedulerProcess:
        self._started += 1
        options = options or ("--config", str(self._config))
        log = self._folder / f"replica-{self._started}.log"
        made = SchedulerProcess(self._control_plane, log, options, environ)
        self.alive.append(made)
        return made

    def ready(self, *options: str, environ: dict[str, str] | None = None) -> SchedulerProcess:
        made = self.start(*options, environ=environ)
        made.wait_ready()
        return made

    @property
    def leader(self) -> SchedulerProcess | None:
        leading = [each for each in self.alive if each.get("/readyz") == (200, "ok\n")]
        return leading[0] if len(leading) == 1 else None

    def wait_leader(self) -> SchedulerProcess:
        wait_until("a leader", lambda: self.leader is not None)
        found = self.leader
        assert found is not None
        return found

    @property
    def holder(self) -> str:
        _, lease = self._control_plane.request("GET", LEASE)
        return str(lease.get("spec", {}).get("holderIdentity", ""))

    def end(self) -> None:
        for each in self.alive:
            if each.process.poll() is None:
                each.process.send_signal(signal.SIGCONT)
                each.kill()


@pytest.fixture
def replicas(control_plane: ControlPlane, tmp_path: Path) -> Iterator[Replicas]:
    made = Replicas(control_plane, tmp_path)
    yield made
    made.end()
    control_plane.request("DELETE", LEASE)  # the next test need not wait for it to run out


@dataclass
class Load:
    """Half-card Pods arrive and go, and every state in between is counted again from the annotations."""

    control_plane: ControlPlane
    namespace: str
    created: int = 0
    counted: int = 0
    most: int = 0
    wrong: list[str] = field(default_factory=list)
    bound: dict[str, float] = field(default_factory=dict)

    def run(self, over: threading.Event) -> None:
        begun = time.monotonic()
        while not over.is_set():
            found = pods(self.control_plane, self.namespace)
            self.count(found)
            placed = [each["metadata"]["name"] for each in found if each["spec"].get("nodeName")]
            for name in placed:
                self.bound.setdefault(name, time.monotonic())
            for name in sorted(placed, key=self.bound.__getitem__)[: max(len(placed) - MOST_PODS, 0)]:
                self.control_plane.request("DELETE", f"/api/v1/namespaces/{self.namespace}/pods/{name}", NOW)
            while self.created < (time.monotonic() - begun) * PODS_PER_S and len(found) < 2 * MOST_PODS:
                self.create(f"half-{self.created}")
            over.wait(0.1)

    def create(self, name: str) -> None:
        self.created += 1
        self.control_plane.create(pod_manifest(name, namespace=self.namespace, containers=[{"limits": HALF}]))

    def count(self, found: list[dict[str, Any]]) -> None:
        """No card is given more than once, and whoever is bound has one."""
        placed = [each for each in found if each["spec"].get("nodeName")]
        books = recount(placed)
        self.counted += 1
        self.most = max([self.most, *(book[GPU_CORE] for book in books.values())])
        self.wrong += [f"{place}: {dict(book)}" for place, book in books.items() if book[GPU_CORE] > 100]
        self.wrong += [f"{each['metadata']['name']} has no card" for each in placed if len(allocation(each)) != 1]

    def first_bind_after(self, moment: float) -> float:
        """When the first Pod was bound that was not at that moment."""
        wait_until("a bind", lambda: any(when > moment for when in [*self.bound.values()]))
        return min(when for when in [*self.bound.values()] if when > moment)


NOW = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}


@contextmanager
def loaded(control_plane: ControlPlane, namespace: str) -> Iterator[Load]:
    for index in range(NODES):
        control_plane.create(node_manifest(f"{namespace}-{index}"))
        control_plane.create(device_manifest(f"{namespace}-{index}", CARDS))
    made, over = Load(control_plane, namespace), threading.Event()
    thread = threading.Thread(target=made.run, args=[over], daemon=True)
    thread.start()
    try:
        yield made
    finally:
        over.set()
        thread.join(30)


def taken_over(replicas: Replicas, load: Load, old: str, moment: float) -> tuple[float, float]:
    """Seconds from the moment until another holds the lease, and until something is bound again."""
    wait_until("another holder", lambda: replicas.holder not in ("", old))
    taken = time.monotonic()
    return taken - moment, load.first_bind_after(taken - 0.1) - moment


def wait(seconds: float) -> None:
    threading.Event().wait(seconds)


@pytest.mark.timeout(120 + 40 * (KILLS + STOPS))
def test_killed_and_stopped_leaders_are_followed_and_no_card_is_given_twice(
    control_plane: ControlPlane, namespace: str, replicas: Replicas
) -> None:
    seed = int(os.environ.get("FAILOVER_SEED", "0")) or random.SystemRandom().randrange(1, 10**6)
    rng, told = random.Random(seed), list[str]()
    for _ in range(3):
        replicas.start()
    for each in replicas.alive:
        each.wait_ready()
    deeds = ["kill"] * KILLS + ["stop"] * STOPS
    rng.shuffle(deeds)
    with loaded(control_plane, namespace) as load:
        for deed in deeds:
            leader, old = replicas.wait_leader(), replicas.holder
            load.first_bind_after(time.monotonic())
            wait(rng.uniform(0, 2))
            moment = time.monotonic()
            if deed == "kill":
                leader.process.send_signal(signal.SIGKILL)
                status = leader.process.wait(30)
                lease_s, bind_s = taken_over(replicas, load, old, moment)
            else:
                leader.process.send_signal(signal.SIGSTOP)
                lease_s, bind_s = taken_over(replicas, load, old, moment)
                wait(rng.uniform(0, 2))
                leader.process.send_signal(signal.SIGCONT)
                status = leader.process.wait(30)
                assert status == 1, leader.log.read_text()[-3000:]
            told.append(
                f"{deed}: lease taken after {lease_s:4.1f} s, first bind after {bind_s:4.1f} s, status {status}"
            )
            print(f"\n  {told[-1]}", end="", flush=True)
            assert lease_s <= LEASE_S + RETRY_S + BUSY_S
            replicas.alive.remove(leader)
            replicas.ready()
        load.first_bind_after(time.monotonic())
    assert load.wrong == []
    print(
        f"\n  seed {seed}: lease {LEASE_S:g} s / {DEADLINE_S:g} s / {RETRY_S:g} s, {load.created} Pods under way; "
        f"{load.counted} recounts, the fullest card {load.most} %: no card given twice"
    )
    assert load.most == 100
    assert control_plane.request("GET", KUBE_SCHEDULERS)[0] == 404


def test_a_lease_that_is_deleted_or_emptied_by_hand_stays_its_holders_and_no_card_is_given_twice(
    control_plane: ControlPlane, namespace: str, replicas: Replicas
) -> None:
    first = replicas.ready()
    replicas.wait_leader()
    replicas.ready()
    holder = replicas.holder
    emptied = {"spec": {"holderIdentity": ""}}
    with loaded(control_plane, namespace) as load:
        for _ in range(TAKEN_AWAY):
            load.first_bind_after(time.monotonic())
            # Near a renewal and far from one; a standby that takes it first would do so within RETRY_S.
            wait(random.SystemRandom().uniform(0, RETRY_S))
            control_plane.request("DELETE", LEASE)
            wait_until("its holder's return", lambda: replicas.holder == holder)
            wait(random.SystemRandom().uniform(0, RETRY_S))
            control_plane.request("PATCH", LEASE, emptied, "application/merge-patch+json")
            wait_until("its holder's return", lambda: replicas.holder == holder)
        load.first_bind_after(time.monotonic())
    assert load.wrong == []
    assert replicas.leader is first
    assert first.log.read_text().count("lease acquired") == 1


def test_fc_106_sigterm_gives_the_lease_back_and_the_other_replica_leads_at_once(
    control_plane: ControlPlane, namespace: str, replicas: Replicas
) -> None:
    first = replicas.ready()
    replicas.wait_leader()
    second = replicas.ready()
    status, answer = second.get("/readyz")
    assert (status, answer) == (200, f"ok: standby; {replicas.holder} leads\n")
    assert 'leader_election_master_status{name="koordpy-scheduler"} 0.0' in second.get("/metrics")[1]
    moment = time.monotonic()
    assert first.terminate() == 0
    ended = time.monotonic()
    replicas.alive.remove(first)
    assert replicas.wait_leader() is second
    print(f"\n  SIGTERM: ended after {ended - moment:.1f} s, the other leads {time.monotonic() - ended:.1f} s later")
    assert time.monotonic() - ended <= RETRY_S + BUSY_S / 2
    assert 'leader_election_master_status{name="koordpy-scheduler"} 1.0' in second.get("/metrics")[1]
    control_plane.create(node_manifest(f"{namespace}-n"))
    control_plane.create(pod_manifest("plain", namespace=namespace))
    wait_bound(control_plane, namespace, "plain")
    _, events = control_plane.request("GET", "/apis/events.k8s.io/v1/namespaces/koordpy-system/events")
    notes = {each["note"] for each in events["items"] if each["regarding"]["kind"] == "Lease"}
    assert f"{replicas.holder} became leader" in notes


def test_without_a_right_to_the_lease_nothing_is_scheduled_and_readiness_says_why(
    control_plane: ControlPlane, namespace: str, replicas: Replicas, tmp_path: Path
) -> None:
    elsewhere = configuration()
    elsewhere["leaderElection"]["resourceName"] = "another"
    config = tmp_path / "elsewhere.yaml"
    config.write_text(yaml.safe_dump(elsewhere))
    running = replicas.start("--config", str(config))

    def told() -> bool:
        status, answer = running.get("/readyz")
        return status == 503 and "the lease cannot be had: 403" in answer

    wait_until("the refusal", told, running.process.poll, running.log)
    assert running.get("/livez") == (200, "ok\n")
    assert f'User \\"{SCHEDULER}\\" cannot get resource \\"leases\\"' in json.dumps(running.get("/readyz")[1])
    assert running.terminate() == 0


HANGS: dict[str, tuple[int, str]] = {
    "python": (3, "the scheduler's loop does not move"),
    "c": (1, "Timeout (0:00:06)!"),
}


@pytest.mark.parametrize("how", HANGS, ids=["a loop in Python", "a call into C that holds every thread up"])
def test_a_plugin_that_never_comes_back_is_named_its_process_ends_and_the_standby_goes_on(
    how: str, control_plane: ControlPlane, namespace: str, replicas: Replicas, tmp_path: Path
) -> None:
    wanted_status, wanted_text = HANGS[how]
    control_plane.create(node_manifest(f"{namespace}-n"))
    first = replicas.ready(*with_looping(tmp_path, how), environ=looping_environ(tmp_path))
    replicas.wait_leader()
    second = replicas.ready()
    control_plane.create(pod_manifest("before", namespace=namespace))
    wait_bound(control_plane, namespace, "before")

    moment = time.monotonic()
    control_plane.create(pod_manifest("trap", namespace=namespace))
    livez = _watch_livez(first)
    status = first.process.wait(60)
    ended_s = time.monotonic() - moment
    wait_bound(control_plane, namespace, "trap")
    bound_s = time.monotonic() - moment
    replicas.alive.remove(first)
    assert replicas.wait_leader() is second
    control_plane.create(pod_manifest("after", namespace=namespace))
    wait_bound(control_plane, namespace, "after")

    log = first.log.read_text()
    told = log[log.index(wanted_text) :].splitlines()
    print(f"\n  {how}: /livez said {livez()!r}")
    print("\n".join(f"    {line[:150]}" for line in told[:3] + told[-2:]))
    print(f"  ended with {status} after {ended_s:.1f} s; the standby bound the Pod after {bound_s:.1f} s")
    assert status == wanted_status
    assert "looping.py" in log
    if how == "python":
        assert "500 the scheduler's loop has not moved for" in livez()
        assert f"it is in plugin Looping, filter of {namespace}/trap on {namespace}-n, at Looping.filter" in livez()
        assert f"plugin=Looping hook=filter pod={namespace}/trap node={namespace}-n " in log
    assert bound_s <= DEADLINE_S / 2 + LEASE_S + RETRY_S + BUSY_S


def _watch_livez(process: SchedulerProcess) -> Callable[[], str]:
    """Ask in the background until it ends. Returns: what the last answer that was not ok was."""
    said = [""]

    def ask() -> None:
        while process.process.poll() is None:
            status, answer = process.get("/livez")
            if status not in (0, 200):
                said[0] = f"{status} {answer.strip()}"
            wait(0.1)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()

    def answer() -> str:
        thread.join(10)
        return said[0]

    return answer


def with_looping(folder: Path, how: str) -> tuple[str, ...]:
    config = folder / "looping.yaml"
    plugins = {"multiPoint": {"enabled": [{"name": "Looping"}]}}
    arguments = [{"name": "Looping", "args": {"how": how}}]
    config.write_text(yaml.safe_dump(configuration(plugins=plugins, pluginConfig=arguments)))
    return "--config", str(config)


def looping_environ(folder: Path) -> dict[str, str]:
    """The plugin's distribution, as a process finds it."""
    information = folder / "site" / "looping-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: looping\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[koordpy.scheduler]\nLooping = looping:Looping\n")
    paths = os.pathsep.join([str(information.parent), str(Path(__file__).parent / "looping")])
    return {**os.environ, "PYTHONPATH": paths}
