"""PreEnqueue, dry runs, PostFilter, Permit and PostBind: what the runner makes of plugins' answers."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from koordpy.framework.runner import Framework
from koordpy.framework.verdicts import PostFiltered
from koordpy.framework.waiting import MAX_WAIT_S, duration_text
from koordpy.scheduler.outcome import NotPlaced, Placed
from koordpy.testing import CycleHarness, make_node, make_pod
from koordpy.virtual_time import run
from koordpy_api import Code, CycleState, Handle, NoArgs, PostFilterResult, StateKey, Status, Wait
from tests.framework.scripted_plugins import info, nodes, plugin, profile, raising, skipping

POD = make_pod("web")
(NODE,) = nodes(make_node("n1"))
BOOM = ValueError("boom")
PENDING = Status(Code.PENDING, ("later",))


def row(name: str, *values: Any) -> Any:
    return pytest.param(*values, id=name)


def saying(answer: object) -> Callable[[], object]:
    return lambda: answer


# -- PreEnqueue ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hook", "gate"),
    [
        row("nothing lets the Pod through", saying(None), None),
        row("unschedulable gates", saying(Status.unschedulable("held")), Status.unschedulable("held").by("A")),
        row("unresolvable gates", saying(Status.unresolvable("held")), Status.unresolvable("held").by("A")),
        row("pending gates", saying(PENDING), PENDING.by("A")),
        row("an error gates", saying(Status.error("torn")), Status.error("torn").by("A")),
        row(
            "an exception gates",
            raising(BOOM),
            Status.error('running PreEnqueue plugin "A": ValueError: boom').by("A"),
        ),
        row(
            "skip is no success",
            skipping,
            Status.error('plugin "A" answered SKIP, which is unsupported at PreEnqueue').by("A"),
        ),
    ],
)
def test_the_first_answer_of_pre_enqueue_that_is_not_none_gates(hook: Any, gate: Status | None) -> None:
    asked: list[str] = []
    framework = profile(A=plugin(pre_enqueue=hook), B=plugin(pre_enqueue=lambda: asked.append("B")))
    assert framework.run_pre_enqueue(POD) == gate
    assert asked == ([] if gate else ["B"])


# -- dry runs --------------------------------------------------------------------------------------------------------

COUNT = StateKey[list[int]]("Counting", clone=list.copy)


def counting(answer: Callable[[], object] = lambda: None) -> type:
    return plugin(
        pre_filter=lambda state: state.write(COUNT, [0]),
        add_pod=lambda state, added, node_info: state.read(COUNT).append(1) or answer(),
        remove_pod=lambda state, removed, node_info: state.read(COUNT).append(-1) or answer(),
    )


def test_a_dry_run_moves_pods_in_a_clone_of_the_state() -> None:
    framework, state = profile(A=counting()), CycleState()
    framework.run_pre_filter(state, POD, [NODE])
    clone = state.clone()
    assert framework.run_add_pod(clone, POD, info(make_pod("other")), NODE) is None
    assert framework.run_remove_pod(clone, POD, info(make_pod("other")), NODE) is None
    assert (state.read(COUNT), clone.read(COUNT)) == ([0], [0, 1, -1])


def test_p01_a_plugin_that_skips_at_pre_filter_takes_no_part_in_a_dry_run() -> None:
    moved = raising(AssertionError("must not be asked"))
    framework, state = profile(A=plugin(pre_filter=skipping, add_pod=moved, remove_pod=moved)), CycleState()
    framework.run_pre_filter(state, POD, [NODE])
    assert framework.run_add_pod(state.clone(), POD, info(POD), NODE) is None
    assert framework.run_remove_pod(state.clone(), POD, info(POD), NODE) is None


def test_a_skip_is_remembered_for_the_dry_run_also_when_pre_filter_refuses_the_pod() -> None:
    moved = raising(AssertionError("must not be asked"))
    framework = profile(
        A=plugin(pre_filter=skipping, add_pod=moved), B=plugin(pre_filter=saying(Status.unresolvable("no")))
    )
    state = CycleState()
    framework.run_pre_filter(state, POD, [NODE])
    assert framework.run_add_pod(state, POD, info(POD), NODE) is None


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        row("an exception", raising(BOOM), 'running AddPod on PreFilter plugin "A": ValueError: boom'),
        row("an error", saying(Status.error("torn")), 'running AddPod on PreFilter plugin "A": torn'),
        row("a refusal", saying(Status.unschedulable("no")), 'plugin "A" answered UNSCHEDULABLE, which is unsupported'),
    ],
)
def test_whatever_else_a_dry_run_is_answered_is_an_error(answer: Callable[[], object], text: str) -> None:
    framework, state = profile(A=counting(answer)), CycleState()
    framework.run_pre_filter(state, POD, [NODE])
    status = framework.run_add_pod(state, POD, info(POD), NODE)
    assert status is not None
    assert (status.code, status.plugin) == (Code.ERROR, "A")
    assert status.message.startswith(text)


# -- PostFilter ------------------------------------------------------------------------------------------------------

NO_ROOM = Status.unschedulable("no room")


@pytest.mark.parametrize(
    ("first", "second", "made"),
    [
        row("nobody has anything to say", None, None, PostFiltered(None, None)),
        row(
            "P07 the first that makes room ends the asking",
            NO_ROOM,
            PostFilterResult("n1"),
            PostFiltered("n1", None),
        ),
        row("the others are not asked", PostFilterResult("n1"), BOOM, PostFiltered("n1", None)),
        row(
            "all refuse: every reason, by the first",
            NO_ROOM,
            Status.unschedulable("nor here"),
            PostFiltered(None, Status.unschedulable("no room", "nor here").by("A")),
        ),
        row(
            "a refusal that clears the nomination is kept",
            PostFilterResult("", NO_ROOM),
            Status.unschedulable("nor here"),
            PostFiltered("", Status.unschedulable("no room", "nor here").by("A")),
        ),
        row(
            "pending counts like unschedulable",
            PENDING,
            None,
            PostFiltered(None, Status.unschedulable("later").by("A")),
        ),
        row(
            "unresolvable ends the asking",
            Status.unresolvable("hopeless"),
            BOOM,
            PostFiltered(None, Status.unresolvable("hopeless").by("A")),
        ),
        row(
            "an error ends the asking",
            Status.error("torn"),
            BOOM,
            PostFiltered(None, Status.error('running PostFilter plugin "A": torn').by("A")),
        ),
        row(
            "an exception ends the asking",
            BOOM,
            NO_ROOM,
            PostFiltered(None, Status.error('running PostFilter plugin "A": ValueError: boom').by("A")),
        ),
        row(
            "skip is an error",
            Status.skip(),
            BOOM,
            PostFiltered(None, Status.error('plugin "A" answered SKIP, which is unsupported at PostFilter').by("A")),
        ),
        row(
            "a node's name alone is an error",
            "n1",
            BOOM,
            PostFiltered(None, Status.error('plugin "A" answered str, which is unsupported at PostFilter').by("A")),
        ),
    ],
)
def test_what_post_filter_comes_to(first: object, second: object, made: PostFiltered) -> None:
    def hook(answer: object) -> Any:
        return raising(answer) if isinstance(answer, Exception) else saying(answer)

    framework = profile(A=plugin(post_filter=hook(first)), B=plugin(post_filter=hook(second)))
    assert framework.run_post_filter(CycleState(), POD, {}) == made


def attempt(**plugins: Any) -> NotPlaced:
    outcome = CycleHarness([make_node("n1"), make_node("n2")], profile(**plugins)).schedule(POD)
    assert isinstance(outcome, NotPlaced)
    return outcome


def full(node_info: Any) -> Status | None:
    return Status.unschedulable("full") if node_info.name == "n1" else Status.unresolvable("no such disk")


def test_post_filter_is_told_of_every_node_and_its_words_follow_the_counts() -> None:
    got: list[dict[str, Status]] = []

    def post_filter(refusals: Any) -> PostFilterResult:
        got.append(dict(refusals))
        return PostFilterResult("", Status.unschedulable("preemption: 0/2 nodes are available."))

    outcome = attempt(A=plugin(filter=full, post_filter=post_filter))
    assert got == [{"n1": Status.unschedulable("full").by("A"), "n2": Status.unresolvable("no such disk").by("A")}]
    assert outcome.status.message == (
        "0/2 nodes are available: 1 full, 1 no such disk. preemption: 0/2 nodes are available."
    )
    assert (outcome.status.code, outcome.nominated) == (Code.UNSCHEDULABLE, "")


def test_after_a_refusal_at_pre_filter_every_node_has_that_refusal() -> None:
    got: list[dict[str, Status]] = []
    outcome = attempt(
        A=plugin(
            pre_filter=saying(Status.unresolvable("no claim")), post_filter=lambda refusals: got.append(dict(refusals))
        )
    )
    refusal = Status.unresolvable("no claim").by("A")
    assert got == [{"n1": refusal, "n2": refusal}]
    assert outcome.status.message == "0/2 nodes are available: no claim."
    assert outcome.nominated is None


def test_room_that_was_made_says_nothing_and_the_pod_stays_refused() -> None:
    outcome = attempt(A=plugin(filter=full, post_filter=saying(PostFilterResult("n1"))))
    assert outcome.status.message == "0/2 nodes are available: 1 full, 1 no such disk."
    assert (outcome.status.code, outcome.nominated) == (Code.UNSCHEDULABLE, "n1")


def test_a_post_filter_that_breaks_is_told_beside_the_refusal_which_stays_one() -> None:
    outcome = attempt(A=plugin(filter=full, post_filter=raising(BOOM)))
    assert outcome.status.code is Code.UNSCHEDULABLE
    assert outcome.status.message.endswith('no such disk. running PostFilter plugin "A": ValueError: boom')


def test_post_filter_is_not_asked_when_something_broke() -> None:
    asked: list[str] = []
    outcome = attempt(A=plugin(filter=raising(BOOM), post_filter=lambda: asked.append("A")))
    assert (outcome.status.code, asked, outcome.nominated) == (Code.ERROR, [], "")


# -- Permit ----------------------------------------------------------------------------------------------------------


def test_p10_waiting_longer_than_15_minutes_is_15_minutes() -> None:
    framework = profile(A=plugin(permit=saying(Wait(5))), B=plugin(permit=saying(Wait(20 * 60))))
    assert framework.run_permit(CycleState(), POD, "n1") is None
    waiting = framework.waiting.get(POD.uid)
    assert waiting is not None
    assert (waiting.timeouts_s, waiting.node_name) == ({"A": 5, "B": MAX_WAIT_S}, "n1")


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        row("a refusal", saying(Status.unschedulable("no")), Status.unschedulable("no").by("B")),
        row("pending", saying(PENDING), PENDING.by("B")),
        row("an exception", raising(BOOM), Status.error('running Permit plugin "B": ValueError: boom').by("B")),
        row(
            "a Status that waits without a time-out",
            saying(Status(Code.WAIT)),
            Status.error('plugin "B" answered WAIT, which is unsupported at Permit').by("B"),
        ),
        row(
            "skip",
            skipping,
            Status.error('plugin "B" answered SKIP, which is unsupported at Permit').by("B"),
        ),
        row(
            "a time that is none",
            saying(Wait(-1)),
            Status.error('plugin "B" answered Wait, which is unsupported at Permit').by("B"),
        ),
    ],
)
def test_whoever_does_not_permit_ends_the_asking_and_nobody_waits(answer: Any, status: Status) -> None:
    framework = profile(
        A=plugin(permit=saying(Wait(5))), B=plugin(permit=answer), C=plugin(permit=raising(AssertionError()))
    )
    assert framework.run_permit(CycleState(), POD, "n1") == status
    assert framework.waiting.all() == []


def test_a_refusal_at_permit_is_counted_over_the_one_node_and_what_is_held_is_let_go_of() -> None:
    outcome = attempt(A=plugin(permit=saying(Status.unschedulable("not yet"))))
    assert outcome.status.message == "0/1 nodes are available: 1 not yet."
    assert outcome.held in ("n1", "n2")


def waiting_profile(**timeouts_s: float) -> tuple[Framework, Handle]:
    """Plugins that wait, and the Handle that one of them was given."""
    handles: list[Handle] = []

    def construct(self: object, args: NoArgs, handle: Handle) -> None:
        handles.append(handle)

    plugins: dict[str, Any] = {
        name: plugin(__init__=construct, permit=saying(Wait(timeout_s))) for name, timeout_s in timeouts_s.items()
    }
    return profile(**plugins), handles[0]


def settle(framework: Framework, handle: Handle, *words: tuple[float, str, str]) -> tuple[float, Status | None]:
    """At second, (allow or the reason of a rejection), plugin. Returns when it ended and how."""

    async def main() -> tuple[float, Status | None]:
        framework.run_permit(CycleState(), POD, "n1")
        task = asyncio.create_task(framework.wait_on_permit(POD))
        loop = asyncio.get_running_loop()
        for second, word, name in words:
            await asyncio.sleep(second - loop.time())
            if (waiting := handle.waiting_pod(POD.uid)) is not None:
                assert waiting.allow(name) if word == "allow" else waiting.reject(name, word)
        status = await task
        assert handle.waiting_pods() == []
        return loop.time(), status

    ended: tuple[float, Status | None] = run(main())
    return ended


def test_a_pod_is_bound_once_all_have_allowed_it() -> None:
    framework, handle = waiting_profile(A=5, B=20)
    assert settle(framework, handle, (3, "allow", "A"), (12, "allow", "B")) == (12, None)


def test_p11_time_that_is_up_is_a_refusal_in_upstreams_words() -> None:
    framework, handle = waiting_profile(A=10)
    text = "rejected due to timeout after waiting 10s at plugin A"
    assert settle(framework, handle) == (10, Status.unschedulable(text).by("A"))


def test_the_earliest_time_out_of_those_who_still_wait_counts() -> None:
    framework, handle = waiting_profile(A=5, B=20, C=3600)
    text = "rejected due to timeout after waiting 20s at plugin B"
    assert settle(framework, handle, (4, "allow", "A")) == (20, Status.unschedulable(text).by("B"))


def test_the_first_rejection_counts_whatever_the_others_say() -> None:
    framework, handle = waiting_profile(A=5, B=20)
    assert settle(framework, handle, (1, "the group is broken", "B")) == (
        1,
        Status.unschedulable("the group is broken").by("B"),
    )


def test_nobody_waits_where_nobody_asked_to() -> None:
    framework = profile(A=plugin(permit=saying(None)))

    async def main() -> Status | None:
        framework.run_permit(CycleState(), POD, "n1")
        return await framework.wait_on_permit(POD)

    assert run(main()) is None


def test_words_after_the_first_and_of_strangers_change_nothing() -> None:
    framework, handle = waiting_profile(A=5, B=5)
    framework.run_permit(CycleState(), POD, "n1")
    waiting = handle.waiting_pod(POD.uid)
    assert waiting is not None
    assert not waiting.allow("Stranger")
    assert waiting.allow("A")
    assert not waiting.allow("A")
    assert waiting.pending_plugins == {"B"}
    assert waiting.reject("B", "no")
    assert not waiting.reject("B", "no")
    assert not waiting.allow("B")


def test_a_pod_that_waits_is_placed_for_the_cycle() -> None:
    framework, _ = waiting_profile(A=5)
    assert isinstance(CycleHarness([make_node("n1")], framework).schedule(POD), Placed)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (10, "10s"),
        (1.5, "1.5s"),
        (0.25, "250ms"),
        (0.0015, "1.5ms"),
        (0.000002, "2µs"),
        (60, "1m0s"),
        (900, "15m0s"),
        (3600, "1h0m0s"),
        (5400.25, "1h30m0.25s"),
    ],
)
def test_durations_read_as_gos(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


# -- PostBind --------------------------------------------------------------------------------------------------------


def test_every_post_bind_is_told_whatever_the_others_do(caplog: pytest.LogCaptureFixture) -> None:
    told: list[str] = []

    async def slowly() -> None:
        await asyncio.sleep(1)
        told.append("C")

    framework = profile(
        A=plugin(post_bind=lambda: told.append("A")), B=plugin(post_bind=raising(BOOM)), C=plugin(post_bind=slowly)
    )
    run(framework.run_post_bind(CycleState(), POD, "n1"))
    assert told == ["A", "C"]
    blamed = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert blamed == ['running PostBind plugin "B": ValueError: boom']
