"""A profile that cannot work is refused at the start, with the plugin's name and what would be right."""

from importlib.metadata import EntryPoint
from typing import Annotated, Any

import pytest
from pydantic import Field

from koordpy.errors import ConfigError, PluginError
from koordpy.framework.registry import GROUP, Registry
from koordpy.testing import build_profile, make_node, make_pod
from koordpy.virtual_time import run
from koordpy_api import CycleState, Handle, NoArgs, PluginArgs, QueuedPod, Status, hookimpl
from koordpy_api.objects import Device
from tests.framework.scripted_plugins import SORT_AND_BIND, bare_profile, nodes, plugin, profile


class LimitArgs(PluginArgs):
    max_pods: Annotated[int, Field(ge=1)] = 3


class AsyncPreBind:
    Args = NoArgs

    def __init__(self, args: NoArgs, handle: Handle) -> None: ...

    @hookimpl
    async def pre_bind(self, pod: object) -> Status:
        return Status.unschedulable("asked asynchronously")


def row(name: str, *values: Any) -> Any:
    return pytest.param(*values, id=name)


def test_a_plugin_that_breaks_while_it_is_constructed_is_named() -> None:
    def construct(self: object, args: object, handle: object) -> None:
        raise ValueError("no such model")

    with pytest.raises(PluginError, match=r'^initializing plugin "A": ValueError: no such model$'):
        profile(
            A=plugin(
                __init__=construct,
            )
        )


def test_an_async_hook_of_the_binding_cycle_is_awaited() -> None:
    framework = profile(A=AsyncPreBind)
    answer = run(framework.run_pre_bind(CycleState(), make_pod(), "n1"))
    assert answer == Status.unschedulable("asked asynchronously").by("A")


def test_an_unknown_plugin_is_refused_with_the_names_that_are_installed() -> None:
    with pytest.raises(PluginError) as refused:
        build_profile(("PrioritySort", "Nope", "DefaultBinder"))
    text = str(refused.value)
    assert text.startswith('plugin "Nope" does not exist; installed are DefaultBinder, DeviceShare, ImageLocality,')
    assert "entry point of the group koordpy.scheduler" in text


@pytest.mark.parametrize(
    ("names", "plugins", "text"),
    [
        row(
            "two queue sorts",
            ("PrioritySort", "Mine", "DefaultBinder"),
            {"Mine": plugin(queue_sort=lambda queued: (0,))},
            "only one queue sort plugin required for profile with scheduler name 'koordpy-scheduler', "
            "but got 2: PrioritySort, Mine",
        ),
        row(
            "no queue sort",
            ("DefaultBinder",),
            {},
            "only one queue sort plugin required for profile with scheduler name 'koordpy-scheduler', but got 0: none",
        ),
        row(
            "no bind",
            ("PrioritySort",),
            {},
            "at least one bind plugin is needed for profile with scheduler name 'koordpy-scheduler'",
        ),
    ],
)
def test_every_profile_has_one_queue_sort_and_a_bind(
    names: tuple[str, ...], plugins: dict[str, type], text: str
) -> None:
    with pytest.raises(PluginError) as refused:
        bare_profile(names, plugins)
    assert str(refused.value) == text


