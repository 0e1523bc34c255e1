"""What fails leaves by one exit: let go, queued again, told to the user. Names with P09 and so on: upstream's cases."""

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

import pytest

from koordpy.cluster.embedded.faults import Answer, Fault
from koordpy.framework.runner import Framework
from koordpy.testing import device_manifest, node_manifest, pod_manifest
from koordpy_api import Code, Status
from koordpy_api.koordinator import GPU
from tests.framework.scripted_plugins import bare_profile, plugin, profile, raising
from tests.scheduler.stage import Stage, perform

BIG = {"cpu": 64}


def row(name: str, *values: Any) -> Any:
    return pytest.param(*values, id=name)


def eager() -> Framework:
    """Whose plugin refuses every node and names no events, so that any of them has its Pods tried again."""
    return profile(Full=plugin(filter=lambda: Status.unschedulable("full")))


# -- the condition and the Event -----------------------------------------------------------------------------------


def test_a_refusal_is_written_on_the_pod_and_told_in_an_event() -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.add(pod_manifest("web", requests=BIG))
        await asyncio.sleep(1)
        text = "0/12 nodes are available: 10 Insufficient cpu, 2 node(s) were unschedulable."
        (patch,) = stage.cluster.asked.patches
        assert (patch.name, patch.subresource, patch.strategic) == ("web", "status", True)
        assert patch.body == {
            "metadata": {"uid": stage.cluster.pod("web")["metadata"]["uid"]},
            "status": {
                "conditions": [
                    {
                        "type": "PodScheduled",
                        "status": "False",
                        "reason": "Unschedulable",
                        "message": text,
                        "observedGeneration": 1,
                        "lastTransitionTime": "2026-01-01T00:00:00Z",
                    }
                ]
            },
        }
        (event,) = stage.cluster.events
        assert (event["type"], event["reason"], event["action"]) == ("Warning", "FailedScheduling", "Scheduling")
        assert (event["note"], event["reportingController"]) == (text, "koordpy-scheduler")
        assert event["reportingInstance"] == "koordpy-scheduler-stage"

    perform(scene, *(node_manifest(f"n{i:02}", cpu=4, unschedulable=i > 9) for i in range(12)))


def test_p20_the_same_refusal_is_written_once_however_often_it_is_met() -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.add(pod_manifest("web", requests=BIG))
        for number in range(6):
            await asyncio.sleep(15)
            stage.cluster.add(node_manifest("n1", labels={"turn": str(number)}))
        await asyncio.sleep(15)
        assert stage.attempts("unschedulable") == 7
        assert len(stage.cluster.asked.patches) == 1
        assert len(stage.cluster.notes("FailedScheduling")) == 1

    perform(scene, node_manifest("n1"), frameworks=[eager()])


def test_another_refusal_is_written_but_is_no_other_transition() -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.add(pod_manifest("web", requests=BIG))
        await asyncio.sleep(5)
        stage.cluster.add(node_manifest("n2"))
        await asyncio.sleep(5)
        first, second = (patch.body["status"]["conditions"][0] for patch in stage.cluster.asked.patches)
        assert second["message"] == "0/2 nodes are available: 2 full."
        assert "lastTransitionTime" in first
        assert "lastTransitionTime" not in second
        assert stage.cluster.condition("web")["lastTransitionTime"] == first["lastTransitionTime"]

    perform(scene, node_manifest("n1"), frameworks=[eager()])


def test_our_own_words_on_a_pod_do_not_wake_it() -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.add(pod_manifest("web", requests=BIG))
        await asyncio.sleep(290)
        assert stage.attempts("unschedulable") == 1
        await asyncio.sleep(20)
        assert stage.attempts("unschedulable") == 2

    perform(scene, node_manifest("n1"))


@pytest.mark.parametrize("answer", ["dropped", "lost", 500, 503, 409, 429])
def test_a_condition_whose_patch_may_pass_is_sent_again_at_once(answer: Answer) -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.fault(Fault("patch pods/status web", answer, times=3))
        stage.cluster.add(pod_manifest("web", requests=BIG))
        await asyncio.sleep(1)
        assert stage.cluster.condition("web")["reason"] == "Unschedulable"
        first, *again = (patch.time for patch in stage.cluster.asked.patches)
        assert [round(time - first, 2) for time in again] == [0.01, 0.06, 0.31]

    perform(scene, node_manifest("n1"))


