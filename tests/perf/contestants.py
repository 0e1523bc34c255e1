"""Who works on a workload, started as a process of its own."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from koordpy.config.expand import default_configuration, resolve
from koordpy.framework.registry import Registry
from koordpy_api.koordinator import GPU_CORE, GPU_MEMORY_RATIO
from tests.controlplane.build import binary
from tests.controlplane.fixtures import SCHEDULER
from tests.controlplane.server import ControlPlane
from tests.controlplane.supervisor import LOOPBACK, free_ports
from tests.perf.environs import Meta
from tests.perf.plan import write_plan
from tests.perf.workloads import SCHEDULER_NAME, Contestant, Workload

CLIENT_QPS: Final = 5000
"""Of kube-scheduler, whose default of 50 would decide the result."""
SCORED: Final[Mapping[str, Sequence[str]]] = {
    "NodeResourcesFit": ("cpu", "memory"),
    "DeviceShare": (GPU_CORE, GPU_MEMORY_RATIO),
}


def prepare(
    contestant: Contestant, workload: Workload, control_plane: ControlPlane, backlog: Sequence[Meta]
) -> list[str]:
    """The command that starts it, and whatever files it needs for that. backlog: the pods that wait, as created."""
    match contestant:
        case Contestant.KOORDPY:
            return _koordpy(workload, control_plane)
        case Contestant.KUBE_SCHEDULER:
            return _kube_scheduler(control_plane)
        case Contestant.CEILING | Contestant.CEILING_OF_BINDS:
            plan = control_plane.folder / "plan.msgpack"
            write_plan(plan, workload, backlog, with_events=contestant is Contestant.CEILING)
            command = [sys.executable, "-m", "tests.perf.ceiling", f"--plan={plan}"]
            return [*command, f"--kubeconfig={control_plane.kubeconfig(SCHEDULER)}"]


def koordpy_plugins() -> tuple[str, ...]:
    """Of the default profile."""
    registry = Registry()
    return tuple(name for name in resolve(default_configuration(), registry)[0].plugins if name in registry)


def kube_scheduler_defaults(control_plane: ControlPlane) -> Mapping[str, Any]:
    """The configuration that kube-scheduler makes of the bench's, with everything that the file does not say."""
    written = control_plane.folder / "kube-scheduler.defaults.yaml"
    configuration = _kube_scheduler_configuration(control_plane)
    command = [str(binary("kube-scheduler")), f"--config={configuration}", f"--write-config-to={written}"]
    subprocess.run(command, check=True, capture_output=True)
    defaults: dict[str, Any] = yaml.safe_load(written.read_text())
    return defaults


def _koordpy(workload: Workload, control_plane: ControlPlane) -> list[str]:
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "koordpy", "scheduler", f"--kubeconfig={control_plane.kubeconfig(SCHEDULER)}"]
    command.append(f"--config={_koordpy_configuration(workload, control_plane)}")
    return [*command, f"--bind-address={LOOPBACK}", f"--port={port}"]


def _koordpy_configuration(workload: Workload, control_plane: ControlPlane) -> Path:
    """The default profile, and no election."""
    profile: dict[str, Any] = {"schedulerName": SCHEDULER_NAME}
    if workload.score:
        profile["pluginConfig"] = [
            {"name": plugin, "args": {"scoringStrategy": _strategy(workload.score, resources)}}
            for plugin, resources in SCORED.items()
        ]
    return _write(control_plane.folder / "koordpy.yaml", {"profiles": [profile]})


def _strategy(score: str, resources: Sequence[str]) -> dict[str, Any]:
    return {"type": score, "resources": [{"name": each, "weight": 1} for each in resources]}


def _kube_scheduler(control_plane: ControlPlane) -> list[str]:
    (port,) = free_ports(1)
    # It serves on the same address as the API server, so the same certificate will do; else it would make a key first.
    certificate = control_plane.ca_file
    pair = [f"--tls-cert-file={certificate}", f"--tls-private-key-file={certificate.with_suffix('.key')}"]
    command = [str(binary("kube-scheduler")), f"--config={_kube_scheduler_configuration(control_plane)}"]
    return [*command, f"--bind-address={LOOPBACK}", f"--secure-port={port}", *pair]


def _kube_scheduler_configuration(control_plane: ControlPlane) -> Path:
    connection = {"kubeconfig": str(control_plane.kubeconfig()), "qps": CLIENT_QPS, "burst": CLIENT_QPS}
    more = {"clientConnection": connection, "profiles": [{"schedulerName": SCHEDULER_NAME}]}
    return _write(control_plane.folder / "kube-scheduler.yaml", more)


def _write(path: Path, configuration: Mapping[str, Any]) -> Path:
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    path.write_text(yaml.safe_dump({**head, "leaderElection": {"leaderElect": False}, **configuration}))
    return path
