"""Where koordpy says something else than upstream, whether it is meant, and how it is written as a case."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import yaml

from tests.differential.oracle import Answer
from tests.parity.frame import Case, CaseFile, Different, Judge, Rule, Waiting
from tests.parity.meant import read_rules
from tests.parity.readers import READERS

FORM: Final = "kube-scheduler"
SHORT_CODES: Final = {"Unschedulable": "U", "UnschedulableAndUnresolvable": "UU", "Error": "E"}
IN_ORDER: Final = frozenset(
    ("Too many pods", "Insufficient cpu", "Insufficient memory", "Insufficient ephemeral-storage")
)
EVERYBODY: Final = "all"
"""Who differs where no single plugin does."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not the same. node: empty if it is about the Pod as a whole."""

    what: str
    plugin: str
    shape: str
    node: str
    upstream: Any
    koordpy: Any

    @property
    def sort(self) -> tuple[str, str]:
        """Differences of one sort have one cause, as a rule."""
        return self.what, self.plugin

    def __str__(self) -> str:
        where = f" of {self.node}" if self.node else ""
        return f"{self.what} ({self.plugin}, {self.shape}){where}: upstream {self.upstream!r}, koordpy {self.koordpy!r}"


LIKELY_CAUSES: Final = ("raised", "prefilter", "narrowed", "feasible")
"""What others often follow from."""


def main_one(found: Iterable[Difference]) -> Difference:
    """The one that the others may follow from."""
    return min(found, key=lambda each: [*LIKELY_CAUSES, each.what].index(each.what))


def differences(upstream: Answer, shapes: Mapping[str, Answer]) -> list[Difference]:
    """Of each shape, what upstream's plugins are asked first before what comes of it."""
    return [each for shape, ours in shapes.items() for each in _differences(shape, upstream, ours)]


def _differences(shape: str, upstream: Answer, ours: Answer) -> Iterator[Difference]:
    def unequal(what: str, theirs: Any, own: Any, plugin: str = EVERYBODY, node: str = "") -> Iterator[Difference]:
        if theirs != own:
            yield Difference(what, plugin, shape, node, theirs, own)

    if "raised" in ours:
        yield from unequal("raised", "", ours["raised"])
        return
    if "message" in ours:
        yield from unequal("message", upstream["message"], ours["message"])
        if ours["chosen"] not in (upstream["best"] or [""]):
            yield Difference("choice", EVERYBODY, shape, "", upstream["best"], ours["chosen"])
        return
    theirs, own = upstream["prefilter"], ours["prefilter"]
    yield from unequal("prefilter", theirs, own, theirs["plugin"] or own["plugin"] or EVERYBODY)
    yield from unequal("narrowed", _known(upstream), ours["narrowed"], "NodeAffinity")
    for node in sorted({*upstream["refused"], *ours["refused"]}):
        yield from _refusals(unequal, node, upstream["refused"].get(node), ours["refused"].get(node))
    for what in ("everyNode", "scores"):
        scored = {*upstream[what], *ours[what]} if upstream[what] and ours[what] else ()  # else no node fits
        for plugin in sorted(scored):
            yield from _scores(unequal, what, plugin, upstream[what].get(plugin), ours[what].get(plugin))
    yield from unequal("totals", upstream["totals"], ours["totals"])
    yield from unequal("best", upstream["best"], ours["best"])


def _known(upstream: Answer) -> list[str] | None:
    """PreFilter may name nodes that are not there."""
    narrowed = upstream["narrowed"]
    if narrowed is None:
        return None
    return sorted({*narrowed} & {*upstream["feasible"], *upstream["refused"]})


def _refusals(unequal: Any, node: str, theirs: Any, own: Any) -> Iterator[Difference]:
    plugin = (theirs or own)["plugin"]
    if theirs is None or own is None:
        yield from unequal("feasible", theirs is None, own is None, plugin, node)
        return
    yield from unequal("refuser", theirs["plugin"], own["plugin"], plugin, node)
    yield from unequal("code", theirs["code"], own["code"], plugin, node)
    yield from unequal("reasons", _settled(theirs["reasons"]), _settled(own["reasons"]), plugin, node)


