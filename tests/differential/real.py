"""`make diff-kube-scheduler-real`: the kube-scheduler binary places Pods on a real API server; would koordpy agree?

Each cluster is made, asked about and removed again. koordpy reads the objects as the server gave them back; its best
nodes must contain the one that was chosen, and where none was, its message must be the one in the Pod's condition.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

import yaml

from koordpy.testing import read_object
from koordpy_api.objects import Node, Pod
from tests.controlplane.server import ControlPlane
from tests.controlplane.supervisor import wait_until
from tests.differential.clusters import CASES_PER_PROFILE, PLUGINS, case_of
from tests.differential.comparing import text_of
from tests.differential.oracle import config_of, profile_of
from tests.differential.ours import Koordpy
from tests.options import whole
from tests.parity.frame import Case
from tests.parity.readers.short_form import manifest_of_pod, node_manifests_of, pod_manifests_of

Manifest = dict[str, Any]

CLUSTERS_PER_PROFILE: Final = 4
AT_ONCE: Final = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}
PODS: Final = "/api/v1/namespaces/default/pods"
NODES: Final = "/api/v1/nodes"
NOWHERE: Final = {"never.example.test/there": "true"}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="make diff-kube-scheduler-real", description=__doc__)
    parser.add_argument("--clusters", type=whole(1), default=100, help="how many (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="which ones (%(default)s)")
    options = parser.parse_args(arguments)
    started = time.monotonic()
    numbers = [at * CASES_PER_PROFILE // CLUSTERS_PER_PROFILE for at in range(options.clusters)]
    cases = [case_of(options.seed, number, valid=True) for number in numbers]
    with ControlPlane() as control_plane:
        wrong, placed = compare(control_plane, cases)
    print(
        f"{len(cases)} clusters on a real API server: kube-scheduler placed the Pod in {placed} and refused it in "
        f"{len(cases) - placed}; koordpy disagrees in {wrong}; {time.monotonic() - started:.0f} s, seed {options.seed}"
    )
    return 1 if wrong else 0


def compare(control_plane: ControlPlane, cases: Sequence[Case]) -> tuple[int, int]:
    """Returns: in how many clusters koordpy disagrees, and in how many the Pod was placed."""
    koordpy, names = Koordpy(), dict[str, str]()
    for case in cases:
        names.setdefault(repr(case["args"]), f"profile-{len(names)}")
    profiles = {
        names[repr(case["args"])]: profile_of(names[repr(case["args"])], PLUGINS, case["args"]) for case in cases
    }
    _start(control_plane, list(profiles.values()))
    wrong = placed = 0
    for number, case in enumerate(cases):
        cluster = _Cluster(control_plane, names[repr(case["args"])], number, case)
        node, message = cluster.outcome()
        told = koordpy.answers_on(case, *cluster.read())
        cluster.remove()
        best, ours = told["columns"]["best"], told["cycle"]["message"]
        placed += bool(node)
        if (node not in best) if node else (ours != message):
            wrong += 1
            print(f"case {case['id']}: kube-scheduler {node or message!r}, koordpy {best or ours!r}")
            print(
                text_of({"id": case["id"], "kind": "schedule", **case, "expect": {"chosen": node, "message": message}})
            )
    return wrong, placed


def _start(control_plane: ControlPlane, profiles: Sequence[Mapping[str, Any]]) -> None:
    config = config_of(profiles) | {
        "clientConnection": {"kubeconfig": str(control_plane.kubeconfig()), "qps": 5000, "burst": 5000},
        "leaderElection": {"leaderElect": False},
    }
    path = control_plane.folder / "kube-scheduler.yaml"
    path.write_text(yaml.safe_dump(config))
    control_plane.start_scheduler(path, control_plane.folder / "kube-scheduler.log")


class _Cluster:
    """One case on the API server. What it makes there it keeps as the server answered."""

    def __init__(self, control_plane: ControlPlane, profile: str, number: int, case: Case) -> None:
        self._server = control_plane
        self._profile = profile
        self._prefix = f"c{number}"
        self._nodes = [control_plane.create(manifest) for manifest in node_manifests_of(case)]
        self._pods = [self._create(manifest) for manifest in pod_manifests_of(case)]
        self._wait_until_seen()
        self._pod = self._create(manifest_of_pod(case))

    def outcome(self) -> tuple[str, str]:
        """The node that kube-scheduler bound the Pod to, and what its condition says if it did not."""
        return self._outcome_of(self._pod["metadata"]["name"])

    def read(self) -> tuple[list[Node], list[Pod], Pod]:
        """As koordpy would read them."""
        nodes = [read_object(Node, manifest) for manifest in self._nodes]
        return nodes, [read_object(Pod, manifest) for manifest in self._pods], read_object(Pod, self._pod)

    def remove(self) -> None:
        for collection in (PODS, NODES):
            status, answer = self._server.request("DELETE", collection, AT_ONCE)
            assert status == 200, answer

    def _create(self, manifest: Manifest) -> Manifest:
        manifest["metadata"]["name"] = f"{self._prefix}-{manifest['metadata']['name']}"
        manifest["spec"]["schedulerName"] = self._profile
        for container in _containers(manifest):
            _limit_huge_pages(container)
        return self._server.create(manifest)

    def _wait_until_seen(self) -> None:
        """A Pod that fits nowhere is refused by all nodes that kube-scheduler knows, and comes after the other Pods."""
        name = f"{self._prefix}-scout"
        scout = {"name": "main", "image": "registry.example.test/scout"}
        spec = {"schedulerName": self._profile, "nodeSelector": NOWHERE, "containers": [scout]}

        def sees_all() -> bool:
            self._server.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})
            _, message = self._outcome_of(name)
            status, answer = self._server.request("DELETE", f"{PODS}/{name}", AT_ONCE)
            assert status == 200, answer
            return message.startswith(f"0/{len(self._nodes)} nodes")

        wait_until("kube-scheduler to see the nodes", sees_all)

    def _outcome_of(self, name: str) -> tuple[str, str]:
        told: list[tuple[str, str]] = []
        wait_until(f"an answer about {name}", partial(self._is_told, name, told))
        return told[0]

    def _is_told(self, name: str, told: list[tuple[str, str]]) -> bool:
        _, pod = self._server.request("GET", f"{PODS}/{name}")
        if node := pod["spec"].get("nodeName", ""):
            told.append((node, ""))
        told += [("", each["message"]) for each in pod["status"].get("conditions", []) if each["status"] == "False"]
        return bool(told)


def _containers(manifest: Manifest) -> Iterator[Manifest]:
    yield from manifest["spec"]["containers"]
    yield from manifest["spec"].get("initContainers", ())


def _limit_huge_pages(container: Manifest) -> None:
    """An API server wants them limited, as extended resources are."""
    resources = container.get("resources", {})
    if pages := {name: it for name, it in resources.get("requests", {}).items() if name.startswith("hugepages-")}:
        resources["limits"] = {**resources.get("limits", {}), **pages}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
