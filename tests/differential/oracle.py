"""The program that upstream's plugins are asked through (tests/controlplane/oracle): cases in, all of the truth out."""

import json
import subprocess
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final, Self

from koordpy.config.defaults import DEFAULT_MULTI_POINT
from tests.parity.frame import Case
from tests.parity.readers.short_form import manifest_of_pod, node_manifests_of, pod_manifests_of

Answer = Mapping[str, Any]

ARGS: Final = "kubescheduler.config.k8s.io/v1"
IN_FLIGHT: Final = 2
"""It answers one case while koordpy is asked about the one before."""

PIPE_BYTES: Final = 1 << 20
"""Holds what is in flight, so that neither side waits for the other to read."""


class OracleError(Exception):
    """It cannot be asked this."""


class Oracle(AbstractContextManager["Oracle"]):
    """One process, asked one case after the other."""

    def __init__(self, program: Path) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen([program], stdin=pipe, stdout=pipe, pipesize=PIPE_BYTES)

    def answers(self, cases: Iterable[Case]) -> Iterator[tuple[Case, Answer]]:
        """Each case with its answer, in order. Raises: OracleError."""
        waiting: deque[Case] = deque()
        for case in cases:
            self._ask(case)
            waiting.append(case)
            if len(waiting) == IN_FLIGHT:
                yield waiting[0], self._told(waiting.popleft())
        while waiting:
            yield waiting[0], self._told(waiting.popleft())

    def answer(self, case: Case) -> Answer:
        """Raises: OracleError."""
        ((_, answer),) = self.answers([case])
        return answer

    def _ask(self, case: Case) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(question_of(case)).encode() + b"\n")
        self._process.stdin.flush()

    def _told(self, case: Case) -> Answer:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise OracleError(f"it ended with {self._process.wait()} when asked about case {case.get('id')}")
        answer: Answer = json.loads(line)
        if "error" in answer:
            raise OracleError(f"case {case.get('id')}: {answer['error']}")
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()  # its stdin is closed, and so it ends


def question_of(case: Case) -> Mapping[str, Any]:
    """Its objects are the manifests that koordpy reads."""
    return {
        "id": str(case.get("id", "")),
        "config": config_of([profile_of("default-scheduler", case["plugins"], case.get("args", {}))]),
        "nodes": node_manifests_of(case),
        "pods": pod_manifests_of(case),
        "pod": manifest_of_pod(case),
    }


def config_of(profiles: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A KubeSchedulerConfiguration, as upstream reads it."""
    return {"apiVersion": ARGS, "kind": "KubeSchedulerConfiguration", "parallelism": 1, "profiles": list(profiles)}


def profile_of(name: str, plugins: Sequence[str], args: Mapping[str, Any]) -> dict[str, Any]:
    """Exactly these plugins, with the default weights, and what a profile cannot be without."""
    weights = dict(DEFAULT_MULTI_POINT)
    enabled = [{"name": each, "weight": weights[each]} for each in ("PrioritySort", *plugins, "DefaultBinder")]
    given = [
        {"name": plugin, "args": {"apiVersion": ARGS, "kind": f"{plugin}Args", **its}} for plugin, its in args.items()
    ]
    multi_point = {"disabled": [{"name": "*"}], "enabled": enabled}
    return {"schedulerName": name, "plugins": {"multiPoint": multi_point}, "pluginConfig": given}
