"""koordpy decides 1,000 random clusters as kube-scheduler's plugins do, and what would differ is told small."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from koordpy_api import CycleState, Handle, NoArgs, NodeInfo, Status, hookimpl
from koordpy_api.objects import Pod
from tests.controlplane.build import BuildError, build_oracle_offline
from tests.differential import real
from tests.differential.__main__ import main
from tests.differential.clusters import case_of
from tests.differential.comparing import FORM, Meant
from tests.differential.files import cases_in
from tests.differential.oracle import Oracle, OracleError
from tests.differential.running import compare
from tests.differential.shrinking import smaller
from tests.parity.frame import Case, Rule


class AnywhereName:
    """NodeName, if it did not look at the name."""

    Args = NoArgs

    def __init__(self, args: NoArgs, handle: Handle) -> None:
        """It keeps nothing."""

    @hookimpl
    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status | None:
        return None


@pytest.fixture(scope="module")
def oracle_program() -> Path:
    """Skips where it cannot be built without a network, or fails if the control plane is required."""
    try:
        return build_oracle_offline(os.environ)
    except BuildError as error:
        if os.environ.get("KOORDPY_REQUIRE_CONTROLPLANE") == "1":
            pytest.fail(f"{error} KOORDPY_REQUIRE_CONTROLPLANE=1 forbids skipping this.", pytrace=False)
        pytest.skip(str(error))


@pytest.fixture
def oracle(oracle_program: Path) -> Iterator[Oracle]:
    with Oracle(oracle_program) as running:
        yield running


@pytest.mark.timeout(900)
def test_a_thousand_random_clusters_are_decided_as_upstream_decides_them(oracle: Oracle) -> None:
    told: list[str] = []
    tally = compare(oracle, (case_of(0, number) for number in range(1000)), told.append)
    assert not tally.found, "\n".join(told)
    assert tally.cases == 1000 and 200 < tally.placed < 800


def test_what_differs_is_told_as_the_smallest_case_that_shows_it(oracle: Oracle) -> None:
    told: list[str] = []
    cases = (case for case in (case_of(0, number) for number in range(400)) if "nodeName" in case["pod"])
    tally = compare(oracle, cases, told.append, given={"NodeName": AnywhereName})
    assert ("feasible", "NodeName") in tally.found
    (line,) = [told[at + 1] for at, line in enumerate(told) if "feasible (NodeName" in line]
    (told_of,) = yaml.safe_load(line)
    (node,) = told_of["nodes"]
    assert told_of["nodes"] == {node: {}} and told_of["pod"].keys() == {"nodeName"} and "pods" not in told_of
    assert told_of["kind"] == "filter"
    assert told_of["expect"]["rejected"] == {node: ["UU", "node(s) didn't match the requested node name"]}


def test_a_part_that_does_not_matter_is_taken_away() -> None:
    def shows(case: Case) -> bool:
        images = [image for node in case["nodes"].values() for image in node.get("images", ())]
        return len(images) >= 2 and any("req" in pod for pod in case["pods"])

    small = smaller(next(case for number in range(50) if shows(case := case_of(1, number))), shows)
    assert len(small["pods"]) == 1 and small["pod"] == {}
    assert sum(len(node["images"]) for node in small["nodes"].values()) == 2


def test_the_same_seed_and_number_make_the_same_case() -> None:
    assert case_of(3, 14) == case_of(3, 14) != case_of(3, 15)


def test_a_difference_that_a_rule_names_is_meant() -> None:
    case = {
        "kind": "filter",
        "plugins": ["NodeName"],
        "nodes": {"oak": {}},
        "pod": {},
        "expect": {"feasible": [], "rejected": {"oak": ["U", "as somebody else has it"]}},
    }
    rule = Rule("oaks are for all", FORM, frozenset({"filter"}), lambda case: "oak" in case["nodes"], _all_feasible)
    assert Meant([rule]).rule_for([case]) == "oaks are for all"
    assert Meant([]).rule_for([case]) is None


def _all_feasible(case: Case) -> object:
    return {"feasible": set(case["nodes"]), "rejected": {}}


def test_a_question_that_cannot_be_read_is_an_error_and_the_next_one_is_answered(oracle: Oracle) -> None:
    with pytest.raises(OracleError, match="resourceGroups"):
        oracle.answer({**case_of(0, 0), "args": {"NodeResourcesFit": {"resourceGroups": []}}})
    assert oracle.answer({**case_of(0, 0), "args": {}})["prefilter"]["code"]


@pytest.mark.parametrize(
    ("command", "arguments", "told"),
    [
        (main, "--cases 0", "--cases: '0' is no whole number of at least 1"),
        (main, "--cases -1", "--cases: '-1' is no whole number of at least 1"),
        (main, "--first -5", "--first: '-5' is no whole number of at least 0"),
        (real.main, "--clusters 0", "--clusters: '0' is no whole number of at least 1"),
    ],
)
def test_a_comparison_of_nothing_is_refused(
    command: Callable[[list[str]], int], arguments: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        command(arguments.split())
    assert ended.value.code == 2
    assert told in capsys.readouterr().err


CASE = "{kind: filter, plugins: [NodeName], nodes: {oak: {}}, pod: {}}"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "has no cases; they are a list under the key cases"),
        ("[]", "has no cases; they are a list"),
        ("cases: []", "has no cases; they are a list"),
        ("cases: {a: 1}", "has no cases; they are a list"),
        ("cases: [oak]", "case 1 is 'oak', and should be a mapping with kind, nodes, pod"),
        ("cases: [{kind: calc}]", "none of its 1 cases can be asked; that takes kind filter or score or schedule"),
        ("cases: [\n", "is no YAML: while parsing a flow node expected the node content"),
        (f"cases: [{CASE.replace('nodes', 'nods')}]", "case 1 has no nodes"),
        (f"cases: [{CASE.replace('oak: {}', 'oak: {cpus: 1}')}]", "case 1 cannot be read: the short form has no field"),
        (f"cases: [{CASE}, {CASE.replace('oak: {}', 'oak: 7')}]", "case 2 cannot be read: "),
        (f"cases: [{CASE.replace('{oak: {}}', '[oak]')}]", "case 1 cannot be read: "),
        (f"cases: [{CASE.replace('Name', 'Nome')}]", "case 1 has plugins NodeNome; there are NodeUnschedulable, "),
    ],
)
def test_a_file_that_cannot_be_asked_about_is_refused_in_a_sentence(
    text: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cases.yaml"
    path.write_text(text)
    assert main(["--file", str(path)]) == 2
    assert capsys.readouterr().err.startswith(f"diff-kube-scheduler: {path}: {told}")


def test_a_file_that_is_not_there_is_refused_in_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--file", "nowhere.yaml"]) == 2
    assert capsys.readouterr().err == "diff-kube-scheduler: nowhere.yaml: cannot be read: No such file or directory\n"


def test_cases_that_wait_for_a_plugin_are_left_out_and_told(tmp_path: Path) -> None:
    path, told = tmp_path / "cases.yaml", list[str]()
    path.write_text(f"cases: [{CASE}, {CASE.replace('NodeName', 'VolumeZone')}]")
    assert [case["plugins"] for case in cases_in(path, told.append)] == [["NodeName"]]
    assert told == ["1 cases are left out: koordpy has not yet VolumeZone"]


@pytest.mark.usefixtures("oracle_program")
def test_a_case_that_upstream_cannot_read_ends_the_run_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cases.yaml"
    path.write_text(f"cases: [{CASE}, {CASE.replace('oak: {}', 'oak: {cpu: x}')}]")
    assert main(["--file", str(path)]) == 2
    assert capsys.readouterr().err.startswith("diff-kube-scheduler: case 2: quantities must match")