@pytest.mark.parametrize(
    ("args", "text"),
    [
        row("an unknown key", {"maxPod": 1}, "args.maxPod is '1': unknown field"),
        row("a value out of range", {"maxPods": 0}, "args.maxPods is '0': must be at least 1"),
        row("a text for a number", {"maxPods": "3"}, "args.maxPods is '3': must be a whole number, not a text"),
        row("a boolean for a number", {"maxPods": True}, "args.maxPods is 'true': must be a whole number"),
    ],
)
def test_arguments_are_checked_against_the_plugins_model(args: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        profile(A=plugin(Args=LimitArgs), args={"A": args})
    assert str(refused.value).startswith(f"pluginConfig of A: {text}")


def test_a_plugin_without_a_model_takes_no_arguments() -> None:
    with pytest.raises(ConfigError, match=r"pluginConfig of A: args.any is '1': unknown field"):
        profile(A=plugin(), args={"A": {"any": 1}})


def test_a_plugin_is_given_its_arguments_with_the_defaults_filled_in() -> None:
    got: list[LimitArgs] = []
    limited = plugin(Args=LimitArgs, __init__=lambda self, args, handle: got.append(args))
    profile(A=limited, B=limited, args={"B": {"maxPods": 8}})
    assert [args.max_pods for args in got] == [3, 8]


def test_every_plugin_sees_what_all_of_them_account_for() -> None:
    handles: list[Handle] = []

    def accounting(*names: str) -> type:
        return plugin(
            __init__=lambda self, args, handle: handles.append(handle),
            accounts_for=staticmethod(lambda args: frozenset(names)),
        )

    profile(A=accounting(), B=accounting("acme.io/a"), C=accounting("acme.io/a", "acme.io/b"))
    assert {handle.accounted_resources for handle in handles} == {frozenset({"acme.io/a", "acme.io/b"})}


def test_a_kind_can_be_watched_only_while_the_plugin_is_constructed() -> None:
    handles: list[Handle] = []
    profile(A=plugin(__init__=lambda self, args, handle: handles.append(handle)))
    with pytest.raises(PluginError, match=r"watch\(Device\) is only possible while the plugin is being constructed"):
        handles[0].watch(Device, object())  # type: ignore[arg-type]


def test_the_annotations_that_plugins_declare_are_kept_once_each() -> None:
    framework = profile(A=plugin(ANNOTATIONS=("a/", "b/")), B=plugin(ANNOTATIONS=("b/", "c/")))
    assert framework.annotation_prefixes == ("a/", "b/", "c/")


def test_the_profiles_order_is_the_order_of_the_calls_whatever_the_order_of_the_classes() -> None:
    called: list[str] = []
    hooks = {name: _noting(name, called) for name in "ABC"}
    framework = bare_profile(("C", "PrioritySort", "A", "DefaultBinder", "B"), hooks)
    framework.run_filter(CycleState(), make_pod(), nodes(make_node("n1")))
    assert called == ["C", "A", "B"]


def _noting(name: str, called: list[str]) -> type:
    return plugin(filter=lambda node_info: called.append(name))


def test_a_hook_gets_the_arguments_that_it_names_in_the_order_in_which_it_names_them() -> None:
    got: list[tuple[object, ...]] = []
    state, pod, (node,) = CycleState(), make_pod(), nodes(make_node("n1"))
    framework = profile(
        A=plugin(filter=lambda: got.append(())),
        B=plugin(filter=lambda node_info, state: got.append((node_info, state))),
        C=plugin(filter=lambda state, pod, node_info: got.append((state, pod, node_info))),
    )
    framework.run_filter(state, pod, [node])
    assert got == [(), (node, state), (state, pod, node)]


@pytest.mark.parametrize(
    ("points", "text"),
    [
        row(
            "nobody offers it",
            [],
            'plugin "A" does not exist; installed are none. A plugin is found by an entry point of the group',
        ),
        row(
            "two distributions offer it",
            [EntryPoint("A", "koordpy.clock:Clock", GROUP), EntryPoint("A", "koordpy.clock:SystemClock", GROUP)],
            'plugin "A" is offered by an unknown distribution (koordpy.clock:Clock) and an unknown distribution '
            "(koordpy.clock:SystemClock); uninstall all but one",
        ),
        row(
            "its module does not exist",
            [EntryPoint("A", "koordpy_nothing:A", GROUP)],
            'plugin "A" of an unknown distribution cannot be imported from koordpy_nothing:A: ModuleNotFoundError:',
        ),
        row(
            "its module has no such class",
            [EntryPoint("A", "koordpy.clock:Nothing", GROUP)],
            'plugin "A" of an unknown distribution cannot be imported from koordpy.clock:Nothing: AttributeError:',
        ),
        row(
            "it is no class",
            [EntryPoint("A", "koordpy.virtual_time:run", GROUP)],
            'plugin "A" of an unknown distribution: koordpy.virtual_time:run is a function, but the entry point must',
        ),
    ],
)
def test_an_entry_point_that_cannot_be_used_is_refused(points: list[EntryPoint], text: str) -> None:
    with pytest.raises(PluginError) as refused:
        Registry(points).load("A")
    assert str(refused.value).startswith(text)


def test_a_broken_plugin_that_no_profile_names_harms_nobody() -> None:
    broken = EntryPoint("Broken", "koordpy_nothing:Broken", GROUP)
    registry = Registry([broken, EntryPoint("Clock", "koordpy.clock:SystemClock", GROUP)])
    assert registry.names == ["Broken", "Clock"]
    assert registry.load("Clock").__name__ == "SystemClock"


def test_the_installed_plugins_are_found_under_their_names() -> None:
    assert {*SORT_AND_BIND, "NodeName", "NodeUnschedulable", "TaintToleration", "NodeResourcesFit"} <= {
        *Registry().names
    }


def test_two_profiles_have_plugins_of_their_own() -> None:
    made: list[object] = []
    counting = plugin(__init__=lambda self, args, handle: made.append(self), queue_sort=lambda queued: (1,))
    first, second = (bare_profile(("A", "DefaultBinder"), {"A": counting}) for _ in range(2))
    assert len(made) == 2
    assert first.queue_sort(QueuedPod(make_pod(), 0, 0, 1)) == second.queue_sort(QueuedPod(make_pod(), 0, 0, 1))
