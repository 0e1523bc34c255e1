"""koordpy and kube-scheduler at once on one cluster, which neither tells the other anything about.

With room for all, nothing must go wrong. When the nodes are nearly full both may choose the same last room: each such
race is printed, with how koordpy notices and reports it. CI plays few Pods; `make two-schedulers` plays 1,000 each.
"""

import http.client
import json
import math
import os
import random
import re
import ssl
import subprocess
import sys
import threading
import urllib.parse
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from koordpy.testing import node_manifest, pod_manifest
from koordpy_api.quantity import milli_value_of
from tests.controlplane.server import ControlPlane
from tests.controlplane.supervisor import wait_until
from tests.real.cluster_state import condition, pods
from tests.real.scheduler_process import SchedulerProcess, running_scheduler

PODS: Final = int(os.environ.get("TWO_PODS", "60"))
"""Of each scheduler."""

POD_CPU_MILLI: Final = 500
PODS_A_NODE: Final = 10
OURS: Final = "koordpy-scheduler"
THEIRS: Final = "default-scheduler"
CREATES: Final = 8
QUIET_POLLS: Final = 10
Document = dict[str, Any]


@dataclass
class Cluster:
    """Nodes that only pods of this test may use, and what both schedulers make of them."""

    control_plane: ControlPlane
    namespace: str
    pool: str = field(init=False)
    thief: str = field(init=False)

    def __post_init__(self) -> None:
        self.pool = f"{self.namespace}.example.test/pool"
        self.thief = f"{self.namespace}-thief"

    def add_nodes(self, number: int) -> None:
        taint = [{"key": self.pool, "value": "here", "effect": "NoSchedule"}]
        for index in range(number):
            cpu = f"{PODS_A_NODE * POD_CPU_MILLI}m"
            node = node_manifest(f"{self.namespace}-{index:03}", cpu=cpu, memory="256Gi", pods=250, taints=taint)
            self.control_plane.create(node)

    def pod(self, name: str, scheduler: str) -> Document:
        asked, tolerations = {"cpu": f"{POD_CPU_MILLI}m"}, [{"key": self.pool, "operator": "Exists"}]
        return pod_manifest(
            name, namespace=self.namespace, requests=asked, scheduler_name=scheduler, tolerations=tolerations
        )

    def create_pods(self, prefix: str, number: int, scheduler: str) -> Callable[[], object]:
        """Begin to; returns what waits until all are created."""

        create = self.control_plane.create
        together = ThreadPoolExecutor(CREATES)
        done = [together.submit(create, self.pod(f"{prefix}-{index:04}", scheduler)) for index in range(number)]
        return lambda: [each.result() for each in done]

    def pods(self) -> list[Document]:
        return pods(self.control_plane, self.namespace)

    def settle(self) -> list[Document]:
        """Returns once nobody binds any more: every pod is bound or was told why not, and stays so."""
        last: list[object] = []

        def is_quiet() -> bool:
            found = [
                (each["metadata"]["name"], each["spec"].get("nodeName"), bool(condition(each))) for each in self.pods()
            ]
            told = all(node or is_told for _, node, is_told in found)
            last.append(found if told else None)
            return told and len(last) > QUIET_POLLS and all(each == found for each in last[-QUIET_POLLS:])

        wait_until("both schedulers to be done", is_quiet)
        return self.pods()

    def used_milli(self, found: list[Document]) -> Mapping[str, int]:
        used: defaultdict[str, int] = defaultdict(int)
        for each in found:
            if node := each["spec"].get("nodeName"):
                used[node] += sum(
                    milli_value_of(one["resources"]["requests"]["cpu"]) for one in each["spec"]["containers"]
                )
        return used

    def over(self, found: list[Document]) -> dict[str, int]:
        """Node → milli-CPU that it gave away and has not."""
        room = PODS_A_NODE * POD_CPU_MILLI
        used = {node: milli for node, milli in self.used_milli(found).items() if node != self.thief}
        return {node: milli - room for node, milli in used.items() if milli > room}

    def events(self) -> list[Document]:
        _, found = self.control_plane.request(
            "GET", f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events?limit=9999"
        )
        items: list[Document] = found["items"]
        return items