@pytest.mark.parametrize(("answer", "times"), [("dropped", 4), (500, 4), (403, 1)])
def test_a_condition_that_could_not_be_written_is_written_by_the_next_attempt(answer: Answer, times: int) -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.fault(Fault("patch pods/status web", answer, times=times))
        stage.cluster.add(pod_manifest("web", requests=BIG))
        await asyncio.sleep(5)
        assert stage.cluster.condition("web") == {}
        stage.cluster.change("Node", "n1", lambda node: node["metadata"].update(labels={"a": "b"}))
        await asyncio.sleep(5)
        assert stage.cluster.condition("web")["reason"] == "Unschedulable"

    perform(scene, node_manifest("n1"), frameworks=[eager()])


def test_a_refusal_that_is_written_late_is_not_written_over_a_bind() -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.fault(Fault("patch pods/status", delay_s=5, times=None))
        stage.cluster.add(pod_manifest("web", requests=BIG))
        await asyncio.sleep(1)
        stage.cluster.add(node_manifest("large", cpu=128))
        await asyncio.sleep(20)
        assert stage.cluster.node_of("web") == "large"
        assert stage.cluster.condition("web")["status"] == "True"

    perform(scene, node_manifest("n1"))


def test_p18_an_empty_cluster_has_words_of_its_own_and_the_first_node_helps() -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.add(pod_manifest("web"))
        await asyncio.sleep(0.5)
        condition = stage.cluster.condition("web")
        assert (condition["reason"], condition["message"]) == ("Unschedulable", "no nodes available to schedule pods")
        stage.cluster.add(node_manifest("n1"))
        await asyncio.sleep(11)
        assert stage.cluster.node_of("web") == "n1"

    perform(scene)


def test_p19_a_long_refusal_is_cut_in_the_event_and_whole_in_the_condition() -> None:
    wordy = plugin(filter=lambda: Status.unschedulable("x" * 2000))

    async def scene(stage: Stage) -> None:
        stage.cluster.add(pod_manifest("web"))
        await asyncio.sleep(1)
        ((_, note),) = stage.cluster.notes("FailedScheduling")
        assert (len(note.encode()), note[-4:]) == (1024, " ...")
        assert stage.cluster.condition("web")["message"] == f"0/1 nodes are available: 1 {'x' * 2000}."

    perform(scene, node_manifest("n1"), frameworks=[profile(Wordy=wordy)])


# -- letting go ------------------------------------------------------------------------------------------------------


def holder(name: str, diary: list[str], **hooks: Any) -> type:
    return plugin(
        reserve=lambda pod: diary.append(f"reserve {name} {pod.metadata.name}"),
        unreserve=lambda pod: diary.append(f"unreserve {name} {pod.metadata.name}"),
        **hooks,
    )


def test_p09_a_refusal_at_reserve_unwinds_every_plugin_in_reverse_order() -> None:
    diary: list[str] = []
    refuse = plugin(reserve=lambda: Status.unschedulable("taken"), unreserve=lambda: diary.append("unreserve B"))

    async def scene(stage: Stage) -> None:
        stage.cluster.add(pod_manifest("web"))
        await asyncio.sleep(0.5)
        assert diary == ["reserve A web", "unreserve C web", "unreserve B", "unreserve A web"]
        condition = stage.cluster.condition("web")
        assert (condition["reason"], condition["message"]) == ("Unschedulable", "0/1 nodes are available: 1 taken.")
        assert stage.believes() == {"nodes": 1, "unschedulable": 1}

    perform(scene, node_manifest("n1"), frameworks=[profile(A=holder("A", diary), B=refuse, C=holder("C", diary))])


