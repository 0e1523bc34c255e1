"""The control plane of the tests: what it serves, who may do what, and that nothing of it is left behind."""

from __future__ import annotations

import json
import os
import signal
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from .build import BINARIES
from .fixtures import SCHEDULER
from .server import ControlPlane, ControlPlaneError
from .supervisor import wait_until

HERE: Final = Path(__file__).resolve().parent
DEVICES: Final = "/apis/scheduling.koordinator.sh/v1alpha1/devices"

FAKE_GO: Final = """#!/bin/sh
if [ "$1" = env ]; then echo go1.99.0; exit 0; fi
echo build >> "$FAKE_GO_LOG"
if [ -n "$FAKE_GO_FAILS" ]; then echo "no space left on device" >&2; exit 1; fi
while [ $# -gt 0 ]; do
  case "$1" in
    -o) output="$2"; shift;;
    */cmd/*) programs="$programs $output${1##*/}";;
    go.etcd.io/*|./*) programs="$output";;
  esac
  shift
done
for program in $programs; do printf '#!/bin/sh\\n' > "$program"; chmod +x "$program"; done
if [ -n "$FAKE_GO_HANGS" ]; then echo hanging; exec sleep 600; fi
"""

OWNER: Final = """
import json, sys
sys.path.insert(0, sys.argv[1])
from {package}.server import ControlPlane
control_plane = ControlPlane()
control_plane.start()
sleeper = control_plane.start_process(["sleep", "600"], control_plane.folder / "sleeper.log")
print(json.dumps({{"pids": [*control_plane.pids().values(), sleeper.pid], "folder": str(control_plane.folder)}}))
sys.stdout.flush()
sys.stdin.read()
"""


def is_running(pid: int) -> bool:
    """Whether this process runs; a zombie, which only its parent can remove, does not."""
    try:
        os.kill(pid, 0)
        return not sys.platform.startswith("linux") or ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except (ProcessLookupError, FileNotFoundError):
        return False


def node(name: str) -> dict[str, Any]:
    """A ready Node with room for pods."""
    room = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    status = {"allocatable": room, "capacity": room, "conditions": [{"type": "Ready", "status": "True"}]}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


def pod(namespace: str, name: str, **spec: object) -> dict[str, Any]:
    """A Pod of one container that is never run."""
    header = {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": namespace, "name": name}}
    return {**header, "spec": {"containers": [{"name": "main", "image": "example/main:1"}], **spec}}


def device(name: str, **entry: object) -> dict[str, Any]:
    """A Device of one healthy card, or of what the entry says."""
    card = {"type": "gpu", "minor": 0, "health": True, **entry}
    header = {"apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "Device", "metadata": {"name": name}}
    return {**header, "spec": {"devices": [card]}}


def test_it_serves_with_a_certificate_that_verifies_for_its_url(control_plane: ControlPlane) -> None:
    context = ssl.create_default_context(cafile=control_plane.ca_file)
    with urllib.request.urlopen(f"{control_plane.url}/readyz", context=context) as answer:
        assert answer.read() == b"ok"


def test_a_client_that_does_not_know_its_certificate_refuses_it(control_plane: ControlPlane) -> None:
    with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
        urllib.request.urlopen(f"{control_plane.url}/readyz", context=ssl.create_default_context())


def test_an_unknown_token_is_refused_with_401(control_plane: ControlPlane) -> None:
    context = ssl.create_default_context(cafile=control_plane.ca_file)
    asked = urllib.request.Request(f"{control_plane.url}/api/v1/nodes", headers={"Authorization": "Bearer guess"})
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(asked, context=context)
    with refused.value:  # it is the answer, and keeps its connection open
        assert refused.value.code == 401


def test_the_scheduler_may_bind_report_and_read(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.create(node(f"{namespace}-a"))
    control_plane.create(pod(namespace, "one", schedulerName="koordpy"))
    pods = f"/api/v1/namespaces/{namespace}/pods"
    patch = "application/strategic-merge-patch+json"
    body: dict[str, Any] = {"status": {"conditions": [{"type": "PodScheduled", "status": "False"}]}}
    status, answer = control_plane.request("PATCH", f"{pods}/one/status", body, patch, SCHEDULER)
    assert status == 200, answer
    metadata = {"name": "one", "annotations": {"scheduling.koordinator.sh/device-allocated": "{}"}}
    body = {"metadata": metadata, "target": {"kind": "Node", "name": f"{namespace}-a"}}
    status, answer = control_plane.request("POST", f"{pods}/one/binding", body, user=SCHEDULER)
    assert status == 201, answer
    _, bound = control_plane.request("GET", f"{pods}/one", user=SCHEDULER)
    assert bound["spec"]["nodeName"] == f"{namespace}-a"
    assert bound["metadata"]["annotations"] == metadata["annotations"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        pytest.param("DELETE", "/api/v1/nodes/any", id="it may not delete a node"),
        pytest.param("DELETE", "/api/v1/namespaces/default/pods/any", id="it may not delete a pod"),
        pytest.param("POST", "/api/v1/namespaces/default/pods", id="it may not create a pod"),
        pytest.param("PATCH", "/api/v1/namespaces/default/pods/any", id="it may not patch a pod"),
        pytest.param("PATCH", f"{DEVICES}/any", id="it may not write a Device"),
        pytest.param("GET", "/api/v1/secrets", id="it may not read secrets"),
        pytest.param("POST", "/apis/coordination.k8s.io/v1/namespaces/default/leases", id="it may not take a lease"),
    ],
)
def test_the_scheduler_is_refused_with_403(control_plane: ControlPlane, method: str, path: str) -> None:
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    assert control_plane.request(method, path, {} if method != "GET" else None, kind, SCHEDULER)[0] == 403


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param({"resources": {"gpu-core": 100, "gpu-memory": "16Gi"}}, id="integers and suffixes are quantities"),
        pytest.param(
            {"type": "rdma", "id": "0000:05:00.0", "vfGroups": [{"vfs": [{"minor": 0}]}]}, id="a NIC with VFs"
        ),
        pytest.param({"topology": {"socketID": -1, "nodeID": -1, "pcieID": ""}}, id="an unknown place"),
    ],
)
def test_a_device_is_stored_as_it_was_written(
    control_plane: ControlPlane, namespace: str, entry: Mapping[str, object]
) -> None:
    written = device(f"{namespace}-a", **entry)
    assert control_plane.create(written)["spec"] == written["spec"]


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param({"resources": {"koordinator.sh/gpu-memory": "much"}}, id="no quantity"),
        pytest.param({"topology": {"busID": "0000:01:00.0"}}, id="a place without NUMA node, socket and switch"),
        pytest.param({"conditions": [{"type": "Healthy", "status": "True"}]}, id="a condition without a reason"),
    ],
)
def test_a_device_that_koordinator_would_refuse_is_refused(
    control_plane: ControlPlane, namespace: str, entry: Mapping[str, object]
) -> None:
    with pytest.raises(ControlPlaneError, match="422"):
        control_plane.create(device(f"{namespace}-a", **entry))


