"""What the steps and expectations that few cases need do, each in one small scenario in virtual time."""

from pathlib import Path

import pytest

from koordpy.scenario.language import parse
from koordpy.scenario.runner import ScenarioFailed, needs, play
from koordpy.virtual_time import run
from tests.scenarios.worlds import SmallWorld

REPOSITORY = Path(__file__).parents[2]

SCENARIOS = {
    "a crash forgets, and a restart binds what was not bound": """
        plugins: {A: {permit: {inTurn: [{wait: 5m}, ok]}}}
        objects: [{node: n1}, {pod: p}]
        steps:
          - expect: {calls: {A.permit: 1}, metrics: {'scheduler_cache_size{type="assumed_pods"}': 1}}
          - crash: true
          - advance: 1m
            expect: {requests: {bind pods: 0}}
          - restart: true
            expect: {bound: {p: n1}, requests: {bind pods p: 1}}
    """,
    "a restart lets what is under way end, and counts what is there": """
        objects: [{node: n1, allocatable: {cpu: 1}}, {pod: p, requests: {cpu: 1}}]
        steps:
          - expect: {bound: {p: n1}}
          - restart: true
          - apply: {pod: q, requests: {cpu: 1}}
            expect: {pending: {q: {message: "0/1 nodes are available: 1 Insufficient cpu."}}}
    """,
    "another scheduler takes the room": """
        objects: [{node: n1, allocatable: {cpu: 1}}, {pod: theirs, requests: {cpu: 1}, spec: {schedulerName: other}}]
        steps:
          - bindByOther: {theirs: n1}
          - apply: {pod: ours, requests: {cpu: 1}}
            expect: {pending: {ours: Unschedulable}, bound: {theirs: n1}, requests: {bind pods: 0}}
    """,
    "a node is patched, and the Pod that waited is bound": """
        objects:
          - {node: n1, spec: {unschedulable: true}}
          - {pod: p}
        steps:
          - expect:
              pending: {p: {contains: 1 node(s) were unschedulable}}
              conditions: {p: {type: PodScheduled, status: "False", reason: Unschedulable}}
          - patch: {node/n1: {spec: {unschedulable: null}}}
            expect: {bound: {p: n1}, objects: {node/n1: {spec: {unschedulable: null}}}, within: 1m}
    """,
    "a stand-in rejects the Pod that it holds": """
        plugins: {A: {permit: {wait: 5m}}}
        objects: [{node: n1}, {pod: p}]
        steps:
          - reject: {p: A}
            expect: {pending: {p: {contains: on purpose}}}
          - delete: pod/p
            expect: {gone: p}
    """,
    "a broken plugin is tried again": """
        plugins: {A: {filter: {inTurn: [{error: no answer}, {raises: OSError}, ok]}}}
        objects: [{node: n1}, {pod: p}]
        steps:
          - expect:
              bound: {p: n1}
              calls: {A.filter: 3}
              log: [{contains: [no answer, default/p], times: {atLeast: 1}}, bound to n1]
              events: {pod: p, reason: FailedScheduling, type: Warning, times: 2}
    """,
    "a plan is written with the bind, and books are counted from annotations": """
        plugins: {A: {preBind: {annotations: {example.com/a: b}}}}
        objects: [{node: n1}, {pod: p}]
        expect:
          bound: {p: n1}
          objects: {pod/p: {metadata: {annotations: {example.com/a: b}}}}
          books: {n1: {0: {core: 0}}}
    """,
    "a start that is refused has an exit code": """
        config: "apiVersion: kubescheduler.config.k8s.io/v1\\nkind: Banana\\n"
        objects: [{node: n1}]
        expect: {exitCode: 2, output: "config.yaml:2: kind is 'Banana'", notInOutput: Traceback}
    """,
    "a command's files lie where it runs": """
        files: {a.yaml: "kind: Banana"}
        steps:
          - run: koordpy scheduler --config a.yaml
            expect: {exitCode: 2, output: a.yaml}
    """,
}

FAILURES = {
    "a Pod that is bound is not pending": (
        "{pending: {p: Unschedulable}}",
        "pod p is bound to n1, not pending",
    ),
    "a request too many": ("{requests: {bind pods p: 0}}", "1 requests 'bind pods p' were sent, not exactly 0"),
    "an Event too few": (
        "{events: {pod: p, reason: Scheduled, times: 2}}",
        "1 Events Scheduled of pod p match, not exactly 2",
    ),
    "a card that nobody uses": (
        "{books: {n1: {0: {core: 50}}}}",
        "card 0 of n1 is used by core 0, not 50",
    ),
    "a key that has another value": (
        "{objects: {pod/p: {spec: {nodeName: n2}}}}",
        "pod/p: spec.nodeName is 'n1', not 'n2'",
    ),
    "a metric that does not exist": ("{metrics: {banana: 1}}", "the metric banana is None, not exactly 1"),
    "a Pod that is there": ("{gone: p}", "pod p still exists"),
    "hooks that nobody called": ("{hooks: {p: [A.filter]}}", "the first attempt of pod p called [], not ['A.filter']"),
    "a line that nobody logged": ("{log: banana}", "0 log lines contain ['banana'], not atLeast 1"),
    "a condition that it has not": (
        '{conditions: {p: {type: Ready, status: "True"}}}',
        "pod p has no condition Ready",
    ),
    "an exit code of nothing": ("{exitCode: 0}", "the exit code is None, not 0"),
}


@pytest.mark.parametrize("text", SCENARIOS.values(), ids=SCENARIOS)
def test_a_scenario_in_which(text: str, tmp_path: Path) -> None:
    run(play(parse(f"title: t\n{_dedent(text)}", "test.yaml"), SmallWorld(tmp_path), REPOSITORY))


@pytest.mark.parametrize(("expect", "sentence"), FAILURES.values(), ids=FAILURES)
def test_it_is_told_that_there_is(expect: str, sentence: str, tmp_path: Path) -> None:
    text = f"title: t\nobjects: [{{node: n1}}, {{pod: p}}]\nexpect: {expect}\n"
    with pytest.raises(ScenarioFailed) as told:
        run(play(parse(text, "test.yaml"), SmallWorld(tmp_path), REPOSITORY))
    assert sentence in str(told.value)


def test_a_fault_waits_for_a_cluster_that_can_fail(tmp_path: Path) -> None:
    scenario = parse("title: t\nsteps: [{fault: {request: bind pods p, answer: 429}}]\n", "test.yaml")
    assert needs(scenario, SmallWorld(tmp_path)) == ["fault: the embedded cluster"]


def _dedent(text: str) -> str:
    return "\n".join(line.removeprefix("        ") for line in text.splitlines())