def test_a_refusal_at_pre_bind_unwinds_and_frees_the_card_for_the_next() -> None:
    choosy = plugin(pre_bind=lambda pod: Status.unschedulable("not you") if pod.metadata.name == "bad" else None)
    names = ("PrioritySort", "DeviceShare", "Choosy", "DefaultBinder")

    async def scene(stage: Stage) -> None:
        stage.cluster.add(pod_manifest("bad", requests={GPU: 100}))
        stage.cluster.add(pod_manifest("good", requests={GPU: 100}))
        await asyncio.sleep(20)
        assert (stage.cluster.node_of("good"), stage.minors("good")) == ("n1", [0])
        assert stage.cluster.node_of("bad") == ""

    cards = (node_manifest("n1"), device_manifest("n1", 1))
    perform(scene, *cards, frameworks=[bare_profile(names, {"Choosy": choosy})])


def test_what_one_pod_lets_go_of_wakes_another_that_waits_for_it() -> None:
    async def pre_bind(pod: Any) -> Status | None:
        await asyncio.sleep(20)
        return Status.unschedulable("not you") if pod.metadata.name == "bad" else None

    async def scene(stage: Stage) -> None:
        stage.cluster.add(pod_manifest("bad", requests={"cpu": 8}, priority=1))
        stage.cluster.add(pod_manifest("good", requests={"cpu": 8}))
        await asyncio.sleep(10)
        assert stage.cluster.condition("good")["message"] == "0/1 nodes are available: 1 Insufficient cpu."
        await asyncio.sleep(35)
        assert stage.cluster.node_of("good") == "n1"

    names = ("PrioritySort", "NodeResourcesFit", "Slow", "DefaultBinder")
    slow = plugin(pre_bind=pre_bind)
    perform(scene, node_manifest("n1", cpu=8), frameworks=[bare_profile(names, {"Slow": slow})])


# -- plugins that break --------------------------------------------------------------------------------------------


def breaks_for(name: str, hook: str) -> dict[str, Callable[..., Any]]:
    """A hook that raises for one Pod, and answers what is normal for the others."""
    normal = {"score": 50, "queue_sort": (0,)}.get(hook)

    def of_pod(pod: Any) -> Any:
        return _break(pod.metadata.name if hasattr(pod, "metadata") else pod.name)

    def of_queued(queued: Any) -> Any:
        return _break(queued.pod.metadata.name)

    def of_old(old: Any) -> Any:
        return _break(old.name)

    def _break(who: str) -> Any:
        if who == name:
            raise RuntimeError("boom")
        return normal

    return {hook: {"queue_sort": of_queued, "pod_updated": of_old, "node_updated": of_old}.get(hook, of_pod)}


@pytest.mark.parametrize(
    ("hook", "message"),
    [
        row("pre_filter", "pre_filter", 'running PreFilter plugin "A": RuntimeError: boom'),
        row("filter", "filter", 'running "A" filter plugin: RuntimeError: boom'),
        row("pre_score", "pre_score", 'running PreScore plugin "A": RuntimeError: boom'),
        row("score", "score", 'running Score plugins: plugin "A" failed with: RuntimeError: boom'),
        row("reserve", "reserve", 'running Reserve plugin "A": RuntimeError: boom'),
        row("pre_bind", "pre_bind", 'running PreBind plugin "A": RuntimeError: boom'),
        row("bind", "bind", 'running Bind plugin "A": RuntimeError: boom'),
    ],
)
def test_a_hook_that_breaks_for_one_pod_is_blamed_and_the_others_are_scheduled(hook: str, message: str) -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.add(pod_manifest("bad", priority=9))
        stage.cluster.add(pod_manifest("good"))
        await asyncio.sleep(0.6)
        condition = stage.cluster.condition("bad")
        assert (condition["reason"], condition["message"]) == ("SchedulerError", message)
        assert stage.cluster.notes("FailedScheduling") == [("bad", message)]
        assert stage.cluster.node_of("good")
        assert stage.scheduler.cache.sizes()["pods"] == 1
        await asyncio.sleep(14)
        assert stage.attempts("error") == 4  # at 0, 1, 3 and 7 seconds; the next at 15
        assert not stage.running.done()

    frameworks = [profile(A=plugin(**breaks_for("bad", hook)))]
    perform(scene, node_manifest("n1"), node_manifest("n2"), frameworks=frameworks)


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        row("raises", raising(RuntimeError("boom")), 'running PreEnqueue plugin "A": RuntimeError: boom'),
        row("nonsense", lambda: "no", 'plugin "A" answered str, which is unsupported at PreEnqueue'),
    ],
)
def test_a_pre_enqueue_that_breaks_is_told_on_the_pod_and_asked_again(answers: Callable[[], Any], message: str) -> None:
    is_mended = False

    async def scene(stage: Stage) -> None:
        nonlocal is_mended
        stage.cluster.add(pod_manifest("web"))
        await asyncio.sleep(1)
        condition = stage.cluster.condition("web")
        assert (condition["reason"], condition["message"]) == ("SchedulerError", message)
        assert stage.cluster.notes("FailedScheduling") == [("web", message)]
        is_mended = True
        await asyncio.sleep(310)
        assert stage.cluster.node_of("web") == "n1"

    broken = plugin(pre_enqueue=lambda: None if is_mended else answers())
    perform(scene, node_manifest("n1"), frameworks=[profile(A=broken)])


