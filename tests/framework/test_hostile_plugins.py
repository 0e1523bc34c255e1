"""What a plugin may do to the host that no type checker sees: the attempt ends as an error, the host goes on."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import field_validator

from koordpy.config.load import parse_whole
from koordpy.errors import ConfigError, PluginError
from koordpy.framework.registry import Registry
from koordpy.scheduler.outcome import NotPlaced, Placed
from koordpy.testing import CycleHarness, build_profile, make_node, make_pod
from koordpy_api import (
    Code,
    CycleState,
    EventRegistration,
    Handle,
    NoArgs,
    NodeInfo,
    PluginArgs,
    QueuedPod,
    SortKey,
    Status,
    hookimpl,
)
from koordpy_api.objects import Pod


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("even my text is broken")


def raised(error: BaseException) -> Any:
    raise error


@pytest.mark.parametrize(
    ("deed", "said"),
    [
        pytest.param(lambda: raised(asyncio.CancelledError()), "CancelledError", id="it cancels what nobody started"),
        pytest.param(lambda: raised(GeneratorExit()), "GeneratorExit", id="it leaves a generator that is none"),
        pytest.param(lambda: raised(Unspeakable()), "text cannot be made", id="its exception has no text"),
        pytest.param(lambda: Status(Code.UNSCHEDULABLE, None), "reasons are texts", id="no reasons"),  # type: ignore[arg-type]
        pytest.param(lambda: Status.unschedulable(["a"]), "reasons are texts", id="a list of reasons"),  # type: ignore[arg-type]
        pytest.param(lambda: Status(2), "koordpy_api.Code", id="a number for a code"),  # type: ignore[arg-type]
    ],
)
def test_a_filter_that_misbehaves_is_blamed_and_the_next_pod_is_placed(deed: Callable[[], Status], said: str) -> None:
    class Hostile:
        Args = NoArgs

        def __init__(self, args: NoArgs, handle: Handle) -> None:
            pass

        @hookimpl
        def queue_sort(self, queued: QueuedPod) -> SortKey:
            return (0,)

        @hookimpl
        def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status | None:
            return deed() if pod.metadata.name == "bad" else None

    framework = build_profile(["Hostile", "DefaultBinder"], given={"Hostile": Hostile})
    harness = CycleHarness([make_node("n1")], framework)
    refused = harness.schedule(make_pod("bad"))
    assert isinstance(refused, NotPlaced)
    assert refused.status.code is Code.ERROR
    assert refused.status.plugin == "Hostile"
    assert said in refused.status.message
    assert isinstance(harness.schedule(make_pod("good")), Placed)


class Registering:
    Args = NoArgs

    def __init__(self, args: NoArgs, handle: Handle) -> None:
        pass

    @hookimpl
    def filter(self, pod: Pod) -> None:
        return None

    @hookimpl
    def events_to_register(self) -> Any:
        return [EventRegistration("Pod")]  # type: ignore[arg-type]


class StrangeArgs(PluginArgs):
    depth: int = 1

    @field_validator("depth")
    @classmethod
    def _broken(cls, depth: int) -> int:
        depths: dict[int, int] = {}
        return depths[depth]


class Validating:
    Args = StrangeArgs

    def __init__(self, args: StrangeArgs, handle: Handle) -> None:
        pass


class TalkativeArgs(PluginArgs):
    def not_in_effect(self) -> list[str]:
        return "hello"  # type: ignore[return-value]


class Talkative:
    Args = TalkativeArgs

    def __init__(self, args: TalkativeArgs, handle: Handle) -> None:
        pass


@pytest.mark.parametrize(
    ("offered", "said"),
    [
        pytest.param(Registering, "EventRegistration is wanted", id="an event that is a text"),
        pytest.param(Talkative, "a list of texts is wanted", id="warnings that are one text"),
    ],
)
def test_a_plugin_that_declares_nonsense_is_refused_by_name(offered: type, said: str) -> None:
    with pytest.raises(PluginError, match=said) as error:
        build_profile(["PrioritySort", "Odd", "DefaultBinder"], given={"Odd": offered})
    assert 'plugin "Odd"' in str(error.value)


def test_a_validator_that_breaks_is_told_with_the_place_of_the_arguments() -> None:
    text = (
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles:\n- schedulerName: a\n  plugins: {multiPoint: {enabled: [{name: Odd}]}}\n"
        "  pluginConfig:\n  - name: Odd\n    args: {depth: 3}\n"
    )
    with pytest.raises(ConfigError, match=r"conf.yaml:8: profiles\[0\]\.pluginConfig\[0\]\.args .*validator breaks"):
        parse_whole(text, "conf.yaml", Registry(given={"Odd": Validating}))
