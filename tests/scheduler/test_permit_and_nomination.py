"""Pods that Permit holds, and what is written about where a Pod is going to be."""

import asyncio
from collections.abc import Callable
from typing import Any

from koordpy.framework.runner import Framework
from koordpy.testing import node_manifest, pod_manifest
from koordpy_api import Handle, NoArgs, PostFilterResult, Status, Wait
from koordpy_api.objects import Pod
from tests.framework.scripted_plugins import plugin, profile, raising
from tests.scheduler.stage import Stage, perform

NODE = node_manifest("n1")


class Gatekeepers:
    """Plugins that answer Wait, the Handle to allow Pods by, and what was called when."""

    def __init__(self, **timeouts_s: float) -> None:
        self.diary: list[str] = []
        self.handle: Handle
        plugins: dict[str, Any] = {name: self._plugin(name, timeout_s) for name, timeout_s in timeouts_s.items()}
        self.framework = profile(**plugins)

    def _plugin(self, name: str, timeout_s: float) -> type:
        def construct(_self: object, args: NoArgs, handle: Handle) -> None:
            self.handle = handle

        return plugin(
            __init__=construct,
            permit=lambda: Wait(timeout_s),
            reserve=lambda: None,
            unreserve=lambda: self._note(f"unreserve {name}"),
            pre_bind=lambda: self._note(f"pre_bind {name}"),
            post_bind=lambda: self._note(f"post_bind {name}"),
        )

    def _note(self, what: str) -> None:
        self.diary.append(f"{asyncio.get_running_loop().time():g} {what}")

    def say(self, plugin_name: str, why: str = "") -> bool:
        (waiting,) = self.handle.waiting_pods()
        return waiting.reject(plugin_name, why) if why else waiting.allow(plugin_name)


def held(scene: Callable[[Stage, Gatekeepers], Any], **timeouts_s: float) -> None:
    keepers = Gatekeepers(**timeouts_s)

    async def with_a_pod(stage: Stage) -> None:
        stage.cluster.add(pod_manifest("web"))
        await asyncio.sleep(0.5)
        assert stage.believes() == {"nodes": 1, "pods": 1, "assumed_pods": 1}
        await scene(stage, keepers)

    perform(with_a_pod, NODE, frameworks=[keepers.framework])


def test_p10_pre_bind_and_bind_start_after_all_have_allowed_the_pod() -> None:
    async def scene(stage: Stage, keepers: Gatekeepers) -> None:
        await asyncio.sleep(1)  # second 2
        keepers.say("A")
        await asyncio.sleep(100)
        assert (stage.cluster.asked.binds, keepers.diary) == ([], [])
        keepers.say("B")
        await asyncio.sleep(1)
        assert stage.cluster.node_of("web") == "n1"
        assert keepers.diary == ["102 pre_bind A", "102 pre_bind B", "102 post_bind A", "102 post_bind B"]

    held(scene, A=5, B=20 * 60)


def test_p11_time_that_is_up_refuses_the_pod_and_it_waits_for_what_its_plugin_waits_for() -> None:
    async def scene(stage: Stage, keepers: Gatekeepers) -> None:
        await asyncio.sleep(10.5)
        text = "0/1 nodes are available: 1 rejected due to timeout after waiting 10s at plugin A."
        condition = stage.cluster.condition("web")
        assert (condition["reason"], condition["message"]) == ("Unschedulable", text)
        assert stage.cluster.notes("FailedScheduling") == [("web", text)]
        assert keepers.diary == ["10.5 unreserve A"]
        assert stage.believes() == {"nodes": 1, "unschedulable": 1}
        await asyncio.sleep(30)
        assert stage.attempts("unschedulable") == 1  # nothing happened
        stage.cluster.change("Node", "n1", lambda node: node["metadata"].update(labels={"a": "b"}))
        await asyncio.sleep(1)
        keepers.say("A")
        await asyncio.sleep(1)
        assert stage.cluster.node_of("web") == "n1"

    held(scene, A=10)


def test_a_rejected_pod_is_told_by_whom_and_why() -> None:
    async def scene(stage: Stage, keepers: Gatekeepers) -> None:
        keepers.say("A", "the group is broken")
        await asyncio.sleep(0.5)
        assert stage.cluster.condition("web")["message"] == "0/1 nodes are available: 1 the group is broken."
        stage.cluster.change("Pod", "web", lambda pod: pod["metadata"].update(labels={"group": "whole"}))
        await asyncio.sleep(1)
        keepers.say("A")

    held(scene, A=10)


def test_p13_a_pod_that_waits_is_nominated_until_it_is_bound() -> None:
    async def scene(stage: Stage, keepers: Gatekeepers) -> None:
        (patch,) = stage.cluster.asked.patches
        assert patch.body["status"] == {"nominatedNodeName": "n1"}
        assert (patch.subresource, patch.strategic) == ("status", True)
        keepers.say("A")
        await asyncio.sleep(1)
        assert (stage.cluster.node_of("web"), stage.cluster.nominated("web")) == ("n1", "")
        assert len(stage.cluster.asked.patches) == 1

    held(scene, A=10)


def test_a_pod_that_waited_in_vain_is_nominated_no_longer() -> None:
    async def scene(stage: Stage, keepers: Gatekeepers) -> None:
        assert stage.cluster.nominated("web") == "n1"
        keepers.say("A", "no")
        await asyncio.sleep(0.5)
        assert stage.cluster.nominated("web") == ""
        assert len(stage.cluster.asked.patches) == 2  # with the condition, in one
        stage.cluster.delete("Pod", "web")

    held(scene, A=10)


