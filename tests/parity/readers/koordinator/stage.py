"""One node with its devices and pods in front of the real plugin, and one Pod that asks.

Only hooks of the framework are called, in the order in which the host calls them.
"""

import asyncio
import json
from collections.abc import Mapping
from typing import Any, Final

from koordpy.testing import CycleHarness, build_profile, make_node, make_pod, read_object
from koordpy_api import CycleState, NodeInfo, Status
from koordpy_api.koordinator import DEVICE_ALLOCATED, FPGA, GPU_MEMORY, GPU_MEMORY_RATIO, RDMA, SCHEDULING_PREFIX
from koordpy_api.objects import Device, Pod
from tests.parity.frame import Case
from tests.parity.model.amounts import Books, read_minors
from tests.parity.model.flat import sum_of_held

NODE: Final = "n1"
PLUGIN: Final = "DeviceShare"
SCHEDULING_HINT: Final = f"internal.{SCHEDULING_PREFIX}scheduling-hint"
DEFAULT_WEIGHTS: Final = {GPU_MEMORY_RATIO: 1, GPU_MEMORY: 1, RDMA: 1, FPGA: 1}
TYPES: Final = ("gpu", "rdma", "fpga")
VICTIM: Final = "victim"
"""Holds what a case calls preemptible, as far as it is used at all."""

Minors = Mapping[str, Mapping[str, Any]]


class Stage:
    """What the scheduler believes of node n1."""

    def __init__(self, args: Mapping[str, Any] | None = None, node_labels: Mapping[str, str] | None = None) -> None:
        framework = build_profile(["PrioritySort", PLUGIN, "DefaultBinder"], args={PLUGIN: dict(args or {})})
        self.harness = CycleHarness([], framework)
        self.framework = framework
        self.harness.add(make_node(NODE, cpu=64, memory="512Gi", labels=node_labels))
        self.state = CycleState()

    @classmethod
    def of(cls, case: Case, args: Mapping[str, Any] | None = None) -> "Stage":
        """With the Device and the recorded pods of a case; what is preemptible is held by a Pod of its own."""
        stage = cls(args, case.get("node_labels"))
        stage.harness.add(device_of(case["device"]))
        for name, held in _holders(case).items():
            stage.harness.add(holder(name, held))
        return stage

    @property
    def node(self) -> NodeInfo:
        node = self.harness.cache.node(NODE)
        assert node is not None
        return node

    def pre_filter(self, pod: Pod) -> Status | None:
        answer = self.framework.run_pre_filter(self.state, pod, [self.node])
        return answer if isinstance(answer, Status) else None

    def let_go_of_victim(self, pod: Pod) -> None:
        """As a dry run does with pods that preemption would evict."""
        for victim in self.node.pods.values():
            if victim.name == VICTIM:
                without = self.node.without_pod(victim.uid)
                refusal = self.framework.run_remove_pod(self.state, pod, victim, without)
                assert refusal is None, refusal

    def filter(self, pod: Pod) -> Status | None:
        filtered = self.framework.run_filter(self.state, pod, [self.node])
        return filtered if isinstance(filtered, Status) else filtered.refusals.get(NODE)

    def reserve(self, pod: Pod) -> Status | None:
        return self.framework.run_reserve(self.state, pod, NODE)

    def annotations(self, pod: Pod) -> Mapping[str, str]:
        """What PreBind wants written."""
        plan = asyncio.run(self.framework.run_pre_bind(self.state, pod, NODE))
        assert not isinstance(plan, Status), plan
        return plan.pod.annotations


def args_of(strategy: str, weights: Mapping[str, int] | None) -> Mapping[str, Any]:
    """A scorer of a case as DeviceShareArgs."""
    resources = DEFAULT_WEIGHTS if weights is None else weights
    listed = [{"name": name, "weight": weight} for name, weight in resources.items()]
    return {"scoringStrategy": {"type": strategy, "resources": listed}}


def device_of(short: Mapping[str, Any]) -> Device:
    metadata = {"name": NODE, "labels": short.get("labels") or {}}
    return read_object(Device, {"metadata": metadata, "spec": {"devices": short["devices"]}})


def asking_pod(case: Case) -> Pod:
    """default/p0, with everything that the case says of it in annotations."""
    short = case["pod"]
    annotations = {
        SCHEDULING_PREFIX + name: json.dumps(short[key])
        for key, name in (("hints", "device-allocate-hint"), ("joint", "device-joint-allocate"))
        if key in short
    }
    if "designated" in case:
        annotations[DEVICE_ALLOCATED] = allocated_text(case["designated"])
        annotations[SCHEDULING_HINT] = json.dumps({"extensions": {PLUGIN: {}}})
    return make_pod(
        "p0",
        containers=short.get("containers") or [{"requests": short.get("requests") or {}}],
        init_containers=short.get("initContainers", ()),
        overhead=short.get("overhead"),
        annotations=annotations,
    )


def holder(name: str, held: Mapping[str, Minors], **more: Any) -> Pod:
    """A Pod that runs with these devices."""
    return make_pod(name, node=NODE, phase="Running", annotations={DEVICE_ALLOCATED: allocated_text(held)}, **more)


def allocated_text(held: Mapping[str, Minors]) -> str:
    wire = {kind: [_wire(minor, each) for minor, each in held[kind].items()] for kind in TYPES if held.get(kind)}
    return json.dumps(wire)


def _wire(minor: str, amounts: Mapping[str, Any]) -> dict[str, Any]:
    resources = {name: str(amount) for name, amount in amounts.items() if name != "vfs"}
    vfs = [{"busID": bus} for bus in amounts.get("vfs", ())]
    return {"minor": int(minor), "resources": resources} | ({"extension": {"vfs": vfs}} if vfs else {})


def _holders(case: Case) -> dict[str, dict[str, Minors]]:
    """Name of a Pod → what it holds. Of what is preemptible, the victim holds as much as is used."""
    used: list[Mapping[str, Any]] = list(case.get("used") or ())
    given_up: Mapping[str, Minors] = case.get("preemptible") or {}
    if not given_up:
        return {str(each["pod"]).partition("/")[2]: {kind: each.get(kind) or {} for kind in TYPES} for each in used}
    sums = sum_of_held(used)
    rest, victim = _split(sums, {kind: read_minors(minors) for kind, minors in given_up.items()})
    return {"rest": _named(rest), VICTIM: _named(victim)}


def _split(used: Books, given_up: Books) -> tuple[Books, Books]:
    """What stays, and what is given up; a device of which nothing is held is in neither."""
    rest: Books = {}
    victim: Books = {}
    for kind, minors in used.items():
        for minor, amounts in minors.items():
            up = given_up.get(kind, {}).get(minor, {})
            taken = {name: min(amount, up[name]) for name, amount in amounts.items() if up.get(name, 0) and amount}
            left = {name: amount - taken.get(name, 0) for name, amount in amounts.items()}
            for books, part in ((rest, left), (victim, taken)):
                if any(part.values()):
                    books.setdefault(kind, {})[minor] = part
    return rest, victim


def _named(books: Books) -> dict[str, Minors]:
    return {kind: {str(minor): amounts for minor, amounts in minors.items()} for kind, minors in books.items()}
