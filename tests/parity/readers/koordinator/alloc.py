"""Kinds alloc and score: PreFilter, Filter, Score, Reserve and PreBind of one Pod on one node."""

from typing import Any, Final

from koordpy_api import Code, Status
from koordpy_api.objects import Pod
from tests.parity.frame import Case, Legend, Outcome, Right, Wrong, compare
from tests.parity.readers.koordinator import answers, waits
from tests.parity.readers.koordinator.answers import Said
from tests.parity.readers.koordinator.stage import PLUGIN, Stage, args_of, asking_pod

DEFAULT_SCORER: Final = "LeastAllocated"
BY_MINOR: Final = {"allocator": "default"}
"""As Filter chooses upstream: it has no scorer, so the lowest minor that fits."""


def read(case: Case, legend: Legend) -> Outcome:
    """A case of the YAML file: as Filter does it without a scorer, as Reserve does it with one."""
    if (waiting := waits.of_alloc(case)) is not None:
        return waiting
    got = ask(case)
    said = got.get("prefilter") or got["reserve" if {"scorer", "designated"} & case.keys() else "filter"]
    wanted, seen = answers.expected(case["expect"]), answers.as_expected(case["expect"], said)
    return Right() if seen == wanted else Wrong(wanted, got)


def read_recorded(case: Case, legend: Legend) -> Outcome:
    return waits.of_alloc(case) or compare(answers.recorded(case["answer"]), ask(case))


def ask(case: Case) -> Said:
    scorer = args_of(case.get("scorer", DEFAULT_SCORER), case.get("weights"))
    pod = asking_pod(case)
    filtered, stage = _filtered(Stage.of(case, scorer), pod)
    if "prefilter" in filtered:
        return filtered
    if filtered["filter"] == answers.SUCCESS and "designated" not in case:
        by_minor = Stage.of(case, BY_MINOR)
        _filtered(by_minor, pod)
        filtered["filter"] |= answers.without_ids(_reserved(by_minor, pod))
    return filtered | {"reserve": _reserved(stage, pod)}


def _filtered(stage: Stage, pod: Pod) -> tuple[Said, Stage]:
    if (refusal := stage.pre_filter(pod)) is not None:
        return {"prefilter": answers.told(refusal)}, stage
    stage.let_go_of_victim(pod)
    return {"filter": answers.told(stage.filter(pod))}, stage


def _reserved(stage: Stage, pod: Pod) -> Said:
    said = answers.told(stage.reserve(pod))
    return said | (answers.devices_of(stage.annotations(pod)) if said == answers.SUCCESS else {})


# -- score -------------------------------------------------------------------------------------------------------------


def read_score(case: Case, legend: Legend) -> Outcome:
    if (waiting := waits.of_score(case)) is not None:
        return waiting
    got = ask_score(case)
    return Right() if got == case["expect"] else Wrong(case["expect"], got)


def read_recorded_score(case: Case, legend: Legend) -> Outcome:
    return waits.of_score(case) or compare(answers.recorded(case["answer"]), ask_score(case))


def ask_score(case: Case) -> Said:
    """Before normalising. A node that lacks what is asked has no score: Filter refuses it for good.

    Upstream's Score refuses nothing else, so whatever else Filter says is not looked at.
    """
    stage = Stage.of(case, args_of(case["strategy"], case.get("weights")))
    pod = asking_pod(case)
    filtered, _ = _filtered(stage, pod)
    if "prefilter" in filtered:
        return filtered
    said: Said = filtered["filter"]
    if said["code"] == answers.CODES[Code.UNSCHEDULABLE_AND_UNRESOLVABLE] and "Insufficient" in said["reasons"][0]:
        return said
    return {"score": score_of(stage, pod)}


def score_of(stage: Stage, pod: Pod) -> Any:
    hooks = stage.framework.chains
    for name, hook in hooks["pre_score"]:
        if name == PLUGIN and isinstance(answer := hook(stage.state, pod, [stage.node]), Status):
            return answers.told(answer)
    return next((int(hook(stage.state, pod, stage.node)) for name, hook in hooks["score"] if name == PLUGIN), None)