@pytest.mark.parametrize("hook", ["pod_added", "pod_updated", "pod_removed"])
def test_a_hook_that_only_hears_of_pods_and_breaks_stops_nothing(hook: str) -> None:
    async def scene(stage: Stage) -> None:
        for name in ("bad", "good"):
            stage.cluster.add(pod_manifest(name))
        await asyncio.sleep(5)
        assert (stage.cluster.node_of("bad"), stage.cluster.node_of("good")) == ("n1", "n1")
        for name in ("bad", "good"):
            stage.cluster.delete("Pod", name)
        await asyncio.sleep(5)
        assert stage.believes() == {"nodes": 1}

    perform(scene, node_manifest("n1"), frameworks=[profile(A=plugin(**breaks_for("bad", hook)))])


def test_a_hook_that_hears_of_nodes_and_breaks_stops_nothing() -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.add(pod_manifest("web"))
        await asyncio.sleep(5)
        assert stage.cluster.node_of("web") == "n1"

    perform(scene, node_manifest("n1"), frameworks=[profile(A=plugin(**breaks_for("n1", "node_updated")))])


def test_a_queue_sort_that_breaks_for_one_pod_puts_it_last() -> None:
    diary: list[str] = []
    sort = plugin(**breaks_for("bad", "queue_sort"), reserve=lambda pod: diary.append(pod.metadata.name))

    async def scene(stage: Stage) -> None:
        assert diary == ["better", "good", "bad"]

    pods = (pod_manifest(name) for name in ("bad", "good", "better"))
    perform(scene, node_manifest("n1"), *pods, frameworks=[bare_profile(("Sort", "DefaultBinder"), {"Sort": sort})])


def test_an_unreserve_that_breaks_keeps_nothing_held() -> None:
    tries = itertools.count()

    def pre_bind() -> Status | None:
        return Status.unschedulable("not yet") if next(tries) == 0 else None

    diary: list[str] = []
    broken = plugin(pre_bind=pre_bind, **breaks_for("web", "unreserve"))

    async def scene(stage: Stage) -> None:
        stage.cluster.add(pod_manifest("web"))
        await asyncio.sleep(0.5)
        assert diary == ["reserve A web", "unreserve A web"]
        assert stage.believes() == {"nodes": 1, "unschedulable": 1}
        stage.cluster.change("Node", "n1", lambda node: node["metadata"].update(labels={"a": "b"}))
        await asyncio.sleep(2)
        assert stage.cluster.node_of("web") == "n1"

    perform(scene, node_manifest("n1"), frameworks=[profile(A=holder("A", diary), B=broken)])


def test_a_plugin_that_binds_by_itself_leaves_nothing_to_write() -> None:
    async def scene(stage: Stage) -> None:
        stage.cluster.add(pod_manifest("web"))
        await asyncio.sleep(1)
        assert stage.cluster.asked.binds == []
        assert stage.attempts("scheduled") == 1
        stage.cluster.bound_by("web", "n1")
        await asyncio.sleep(1)
        assert stage.believes() == {"nodes": 1, "pods": 1}

    own = plugin(bind=lambda: Status(Code.SUCCESS))
    perform(scene, node_manifest("n1"), frameworks=[bare_profile(("PrioritySort", "Own"), {"Own": own})])