def test_p14_a_pod_that_does_not_wait_is_never_nominated() -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.add(pod_manifest("web"))
        await asyncio.sleep(1)
        assert (stage.cluster.node_of("web"), stage.cluster.asked.patches) == ("n1", [])

    perform(scene, NODE, frameworks=[profile(A=plugin(permit=lambda: None))])


def test_a_deleted_pod_waits_no_longer_and_nobody_is_told() -> None:
    async def scene(stage: Stage, keepers: Gatekeepers) -> None:
        stage.cluster.delete("Pod", "web")
        await asyncio.sleep(0.5)
        assert list(keepers.handle.waiting_pods()) == []
        assert keepers.diary == ["1 unreserve A"]
        assert stage.believes() == {"nodes": 1}
        assert stage.cluster.events == []

    held(scene, A=600)


def test_a_pod_that_somebody_else_binds_waits_no_longer() -> None:
    async def scene(stage: Stage, keepers: Gatekeepers) -> None:
        stage.cluster.bound_by("web", "n1")
        await asyncio.sleep(0.5)
        assert list(keepers.handle.waiting_pods()) == []
        assert keepers.diary == ["1 unreserve A"]
        assert stage.believes() == {"nodes": 1, "pods": 1}
        assert (stage.cluster.asked.binds, stage.cluster.events) == ([], [])

    held(scene, A=600)


def test_a_pod_that_is_asked_to_go_waits_no_longer() -> None:
    async def scene(stage: Stage, keepers: Gatekeepers) -> None:
        stage.cluster.hold("web")
        await asyncio.sleep(0.5)
        assert list(keepers.handle.waiting_pods()) == []
        assert stage.believes() == {"nodes": 1}

    held(scene, A=600)


def test_a_scheduler_that_stops_keeps_nobody_waiting() -> None:
    async def scene(stage: Stage, keepers: Gatekeepers) -> None:
        assert await stage.stop() < 1
        assert stage.cluster.nominated("web") == ""
        text = "0/1 nodes are available: 1 the scheduler is stopping."
        assert stage.cluster.condition("web")["message"] == text

    held(scene, A=600)


def test_waiting_pods_do_not_keep_others_from_being_bound() -> None:
    keepers: list[Handle] = []

    def permit(pod: Pod) -> Wait | None:
        return Wait(600) if pod.metadata.name.startswith("slow") else None

    framework = profile(A=plugin(__init__=lambda self, args, handle: keepers.append(handle), permit=permit))

    async def scene(stage: Stage) -> None:
        for number in range(40):
            stage.cluster.add(pod_manifest(f"slow-{number}"))
        stage.cluster.add(pod_manifest("quick"))
        await asyncio.sleep(1)
        assert stage.cluster.node_of("quick") == "n1"
        assert len(keepers[0].waiting_pods()) == 40
        for waiting in keepers[0].waiting_pods():
            waiting.allow("A")

    perform(scene, NODE, frameworks=[framework])


# -- PostFilter ------------------------------------------------------------------------------------------------------


def nominating(*answers: object) -> Framework:
    """Refuses every node; its PostFilter says these in turn, and then nothing."""
    said = iter(answers)
    return profile(A=plugin(filter=lambda: Status.unschedulable("full"), post_filter=lambda: next(said, None)))


def nominations(*answers: object) -> list[object]:
    """nominatedNodeName in the patches of one attempt per answer; "-" where a patch says nothing of it."""
    seen: list[object] = []

    async def scene(stage: Stage) -> None:
        stage.cluster.add(pod_manifest("web"))
        for _ in answers:
            await asyncio.sleep(30)
            stage.cluster.change("Node", "n1", lambda node: node["metadata"].setdefault("labels", {}).update(at=_now()))
        await asyncio.sleep(30)
        assert stage.cluster.condition("web")["reason"] == "Unschedulable"
        seen.extend(patch.body["status"].get("nominatedNodeName", "-") for patch in stage.cluster.asked.patches)

    perform(scene, NODE, frameworks=[nominating(*answers)])
    return seen


def _now() -> str:
    return str(int(asyncio.get_running_loop().time()))


def test_p07_a_nomination_is_written_with_the_condition() -> None:
    assert nominations(PostFilterResult("n1")) == ["n1"]


def test_a_nomination_that_is_left_alone_is_not_written() -> None:
    assert nominations(None) == ["-"]


def test_a_nomination_that_is_taken_back_is_written_once() -> None:
    assert nominations(PostFilterResult("n1"), PostFilterResult(""), PostFilterResult("")) == ["n1", None]


def test_an_attempt_that_breaks_takes_the_nomination_back() -> None:
    asked = iter([Status.unschedulable("full"), *[raising(ValueError("boom"))] * 100])

    def refuse() -> Any:
        answer = next(asked)
        return answer() if callable(answer) else answer

    framework = profile(A=plugin(filter=refuse, post_filter=lambda: PostFilterResult("n1")))

    async def scene(stage: Stage) -> None:
        stage.cluster.add(pod_manifest("web"))
        await asyncio.sleep(0.5)
        assert stage.cluster.nominated("web") == "n1"
        stage.cluster.change("Node", "n1", lambda node: node["metadata"].update(labels={"new": "yes"}))
        await asyncio.sleep(5)
        assert stage.cluster.condition("web")["reason"] == "SchedulerError"
        assert stage.cluster.nominated("web") == ""

    perform(scene, NODE, frameworks=[framework])