@pytest.fixture
def cluster(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> Iterator[Cluster]:
    """kube-scheduler runs beside, until the test ends."""
    config = tmp_path / "kube-scheduler.yaml"
    profile = {"schedulerName": THEIRS}
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"kubeconfig": str(control_plane.kubeconfig()), "qps": 500, "burst": 500},
        "profiles": [profile],
    }
    config.write_text(yaml.safe_dump(document))
    process = control_plane.start_scheduler(config, tmp_path / "kube-scheduler.log")
    made = Cluster(control_plane, namespace)
    yield made
    process.kill()
    process.wait(timeout=30)


@pytest.mark.timeout(120 + PODS)
def test_with_room_for_all_both_schedulers_bind_all_their_pods_and_nothing_else(
    cluster: Cluster, tmp_path: Path
) -> None:
    cluster.add_nodes(-(-2 * PODS // PODS_A_NODE) * 2)
    with running_scheduler(cluster.control_plane, tmp_path / "koordpy.log") as koordpy:
        waiting = [cluster.create_pods("ours", PODS, OURS), cluster.create_pods("theirs", PODS, THEIRS)]
        for created in waiting:
            created()
        wait_until("all pods bound", lambda: all(each["spec"].get("nodeName") for each in cluster.pods()))
        found = cluster.settle()
        _nothing_went_wrong(cluster, koordpy, found)
        races = len(_lines(koordpy, "bound by somebody else"))
        assert not cluster.over(found)
        assert not [each for each in cluster.events() if each["reason"] == "FailedScheduling"]
        shared = sum(len(who) == 2 for who in _who_is_where(found).values())
    print(f"\n{PODS} pods of each scheduler, room for twice as many: all bound, {shared} nodes shared by both")
    print(f"  no node over-committed, no foreign pod touched, no error logged, {races} races lost")
    assert shared


@pytest.mark.timeout(240 + 2 * PODS)
def test_at_95_percent_each_race_is_noticed_and_reported(cluster: Cluster, tmp_path: Path) -> None:
    """Both fill nodes that have room for all, but for hardly more; what goes wrong is told, not hidden."""
    nodes = math.ceil(2 * PODS / PODS_A_NODE / 0.95)
    cluster.add_nodes(nodes)
    room = nodes * PODS_A_NODE
    with running_scheduler(cluster.control_plane, tmp_path / "koordpy.log") as koordpy:
        waiting = [cluster.create_pods("ours", PODS, OURS), cluster.create_pods("theirs", PODS, THEIRS)]
        for created in waiting:
            created()
        filled = len(cluster.settle())
        won, lost = _steal(cluster, PODS // 4)
        more = max(4, (room - filled) * 3 // 4)
        waiting = [cluster.create_pods("ours-last", more, OURS), cluster.create_pods("theirs-last", more, THEIRS)]
        for created in waiting:
            created()
        found = cluster.settle()
        _nothing_went_wrong(cluster, koordpy, found)
        over, noticed = cluster.over(found), _lines(koordpy, "node over-committed")
        audited = _fsck(cluster)
    print(f"\n{filled} pods on {nodes} nodes with room for {room}: {filled / room:.0%}; then {more} more of each")
    print(f"  races for a node's last room, which the API server lets both win: {len(over)} nodes over-committed")
    for node, milli in sorted(over.items()):
        who = Counter(each["spec"]["schedulerName"] for each in found if each["spec"].get("nodeName") == node)
        print(f"    {node}: {milli}m CPU too much, {who[OURS]} pods of koordpy, {who[THEIRS]} of kube-scheduler")
    print("  noticed when the other one's pod was seen, and logged:")
    for line in noticed:
        print(f"    {line}")
    named = sum(any(node in line for line in audited) for node in over)
    print(f"  koordpy fsck names {named} of them; a kubelet would refuse the pod that came last")
    refusals = [each["note"] for each in cluster.events() if each["reason"] == "FailedScheduling"]
    for note, times in Counter(re.sub(r"\d+", "N", each) for each in refusals).most_common(5):
        print(f"  FailedScheduling {times} times: {note}")
    given_up = _lines(koordpy, "bound by somebody else")
    print(
        f"  {won + lost} races for a pod with a third scheduler, {won} won by it: {len(given_up)} of these noticed by"
    )
    print("  a 409, settled by a read, given up without an Event or a second try, and logged; the others by the watch:")
    for line in given_up[:20]:
        print(f"    {line}")
    assert all(any(node in line for line in noticed) and any(node in line for line in audited) for node in over)
    told = [each for each in cluster.events() if each["regarding"]["name"].startswith("taken-")]
    assert not [each for each in told if each["reason"] != "Scheduled"]


def _steal(cluster: Cluster, number: int) -> tuple[int, int]:
    """A third scheduler binds pods of ours at nearly the moment at which we do: how many it won, and lost."""
    pods_path = f"/api/v1/namespaces/{cluster.namespace}/pods"
    cluster.control_plane.create(node_manifest(cluster.thief, cpu="1000", pods=1000, unschedulable=True))
    target = {"apiVersion": "v1", "kind": "Node", "name": cluster.thief}
    rng, won, thief = random.Random(7), 0, _Thief(cluster.control_plane)
    for index in range(number):
        name = f"taken-{index:04}"
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
        assert thief.post(pods_path, cluster.pod(name, OURS)) == 201
        threading.Event().wait(rng.uniform(0, 0.004))
        status = thief.post(f"{pods_path}/{name}/binding", binding)
        won += status == 201
        if status == 409:
            cluster.control_plane.request("DELETE", f"{pods_path}/{name}")
    thief.close()
    return won, number - won


class _Thief:
    """One connection that stays open: a new one for each request would always come too late."""

    def __init__(self, control_plane: ControlPlane) -> None:
        url = urllib.parse.urlsplit(control_plane.url)
        tls = ssl.create_default_context(cafile=str(control_plane.ca_file))
        self._connection = http.client.HTTPSConnection(url.hostname or "", url.port, context=tls)
        self._headers = {"Authorization": f"Bearer {control_plane.admin_token}", "Content-Type": "application/json"}

    def post(self, path: str, body: Document) -> int:
        self._connection.request("POST", path, json.dumps(body), self._headers)
        answer = self._connection.getresponse()
        answer.read()
        return answer.status

    def close(self) -> None:
        self._connection.close()


def _nothing_went_wrong(cluster: Cluster, koordpy: SchedulerProcess, found: list[Document]) -> None:
    """No error in the log, the books right, and of foreign pods nothing but what their own scheduler wrote."""
    log = koordpy.log.read_text()
    assert not re.findall(r"^.*\bERROR\b.*$|Traceback", log, re.MULTILINE)
    wait_until("the books to be right", lambda: koordpy.get("/debug/check")[0] == 200)
    assert not [line for line in log.splitlines() if "theirs-" in line and "node over-committed" not in line]
    foreign = {each["metadata"]["uid"] for each in found if each["spec"]["schedulerName"] == THEIRS}
    authors = {each["reportingController"] for each in cluster.events() if each["regarding"].get("uid") in foreign}
    assert authors <= {THEIRS}
    for each in found:
        fields = {one["manager"] for one in each["metadata"].get("managedFields", [])}
        if each["metadata"]["uid"] in foreign:
            assert not any("koordpy" in manager for manager in fields)


def _who_is_where(found: list[Document]) -> Mapping[str, set[str]]:
    where: defaultdict[str, set[str]] = defaultdict(set)
    for each in found:
        if node := each["spec"].get("nodeName"):
            where[node].add(each["spec"]["schedulerName"])
    return where


def _lines(koordpy: SchedulerProcess, words: str) -> list[str]:
    return [line.strip() for line in koordpy.log.read_text().splitlines() if words in line]


def _fsck(cluster: Cluster) -> list[str]:
    command = [sys.executable, "-m", "koordpy", "fsck", "--kubeconfig", str(cluster.control_plane.kubeconfig())]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return [line for line in done.stdout.splitlines() if cluster.namespace in line]