def test_kube_scheduler_binds_a_pod_of_its_own_profile(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(control_plane.kubeconfig())},
        "leaderElection": {"leaderElect": False},
        "profiles": [{"schedulerName": namespace}],
    }
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
    control_plane.create(node(f"{namespace}-a"))
    control_plane.create(pod(namespace, "one", schedulerName=namespace))
    scheduler = control_plane.start_scheduler(tmp_path / "config.yaml", tmp_path / "scheduler.log")

    asked = partial(control_plane.request, "GET", f"/api/v1/namespaces/{namespace}/pods/one")
    wait_until("a binding", lambda: "nodeName" in asked()[1]["spec"], scheduler.poll, tmp_path / "scheduler.log")
    scheduler.kill()
    assert scheduler.wait() == -signal.SIGKILL


@pytest.mark.usefixtures("control_plane_assets")
def test_nothing_is_left_after_stop_which_may_come_twice() -> None:
    control_plane = ControlPlane(benchmark=True)
    control_plane.start()
    sleeper = control_plane.start_process(["sleep", "600"], control_plane.folder / "sleeper.log")
    pids, folder = [*control_plane.pids().values(), sleeper.pid], control_plane.folder
    assert folder.is_dir() and all(map(is_running, pids))
    control_plane.stop()
    control_plane.stop()
    assert not folder.exists() and not any(map(is_running, pids))


