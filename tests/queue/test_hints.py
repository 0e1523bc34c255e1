"""Which events wake which refused pods, and what happens during an attempt. N12 and so on: kube-scheduler cases."""

import asyncio
from collections.abc import Sequence
from itertools import pairwise

import pytest

from koordpy.framework.registrations import Registration
from koordpy.queue.changes import POD_DELETED
from koordpy.queue.hints import Hints
from koordpy.queue.pod_info import QueuedPodInfo
from koordpy.testing import build_profile, make_node, make_pod
from koordpy_api import ActionType, ClusterEvent, Handle, NoArgs, QueueingHint, Status, hookimpl
from koordpy_api.events import NODE, POD, HintFunction
from koordpy_api.objects import KubeObject, Pod
from tests.queue.waiting_room import CHANGE, REFUSED, WaitingRoom, now, play

OTHER = ClusterEvent(NODE, ActionType.ADD)
GONE = ClusterEvent(POD, ActionType.DELETE)
WAKES: HintFunction = lambda pod, old, new: QueueingHint.QUEUE  # noqa: E731
SKIPS: HintFunction = lambda pod, old, new: QueueingHint.SKIP  # noqa: E731
WAITER = frozenset({"Waiter"})


def breaks(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
    raise RuntimeError("boom")


def nonsense(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
    return True  # type: ignore[return-value]


def room(*registered: Registration) -> WaitingRoom:
    return WaitingRoom(registered=registered)


@pytest.mark.parametrize(
    ("registered", "is_woken", "said"),
    [
        pytest.param([Registration("Fit", CHANGE)], True, None, id="without a hint it is"),
        pytest.param([Registration("Fit", CHANGE, WAKES)], True, "Queue", id="if its hint says so"),
        pytest.param([Registration("Fit", CHANGE, SKIPS)], False, "QueueSkip", id="not if its hint says no"),
        pytest.param([Registration("Fit", CHANGE, breaks)], True, "Error", id="N35 if its hint breaks"),
        pytest.param([Registration("Fit", CHANGE, nonsense)], True, "Error", id="if its hint answers nonsense"),
        pytest.param([Registration("Fit", OTHER)], False, None, id="not by another event"),
        pytest.param([Registration("Taints", CHANGE)], False, None, id="not for a plugin that did not refuse it"),
        pytest.param([Registration("Fit", CHANGE, SKIPS), Registration("Fit", CHANGE)], True, "QueueSkip", id="by one"),
    ],
)
def test_an_event_wakes_a_pod_that_a_registered_plugin_refused(
    registered: Sequence[Registration], is_woken: bool, said: str | None
) -> None:
    async def scene() -> None:
        here = room(*registered)
        await here.refuse(make_pod())
        here.change()
        assert here.queue.sizes()["backoff"] == is_woken
        assert {hint for _, _, hint in here.counts.said} == ({said} if said else set())

    play(scene)


def test_a_plugin_is_asked_with_the_pod_and_the_object_before_and_after() -> None:
    async def scene() -> None:
        asked: list[tuple[Pod, KubeObject | None, KubeObject | None]] = []

        def hint(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
            asked.append((pod, old, new))
            return QueueingHint.SKIP

        here, pod, old, new = room(Registration("Fit", CHANGE, hint)), make_pod(), make_node("n1"), make_node("n1")
        await here.refuse(pod)
        here.queue.happened(CHANGE, old, new)
        assert len(asked) == 1
        assert all(given is meant for given, meant in zip(asked[0], (pod, old, new), strict=True))

    play(scene)


def test_pods_for_which_the_event_does_not_count_are_not_asked() -> None:
    async def scene() -> None:
        here = room(Registration("Fit", CHANGE, WAKES))
        for name in ("a", "b"):
            await here.refuse(make_pod(name))
        here.queue.happened(CHANGE, None, None, allow=lambda pod: pod.metadata.name == "b")
        assert here.counts.said == {("Fit", "NodeUpdateNodeLabel", "Queue"): 1}
        assert await here.pop_name() == "b"

    play(scene)


def test_another_profiles_plugins_wake_nobody_here() -> None:
    hints = Hints({"ours": [Registration("Fit", OTHER)], "theirs": [Registration("Fit", CHANGE)]})
    queued = QueuedPodInfo(make_pod(scheduler_name="ours"), 0, 0, refused_by=REFUSED)
    concern = hints.concern(CHANGE)
    assert concern is not None
    assert not hints.may_help(queued, concern)


# -- a plugin that wakes its pods itself -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("by", "sizes"),
    [
        pytest.param(WAITER, {"active": 1, "backoff": 0}, id="it is tried at once"),
        pytest.param(REFUSED, {"active": 0, "backoff": 1}, id="another plugin's pod waits for the end of its back-off"),
        pytest.param(WAITER | REFUSED, {"active": 1, "backoff": 0}, id="its word counts, whatever others say"),
    ],
)
def test_a_pod_that_was_refused_as_pending_skips_its_back_off(by: frozenset[str], sizes: dict[str, int]) -> None:
    async def scene() -> None:
        here = room(Registration("Fit", CHANGE), Registration("Waiter", CHANGE, WAKES))
        here.queue.add(make_pod())
        here.queue.add_back(await here.queue.pop(), by, by & WAITER)
        here.change()
        assert {name: here.queue.sizes()[name] for name in sizes} == sizes

    play(scene)


def test_a_pending_plugin_that_does_not_care_leaves_it_to_the_others() -> None:
    async def scene() -> None:
        here = room(Registration("Waiter", CHANGE, SKIPS), Registration("Fit", CHANGE))
        here.queue.add(make_pod())
        here.queue.add_back(await here.queue.pop(), WAITER | REFUSED, WAITER)
        here.change()
        assert here.queue.sizes()["backoff"] == 1

    play(scene)


# -- during an attempt -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hint", "place"),
    [
        pytest.param(WAKES, "backoff", id="N12 that may help brings it back after its back-off"),
        pytest.param(SKIPS, "unschedulable", id="that does not help leaves it waiting"),
    ],
)
def test_what_happens_during_an_attempt_counts_when_it_fails(hint: HintFunction, place: str) -> None:
    async def scene() -> None:
        here = room(Registration("Fit", GONE, hint))
        here.queue.happened(POD_DELETED, make_pod("early"), None)
        here.queue.add(make_pod())
        queued = await here.queue.pop()
        here.queue.happened(POD_DELETED, make_pod("gone", node="n2"), None)
        here.queue.add_back(queued, REFUSED)
        assert here.queue.sizes()[place] == 1
        assert sum(here.counts.said.values()) == 1

    play(scene)


def test_what_happened_during_an_attempt_may_be_what_a_pending_plugin_waits_for() -> None:
    async def scene() -> None:
        here = room(Registration("Fit", CHANGE), Registration("Waiter", OTHER))
        here.queue.add(make_pod())
        queued = await here.queue.pop()
        here.change()
        here.queue.happened(OTHER, None, None)
        here.queue.add_back(queued, WAITER | REFUSED, WAITER)
        assert here.queue.sizes()["active"] == 1

    play(scene)


def test_an_update_of_the_pod_itself_during_its_attempt_counts_too() -> None:
    async def scene() -> None:
        here = room(Registration("Fit", ClusterEvent(POD, ActionType.UPDATE_POD_LABEL)))
        here.queue.add(make_pod())
        queued = await here.queue.pop()
        here.queue.add(make_pod(labels={"a": "b"}))
        here.queue.add_back(queued, REFUSED)
        assert here.queue.sizes()["backoff"] == 1

    play(scene)


# -- storms ----------------------------------------------------------------------------------------------------------


def test_fc_070_an_event_every_100_ms_neither_shortens_a_back_off_nor_starves_who_is_less_important() -> None:
    async def scene() -> None:
        here = room(Registration("Fit", CHANGE))
        for number in range(300):
            here.queue.add(make_pod(f"high-{number}", priority=1000))
        here.queue.add(make_pod("low"))
        tried: dict[str, list[float]] = {}
        until = 40.0
        while now() < until:
            here.queue.add(make_pod("filler", priority=-1))
            queued = await here.queue.pop()
            name = queued.pod.metadata.name
            tried.setdefault(name, []).append(now())
            if name.startswith("high"):
                here.queue.add_back(queued, REFUSED)
            else:
                here.queue.done(queued.pod.uid)
            if name == "filler":
                await asyncio.sleep(0.1)
                here.change()
        assert tried["low"] == [0]
        high = [times for name, times in tried.items() if name.startswith("high")]
        assert len(high) == 300
        for times in high:  # a back-off ends with a whole second, and the loop is back after 100 ms
            for gap, backoff in zip(pairwise(times), (1, 2, 4, 8, 10, 10), strict=False):
                assert backoff - 0.001 <= gap[1] - gap[0] <= backoff + 1.2

    play(scene)


# -- implicit registration ------------------------------------------------------------------------------------------


def test_n34_a_plugin_that_registers_nothing_is_woken_by_every_usual_kind() -> None:
    class Silent:
        Args = NoArgs

        def __init__(self, args: NoArgs, handle: Handle) -> None: ...

        @hookimpl
        def filter(self) -> Status | None:
            return None

    profile = build_profile(("PrioritySort", "Silent", "DefaultBinder"), given={"Silent": Silent})
    hints = Hints({profile.profile: profile.registrations})
    queued = QueuedPodInfo(make_pod(), 0, 0, refused_by=frozenset({"Silent"}))
    added = hints.concern(ClusterEvent("storage.k8s.io/CSINode", ActionType.ADD))
    assert added is not None
    assert hints.may_help(queued, added)
    assert hints.worth(queued, added, None, make_node("n1")).name == "AFTER_BACKOFF"
    assert hints.concern(ClusterEvent("storage.k8s.io/VolumeAttachment", ActionType.ADD)) is None
