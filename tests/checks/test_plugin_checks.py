"""The hook `check`: every plugin of a profile is asked, and one that breaks is told as a problem of its own."""

from collections.abc import Sequence

import pytest

from koordpy.testing import build_profile, make_pod
from koordpy_api import Handle, NoArgs, Problem, hookimpl
from koordpy_api.objects import KubeObject

WRONG = Problem("metadata.name", "pod", "a name that says something")


class Strict:
    Args = NoArgs

    def __init__(self, args: NoArgs, handle: Handle) -> None:
        pass

    @hookimpl
    def check(self, obj: KubeObject) -> Sequence[Problem]:
        return [WRONG]


class Raises(Strict):
    @hookimpl
    def check(self, obj: KubeObject) -> Sequence[Problem]:
        raise ZeroDivisionError("by accident")


class Talks(Strict):
    @hookimpl
    def check(self, obj: KubeObject) -> Sequence[Problem]:
        return "looks fine"  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (Raises, 'plugin "Broken" failed: ZeroDivisionError: by accident'),
        (Talks, "plugin \"Broken\" failed: TypeError: 'looks fine' is no list of Problems"),
    ],
    ids=["raises", "answers a text"],
)
def test_a_plugin_that_breaks_is_named_and_the_others_are_still_asked(broken: type, said: str) -> None:
    plugins = {"Broken": broken, "Strict": Strict}
    profile = build_profile(["PrioritySort", *plugins, "DefaultBinder"], given=plugins)
    assert profile.run_check(make_pod()) == [("Broken", Problem("", "", said)), ("Strict", WRONG)]