@pytest.mark.usefixtures("control_plane_assets")
def test_nothing_is_left_when_the_owner_is_killed() -> None:
    package = __package__ or ""
    script, root = OWNER.format(package=package), HERE.parents[package.count(".")]
    command = [sys.executable, "-c", script, str(root)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        told = json.loads(owner.stdout.readline())
        assert Path(told["folder"]).is_dir() and all(map(is_running, told["pids"]))
        owner.kill()
        wait_until("the folder to be gone", lambda: not Path(told["folder"]).exists())
        assert not any(map(is_running, told["pids"]))


@pytest.fixture
def build_environ(tmp_path: Path) -> dict[str, str]:
    """An environment with an empty cache and a Go that writes scripts instead of compiling."""
    go = tmp_path / "bin" / "go"
    go.parent.mkdir()
    go.write_text(FAKE_GO)
    go.chmod(0o755)
    kept = {key: value for key, value in os.environ.items() if key != "KUBEBUILDER_ASSETS"}
    path = f"{go.parent}{os.pathsep}{os.environ['PATH']}"
    return {**kept, "PATH": path, "XDG_CACHE_HOME": f"{tmp_path}/cache", "FAKE_GO_LOG": f"{tmp_path}/go.log"}


def start_build(environ: Mapping[str, str], *arguments: str) -> subprocess.Popen[str]:
    """Start build.py as `make controlplane` does."""
    command = [sys.executable, str(HERE / "build.py"), *arguments]
    pipe = subprocess.PIPE  # a group of its own, so that a test can kill its Go as well
    return subprocess.Popen(command, env=environ, stdout=pipe, stderr=pipe, text=True, start_new_session=True)


def run_build(environ: Mapping[str, str], *arguments: str) -> tuple[int, str, str]:
    """Run build.py; *returns* its exit status and what it printed and complained of."""
    with start_build(environ, *arguments) as process:
        printed, complaint = process.communicate()
    return process.returncode, printed, complaint


def built(environ: Mapping[str, str]) -> Iterator[Path]:
    """Every folder in the cache."""
    return Path(environ["XDG_CACHE_HOME"]).glob("koordpy/controlplane/*")


def test_a_build_is_made_once_and_its_path_is_printed(build_environ: dict[str, str]) -> None:
    assert run_build(build_environ)[0] == 0
    status, printed, _ = run_build(build_environ)
    assert status == 0 and "there already" in printed
    assert Path(build_environ["FAKE_GO_LOG"]).read_text().count("build") == 2  # etcd, and the three of Kubernetes
    (folder,) = built(build_environ)
    assert run_build(build_environ, "--print-path") == (0, f"{folder}\n", "")
    assert {each.name for each in folder.iterdir()} == set(BINARIES)


def test_the_oracle_is_built_by_itself_once_and_only_when_it_is_asked_for(build_environ: dict[str, str]) -> None:
    status, printed, complaint = run_build(build_environ, "--oracle", "--print-path")
    assert (status, printed) == (1, "") and "run make oracle" in complaint
    assert run_build(build_environ, "--oracle")[0] == 0
    status, printed, _ = run_build(build_environ, "--oracle")
    assert status == 0 and "there already" in printed
    assert Path(build_environ["FAKE_GO_LOG"]).read_text().count("build") == 1
    (folder,) = built(build_environ)
    assert run_build(build_environ, "--oracle", "--print-path") == (0, f"{folder / 'oracle'}\n", "")


def test_a_build_that_was_killed_is_not_taken_for_good_and_is_swept(build_environ: dict[str, str]) -> None:
    with start_build({**build_environ, "FAKE_GO_HANGS": "1"}) as process:
        assert process.stdout is not None
        while "hanging" not in process.stdout.readline():
            pass
        os.killpg(process.pid, signal.SIGKILL)
    (left,) = built(build_environ)
    status, printed, complaint = run_build(build_environ, "--print-path")
    assert (left / "etcd").exists() and (status, printed) == (1, "") and "run make controlplane" in complaint
    assert run_build(build_environ)[0] == 0
    assert not left.exists() and len(list(built(build_environ))) == 1


def test_a_build_that_fails_says_so_and_leaves_nothing(build_environ: dict[str, str]) -> None:
    status, _, complaint = run_build({**build_environ, "FAKE_GO_FAILS": "1"})
    assert status == 1 and "no space left" in complaint and "go build ended with 1" in complaint
    assert list(built(build_environ)) == []


def test_two_builds_at_once_make_one(build_environ: dict[str, str]) -> None:
    with start_build(build_environ) as first, start_build(build_environ) as second:
        outcomes = [first.communicate(), second.communicate()]
    assert (first.returncode, second.returncode) == (0, 0), outcomes
    assert Path(build_environ["FAKE_GO_LOG"]).read_text().count("build") == 2
    assert len(list(built(build_environ))) == 1


def test_kubebuilder_assets_win(build_environ: dict[str, str], tmp_path: Path) -> None:
    for name in ("etcd", "kube-apiserver"):
        (tmp_path / "bin" / name).touch(mode=0o755)
    environ = {**build_environ, "KUBEBUILDER_ASSETS": str(tmp_path / "bin")}
    assert run_build(environ)[0] == 0
    assert run_build(environ, "--print-path")[1] == f"{tmp_path / 'bin'}\n"
    assert list(built(build_environ)) == []


def test_kubebuilder_assets_without_a_server_are_refused_by_name(build_environ: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "bin" / "etcd").touch(mode=0o755)
    status, _, complaint = run_build({**build_environ, "KUBEBUILDER_ASSETS": str(tmp_path / "bin")})
    assert status == 1 and "no executable kube-apiserver" in complaint and "etcd and" not in complaint
