"""The hook `check`: every plugin of a profile is asked, and one that breaks is told as a problem of its own."""

from collections.abc import Sequence

import pytest

from koordpy.testing import build_profile, make_pod
from koordpy_api import Finding, Handle, NoArgs, NodeInfo, Problem, hookimpl
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


class Audits(Strict):
    @hookimpl
    def audit(self, nodes: Sequence[NodeInfo]) -> Sequence[Finding]:
        return [Finding("Node", node.name, WRONG) for node in nodes]

    @hookimpl
    def recount(self, objects: Sequence[KubeObject]) -> Sequence[str]:
        return [f"{len(objects)} objects"]


class BreaksAtAudit(Strict):
    @hookimpl
    def audit(self, nodes: Sequence[NodeInfo]) -> Sequence[Finding]:
        return "nothing"  # type: ignore[return-value]

    @hookimpl
    def recount(self, objects: Sequence[KubeObject]) -> Sequence[str]:
        raise ZeroDivisionError("by accident")


def test_a_plugin_that_breaks_at_an_audit_or_a_recount_hides_no_other() -> None:
    plugins = {"Broken": BreaksAtAudit, "Audits": Audits}
    profile = build_profile(["PrioritySort", *plugins, "DefaultBinder"], given=plugins)
    node = NodeInfo("n1")
    assert profile.run_audit([node]) == [Finding("Node", "n1", WRONG)]
    assert profile.run_recount([make_pod()], frozenset()) == [
        "Broken failed to recount: ZeroDivisionError: by accident",
        "Audits: 1 objects",
    ]
