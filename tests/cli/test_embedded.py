"""koordpy scheduler --embedded: a folder of manifests instead of a cluster, served to kubectl, ended by SIGTERM."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from koordpy.cli.embedded import fill
from koordpy.clock import SystemClock
from koordpy.scenario.embedded import EmbeddedWorld
from tests.cli.test_commands import refused
from tests.cli.test_demo import DEMO

NODE = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "8", memory: 32Gi, pods: "110"}}
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: team-a}
spec:
  schedulerName: koordpy-scheduler
  containers: [{name: main, image: registry.example.test/p}]
"""
TELEMETRY = ("--bind-address", "127.0.0.1", "--port", "0")
ENDS_WITHIN_S = 30


@contextmanager
def running(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process, and where it is served; ended by SIGTERM when the block ends, if it did not end itself."""
    words = ("scheduler", "--embedded", str(folder), "--serve", "0", "--seed", "1", *TELEMETRY)
    environment = {name: text for name, text in os.environ.items() if not name.startswith(("KUBE", "KOORDPY"))}
    with subprocess.Popen(
        [sys.executable, "-m", "koordpy", *words], stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            yield process, _server(process)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            process.communicate(timeout=ENDS_WITHIN_S)


def _server(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if match := re.search(r"kubectl --server (http://127\.0\.0\.1:\d+) get pods -A$", line):
            return match[1]
    pytest.fail("".join(said))


def bound(server: str, path: str, pods: int) -> dict[str, str]:
    """Pod → node of so many Pods, as soon as a watch has shown them bound."""
    nodes: dict[str, str] = {}
    with urllib.request.urlopen(f"{server}{path}?watch=true&timeoutSeconds=25", timeout=ENDS_WITHIN_S) as stream:
        for line in stream:
            pod: dict[str, Any] = json.loads(line)["object"]
            if pod["kind"] == "Pod" and pod["spec"].get("nodeName"):
                nodes[pod["metadata"]["name"]] = pod["spec"]["nodeName"]
            if len(nodes) >= pods:
                return nodes
    pytest.fail(f"only {nodes} are bound")


def test_the_demos_folder_is_scheduled_and_served_and_sigterm_ends_it_well() -> None:
    with running(DEMO) as (process, server):
        nodes = bound(server, "/api/v1/namespaces/default/pods", pods=20)
        assert "resnet-0" in nodes
        assert "pretrain-new" not in nodes
        process.send_signal(signal.SIGTERM)
        assert process.wait(ENDS_WITHIN_S) == 0


def test_a_namespace_that_a_manifest_names_is_made(tmp_path: Path) -> None:
    (tmp_path / "all.yaml").write_text(f"{NODE}---{POD}", encoding="utf-8")
    with running(tmp_path) as (_, server):
        assert bound(server, "/api/v1/namespaces/team-a/pods", pods=1) == {"p": "n1"}


def test_lists_and_json_are_read_and_a_scenario_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "scenario.yaml").write_text("title: not read here\n", encoding="utf-8")
    pod = {
        "metadata": {"name": "p"},
        "spec": {"schedulerName": "koordpy-scheduler", "containers": [{"name": "main", "image": "p"}]},
    }
    node = {"metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"}}}
    nodes = {"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Node", **node}]}
    (tmp_path / "nodes.json").write_text(json.dumps(nodes), encoding="utf-8")
    (tmp_path / "pods.json").write_text(json.dumps({"apiVersion": "v1", "kind": "PodList", "items": [pod]}))
    with running(tmp_path) as (_, server):
        assert bound(server, "/api/v1/namespaces/default/pods", pods=1) == {"p": "n1"}


def test_every_bad_object_is_told_with_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(f"{NODE}---{POD.replace('containers', 'container')}", encoding="utf-8")
    (tmp_path / "b.yml").write_text("kind: Pod\nmetadata: [1\n", encoding="utf-8")
    told = refused("scheduler", "--embedded", str(tmp_path), *TELEMETRY)
    assert re.search(r"a\.yaml:12: Pod team-a/p: spec\.container: .*is containers meant", told)
    assert re.search(r"b\.yml:\d: no YAML", told)


def test_what_the_cluster_refuses_is_told_together_too(tmp_path: Path) -> None:
    for name in ("One", "Two"):
        (tmp_path / f"{name.lower()}.yaml").write_text(NODE.replace("n1", f"Not_{name}"), encoding="utf-8")
    (tmp_path / "service.yaml").write_text("apiVersion: v1\nkind: Service\nmetadata: {name: s}\n", encoding="utf-8")
    told = refused("scheduler", "--embedded", str(tmp_path), *TELEMETRY)
    assert re.search(r"one\.yaml:2: Node Not_One: the cluster refuses it: ", told)
    assert re.search(r"two\.yaml:2: Node Not_Two: the cluster refuses it: ", told)
    assert re.search(r"service\.yaml:1: Service s: the cluster refuses it: .*there are Device, Event, ", told)


def test_one_object_in_two_files_is_told_with_both_places(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(NODE, encoding="utf-8")
    (tmp_path / "b.yaml").write_text(f"{POD}---{NODE.replace('110', '10')}", encoding="utf-8")
    told = refused("scheduler", "--embedded", str(tmp_path), *TELEMETRY).splitlines()[-1]
    assert told == "koordpy: b.yaml:9: Node n1: it stands in a.yaml:2 too, and differently; " + (
        "take one of them out, or rename it"
    )


def test_what_is_no_file_of_manifests_is_left_out_and_the_same_counts_once(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text(NODE, encoding="utf-8")
    (tmp_path / "sub.yaml").mkdir()
    (tmp_path / ".#a.yaml").symlink_to("nothing")
    os.mkfifo(tmp_path / "p.yaml")
    world = EmbeddedWorld(SystemClock())
    assert asyncio.run(fill(world, tmp_path)) == {"Node": 1}


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    told = refused("scheduler", "--embedded", str(tmp_path / "none"), *TELEMETRY).splitlines()[-1]
    assert told == f"koordpy: command line: --embedded is '{tmp_path / 'none'}': no such folder; it holds manifests"


def test_a_port_for_kubectl_that_is_taken_is_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        told = refused("scheduler", "--embedded", str(tmp_path), "--serve", port, *TELEMETRY).splitlines()[-1]
    assert told.startswith(f"koordpy: command line: --serve is '{port}': nobody can listen there: ")


def test_a_kubeconfig_beside_it_is_refused() -> None:
    told = refused("scheduler", "--embedded", str(DEMO), "--kubeconfig", "kube.conf")
    assert "two clusters; either --kubeconfig, for a real one, or --embedded, for one in this process" in told