def _settled(reasons: Sequence[str]) -> list[str]:
    """Upstream tells of extended resources in the order of a Go map, which is another one each time."""
    return sorted(reasons, key=lambda reason: (reason not in IN_ORDER, reason if reason not in IN_ORDER else ""))


def _scores(unequal: Any, of: str, plugin: str, theirs: Any, own: Any) -> Iterator[Difference]:
    if theirs is None or own is None or theirs["skipped"] or own["skipped"]:
        yield from unequal("skipped", theirs and theirs["skipped"], own and own["skipped"], plugin)
        return
    for what in ("raw", "score"):
        for node, score in theirs[what].items():
            yield from unequal(f"{what} of {of}", score, own[what].get(node), plugin, node)


class Meant:
    """Knows which differences differences.yaml names: those whose cases tests/parity finds different on purpose."""

    def __init__(self, rules: Sequence[Rule] | None = None) -> None:
        """rules: those of differences.yaml if none are given."""
        self._judge = Judge(READERS, read_rules() if rules is None else rules, {})

    def rule_for(self, cases: Sequence[Case]) -> str | None:
        """The rule that covers all of these; None if one of them is simply wrong."""
        outcomes = [self._judge.judge(CaseFile(FORM, {}, [case]), case) for case in cases]
        rules = [outcome.rule for outcome in outcomes if isinstance(outcome, Different)]
        rest = [outcome for outcome in outcomes if not isinstance(outcome, Different | Waiting)]
        return rules[0] if rules and not rest else None


# -- as cases ----------------------------------------------------------------------------------------------------------


def cases_of(case: Case, upstream: Answer, found: Iterable[Difference]) -> list[Case]:
    """What differs, as cases that expect upstream's answer: of kind filter, score, and schedule for what is neither."""
    whats = {each.what for each in found}
    plugins = sorted({each.plugin for each in found if each.what in ("raw of everyNode", "score of everyNode")})
    made = [_filter_case(case, upstream)] if whats & {"prefilter", "feasible", "refuser", "code", "reasons"} else []
    made += [_score_case(case, upstream, plugin) for plugin in plugins]
    return made or [_schedule_case(case, upstream)]


def text_of(case: Case) -> str:
    """One line of a file of cases."""
    return "- " + yaml.safe_dump(dict(case), default_flow_style=True, width=10**9, sort_keys=False, allow_unicode=True)


def _made(case: Case, kind: str, expect: Mapping[str, Any], **fields: Any) -> Case:
    given = {name: case[name] for name in ("nodes", "pods", "pod") if case.get(name) or name == "pod"}
    name = f"{case['id']}-{kind}".replace("/", "-")
    return {"id": name, "kind": kind, **{key: it for key, it in fields.items() if it}, **given, "expect": expect}


def _filter_case(case: Case, upstream: Answer) -> Case:
    refused = upstream["refused"]
    if (settled := upstream["prefilter"])["code"] != "Success":
        refused = dict.fromkeys(case["nodes"], settled)
    rejected = {node: [SHORT_CODES[each["code"]], *each["reasons"]] for node, each in refused.items()}
    expect = {"feasible": upstream["feasible"], "rejected": rejected}
    return _made(case, "filter", expect, plugins=case["plugins"], args=case.get("args"))


def _score_case(case: Case, upstream: Answer, plugin: str) -> Case:
    of = upstream["everyNode"][plugin]
    expect = {"raw": "SKIP", "score": "SKIP"} if of["skipped"] else {"raw": of["raw"], "score": of["score"]}
    return _made(case, "score", expect, plugin=plugin, args=case.get("args", {}).get(plugin))


def _schedule_case(case: Case, upstream: Answer) -> Case:
    expect = {"message": upstream["message"]}
    if upstream["best"]:
        expect |= {"chosen_any_of": upstream["best"], "total": upstream["totals"]}
    return _made(case, "schedule", expect, plugins=case["plugins"], args=case.get("args"))
