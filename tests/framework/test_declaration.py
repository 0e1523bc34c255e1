"""A plugin's class is checked before anything is constructed: every mistake of its author, with the fix."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from koordpy.errors import PluginError
from koordpy.framework.declaration import declare, kind_of
from koordpy.framework.points import ALL_HOOKS
from koordpy_api import CycleState, Handle, NoArgs, NodeInfo, hookimpl
from koordpy_api.objects import Pod
from tests.framework.scripted_plugins import plugin


class Base:
    """A plugin but for its hooks."""

    Args = NoArgs

    def __init__(self, args: NoArgs, handle: Handle) -> None: ...


class WrongArgument(Base):
    @hookimpl
    def filter(self, state: CycleState, pod: object, node: object) -> None: ...


class StrangeArgument(Base):
    @hookimpl
    def filter(self, cluster: object) -> None: ...


class StarArguments(Base):
    @hookimpl
    def filter(self, state: CycleState, *rest: object) -> None: ...


class DefaultForAKnownArgument(Base):
    @hookimpl
    def filter(self, state: CycleState, pod: Pod | None = None) -> None: ...


class NoSelf(Base):
    @hookimpl
    def filter() -> None: ...  # type: ignore[misc]


class MisspeltHook(Base):
    @hookimpl
    def fliter(self) -> None: ...


class UnknownHook(Base):
    @hookimpl
    def frobnicate(self) -> None: ...


class TryFirst(Base):
    @hookimpl(tryfirst=True)
    def filter(self) -> None: ...


class TryLast(Base):
    @hookimpl(trylast=True)
    def reserve(self) -> None: ...


class Wrapper(Base):
    @hookimpl(wrapper=True)
    def score(self) -> Iterator[Any]:
        yield


class AsyncFilter(Base):
    @hookimpl
    async def filter(self) -> None: ...


class NoDecorator(Base):
    @hookimpl
    def pre_filter(self) -> None: ...

    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> None: ...


class LonelyCompanion(Base):
    @hookimpl
    def add_pod(self) -> None: ...


class LonelyConstructor:
    Args = NoArgs

    def __init__(self, args: NoArgs) -> None: ...


def row(name: str, *values: Any) -> Any:
    return pytest.param(*values, id=name)


@pytest.mark.parametrize(
    ("broken", "text"),
    [
        row(
            "FC-117 an argument that the hook does not have",
            WrongArgument,
            "filter takes an argument node that the hook does not have (did you mean node_info?); expected "
            "filter(state, pod, node_info), or fewer of these",
        ),
        row(
            "an argument that looks like none of the hook's",
            StrangeArgument,
            "filter takes an argument cluster that the hook does not have; expected",
        ),
        row("any arguments", StarArguments, "filter takes *rest; name the arguments it wants of filter(state, pod,"),
        row("a default that hides the real value", DefaultForAKnownArgument, "filter takes pod by keyword or with a"),
        row("no self", NoSelf, "filter takes no self; make it a method, or a staticmethod"),
        row("FC-118 a misspelt hook", MisspeltHook, "implements fliter, which is no hook; did you mean filter?"),
        row(
            "a hook like no other",
            UnknownHook,
            "implements frobnicate, which is no hook; the hooks are pre_enqueue, queue_sort,",
        ),
        row(
            "FC-118 a hook without the decorator",
            NoDecorator,
            "its method filter has the name of a hook, but no @hookimpl, so it would never be called; add the "
            "decorator, or call the method _filter",
        ),
        row("a companion alone", LonelyCompanion, "add_pod is only called beside pre_filter, which it does not"),
        row(
            "tryfirst",
            TryFirst,
            "filter asks for an order of its own (tryfirst); the profile's order is the only one. Take tryfirst out",
        ),
        row("trylast", TryLast, "reserve asks for an order of its own (trylast); the profile's order is the only one"),
        row("a wrapper", Wrapper, "score asks for an order of its own (wrapper); the profile's order is the only one"),
        row(
            "an async hook in the scheduling cycle",
            AsyncFilter,
            "filter is async, but the scheduling cycle never awaits; only pre_bind, bind and post_bind may.",
        ),
        row("no Args", plugin(Args=None), "has no Args; add the line `Args = NoArgs`, or a subclass of"),
        row(
            "Args of another sort",
            plugin(Args=dict),
            "Args is <class 'dict'>, but must be a subclass of koordpy_api.PluginArgs",
        ),
        row("a constructor of one argument", LonelyConstructor, "its constructor must take (args, handle): too many"),
        row("no constructor", type("Bare", (), {"Args": NoArgs}), "its constructor must take (args, handle): "),
        row(
            "a plugin API of tomorrow",
            plugin(API_VERSION=99),
            "is written for plugin API 99, but this koordpy has plugin API 1; upgrade koordpy, or install an older",
        ),
        row("no version at all", plugin(API_VERSION="1.0"), "API_VERSION is '1.0'; a number from 1 to 1 is known"),
        row(
            "one text where prefixes are wanted",
            plugin(ANNOTATIONS="acme.io/"),
            "ANNOTATIONS is 'acme.io/', but must be a tuple of prefixes, as in",
        ),
    ],
)
def test_a_mistake_is_told_with_the_plugin_its_distribution_and_the_fix(broken: type, text: str) -> None:
    with pytest.raises(PluginError) as refused:
        declare("A", broken, "of acme 1.0")
    assert str(refused.value).startswith(f'plugin "A" of acme 1.0: {text}')


def test_a_class_given_by_hand_has_no_distribution_to_name() -> None:
    with pytest.raises(PluginError, match=r'^plugin "A": has no Args;'):
        declare("A", plugin(Args=None))


class FewerArguments(Base):
    @hookimpl
    def filter(self, pod: Pod) -> None: ...


class OneMoreWithADefault(Base):
    @hookimpl
    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo, extra: object = None) -> None: ...


class AnotherName(Base):
    @hookimpl(specname="filter")
    def refuse_mondays(self, pod: Pod) -> None: ...


class Static(Base):
    @staticmethod
    @hookimpl
    def filter(pod: Pod) -> None: ...

    @classmethod
    @hookimpl
    def reserve(cls, pod: Pod) -> None: ...


class AsyncBinding(Base):
    @hookimpl
    async def pre_bind(self) -> None: ...

    @hookimpl
    async def bind(self) -> None: ...

    @hookimpl
    async def post_bind(self) -> None: ...


@pytest.mark.parametrize(
    ("right", "points"),
    [
        row("FC-117 fewer arguments", FewerArguments, {"filter"}),
        row("FC-117 one more with a default", OneMoreWithADefault, {"filter"}),
        row("a hook under another name", AnotherName, {"filter"}),
        row("static and class methods", Static, {"filter", "reserve"}),
        row("async hooks of the binding cycle", AsyncBinding, {"preBind", "bind", "postBind"}),
        row("an unreserve that undoes what permit did", plugin(unreserve=lambda: None), {"reserve"}),
        row("no hook, but resources that it accounts for", plugin(accounts_for=lambda args: {"acme.io/npu"}), set()),
        row("a declared plugin API", plugin(API_VERSION=1, filter=lambda: None), {"filter"}),
    ],
)
def test_what_is_allowed(right: type, points: set[str]) -> None:
    assert declare("A", right).points == points


@pytest.mark.parametrize(
    ("accounts_for", "text"),
    [
        row("raises", lambda args: {"yes": 1}["no"], "accounts_for raises KeyError: 'no'"),
        row("answers one text", lambda args: "acme.io/npu", "accounts_for answers 'acme.io/npu'; a frozenset of"),
        row("answers numbers", lambda args: {1, 2}, "accounts_for answers {1, 2}; a frozenset of resource names"),
        row("answers nothing", lambda args: None, "accounts_for answers None; a frozenset of resource names"),
    ],
)
def test_an_accounts_for_that_cannot_work_is_told(accounts_for: Callable[[object], object], text: str) -> None:
    declaration = declare("A", plugin(accounts_for=staticmethod(accounts_for)))
    with pytest.raises(PluginError) as refused:
        declaration.accounted(NoArgs())
    assert str(refused.value).startswith(f'plugin "A": {text}')


def test_every_hook_says_how_often_it_is_called() -> None:
    kinds = {hook: kind_of(hook) for hook in ALL_HOOKS}
    assert {hook for hook, kind in kinds.items() if kind == "per node"} == {"filter", "score"}
    assert (kinds["pre_filter"], kinds["pod_added"], kinds["add_pod"], kinds["events_to_register"]) == (
        "per Pod",
        "per event",
        "per Pod that a dry run moves",
        "once, at start",
    )
