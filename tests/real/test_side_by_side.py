"""koordpy and kube-scheduler on one cluster, refusing equal Pods: what both write, printed side by side and compared.

kube-scheduler's own sentence on preemption is left out, since koordpy does not preempt yet.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from koordpy.testing import node_manifest, pod_manifest
from tests.controlplane.fixtures import REPOSITORY, SCHEDULER, SCHEDULER_GROUPS
from tests.controlplane.server import ControlPlane
from tests.controlplane.supervisor import wait_until
from tests.real.cluster_state import Document, condition, events, pod
from tests.real.scheduler_process import running_scheduler

OURS: Final = "koordpy-scheduler"
THEIRS: Final = "kube-side"
PREEMPTION: Final = re.compile(r" (?:no new claims to deallocate, )?preemption: .*$")

NODES: Final = (
    node_manifest("full", cpu=1, memory="1Gi"),
    node_manifest("cordoned", cpu=64, unschedulable=True),
    node_manifest("tainted", cpu=64, taints=[{"key": "team", "value": "a", "effect": "NoSchedule"}]),
    node_manifest("no-pods", cpu=64, pods=0),
    *(node_manifest(f"small-{number:02}", cpu=2, memory="4Gi") for number in range(10)),
)
REFUSED: Final[Mapping[str, Mapping[str, Any]]] = {
    "cpu": {"cpu": 32},
    "memory": {"memory": "16Gi"},
    "both": {"cpu": 32, "memory": "40Gi"},
    "unknown": {"example.com/widget": 1},
    "many": {"cpu": 128, "memory": "900Gi", "ephemeral-storage": "1Ti", "example.com/widget": 2},
}
"""Name → what the Pod asks for."""


@pytest.fixture(scope="module")
def alone(control_plane_assets: Path) -> Iterator[ControlPlane]:
    """A control plane of its own: how many nodes there are is part of every refusal."""
    with ControlPlane(users=[(SCHEDULER, SCHEDULER_GROUPS)]) as running:
        for file in ("crds/device.yaml", "rbac.yaml"):
            running.apply_file(REPOSITORY / "deploy" / file)
        wait_until("the scheduler's rights", lambda: running.request("GET", "/api/v1/nodes", user=SCHEDULER)[0] == 200)
        yield running


def create_both(control_plane: ControlPlane, name: str, requests: Mapping[str, Any], **meta: Any) -> None:
    for scheduler in (OURS, THEIRS):
        manifest = pod_manifest(f"{name}-{scheduler}", requests=requests, scheduler_name=scheduler)
        manifest["metadata"] |= meta
        control_plane.create(manifest)


def start_theirs(control_plane: ControlPlane, folder: Path) -> None:
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(control_plane.kubeconfig())},
        "leaderElection": {"leaderElect": False},
        "profiles": [{"schedulerName": THEIRS}],
    }
    (folder / "theirs.yaml").write_text(yaml.safe_dump(config))
    control_plane.start_scheduler(folder / "theirs.yaml", folder / "theirs.log")


def written(control_plane: ControlPlane, name: str, scheduler: str) -> Document:
    """What one scheduler wrote about its Pod of that name, without what must differ: names and times.

    An Event that is there twice counts once: theirs begins a new series when the Pod's resourceVersion has changed.
    """
    full = f"{name}-{scheduler}"

    def plain(text: str) -> str:
        return re.sub(r"^(Successfully assigned .* to) .*", r"\1 NODE", PREEMPTION.sub("", text).replace(full, name))

    document = pod(control_plane, "default", full)
    said = condition(document)
    told = [
        {
            "type": each["type"],
            "reason": each["reason"],
            "action": each["action"],
            "note": plain(each["note"]),
            "reporter": each["reportingController"].replace(scheduler, "S"),
            "instance": re.sub(r"^S-.+", "S-HOST", each["reportingInstance"].replace(scheduler, "S")),
            "regarding": sorted(each["regarding"]),
            "fields": sorted(set(each) - {"series"}),
        }
        for each in events(control_plane, "default", full)
    ]
    kept = {key: plain(str(value)) for key, value in said.items() if key not in ("lastTransitionTime", "lastProbeTime")}
    distinct = {(event["reason"], event["note"]): event for event in told}
    return {"condition": kept, "keys": sorted(said), "events": [event for _, event in sorted(distinct.items())]}


def wait_told(control_plane: ControlPlane, name: str, reason: str) -> None:
    def is_told() -> bool:
        return all(
            reason in {each["reason"] for each in events(control_plane, "default", f"{name}-{scheduler}")}
            for scheduler in (OURS, THEIRS)
        )

    wait_until(f"{reason} of {name}", is_told)


def compare(control_plane: ControlPlane, name: str, reason: str) -> Document:
    """Print both and compare them. Returns: ours."""
    wait_told(control_plane, name, reason)
    ours, theirs = (written(control_plane, name, scheduler) for scheduler in (OURS, THEIRS))
    print(f"\n{name}")
    for who, found in ((OURS, ours), ("kube-scheduler", theirs)):
        said = found["condition"]
        print(f"  {who:18} {said.get('reason', ''):14} {said.get('message', '')}")
        for each in found["events"]:
            print(f"  {'':18} {each['type']} {each['reason']} {each['action']}: {each['note']}")
    assert ours == theirs
    return ours


def test_equal_refusals_are_written_equally(alone: ControlPlane, tmp_path: Path) -> None:
    create_both(alone, "early", {"cpu": "100m"})
    create_both(alone, "doomed", {"cpu": "100m"}, finalizers=["example.com/kept"])
    for scheduler in (OURS, THEIRS):
        alone.request("DELETE", f"/api/v1/namespaces/default/pods/doomed-{scheduler}")
    start_theirs(alone, tmp_path)
    with running_scheduler(alone, tmp_path / "ours.log", ["--log-format", "json"]) as running:
        none = compare(alone, "early", "FailedScheduling")
        assert none["condition"]["message"] == "no nodes available to schedule pods"
        doomed = compare(alone, "doomed", "FailedScheduling")
        assert [each["note"] for each in doomed["events"]] == ["skip schedule deleting pod: default/doomed"]
        for node in NODES:
            alone.create(node)
        assert compare(alone, "early", "Scheduled")["condition"] == {"type": "PodScheduled", "status": "True"}
        for name, requests in REFUSED.items():
            create_both(alone, name, requests)
        texts = [compare(alone, name, "FailedScheduling")["condition"]["message"] for name in REFUSED]
        assert texts[0] == (
            "0/14 nodes are available: 1 Too many pods, 1 node(s) had untolerated taint(s), "
            "1 node(s) were unschedulable, 11 Insufficient cpu."
        )
        assert len(set(texts)) == len(REFUSED)
        _, metrics = running.get("/metrics")
        assert 'scheduler_plugin_evaluation_total{extension_point="Filter",plugin="NodeResourcesFit"' in metrics
    lines = [json.loads(line) for line in (tmp_path / "ours.log").read_text().splitlines()]
    refused = next(line for line in lines if line.get("pod") == f"default/cpu-{OURS}")
    assert (refused["message"], refused["attempt"], refused["why"]) == ("pod not placed", 1, texts[0])
    for scheduler in (OURS, THEIRS):
        release = {"metadata": {"finalizers": None}}
        path = f"/api/v1/namespaces/default/pods/doomed-{scheduler}"
        alone.request("PATCH", path, release, "application/merge-patch+json")


def test_a_repeated_refusal_is_counted_on_its_event(alone: ControlPlane) -> None:
    """What the Recorder patches is what the API server takes, with the rights of deploy/rbac.yaml."""
    (event,) = events(alone, "default", f"cpu-{OURS}")
    path = f"/apis/events.k8s.io/v1/namespaces/default/events/{event['metadata']['name']}"
    series = {"series": {"count": 2, "lastObservedTime": "2030-01-01T00:00:00.000000Z"}}
    status, answer = alone.request("PATCH", path, series, "application/merge-patch+json", user=SCHEDULER)
    assert (status, answer["series"]) == (200, series["series"])
