"""What the steps and expectations that few cases need do, each in one small scenario in virtual time."""

import asyncio
from pathlib import Path

import pytest

from koordpy.scenario.language import parse
from koordpy.scenario.runner import ScenarioFailed, play
from koordpy.virtual_time import run
from tests.controlplane.server import ControlPlane
from tests.scenarios.worlds import RealWorld, embedded_world

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
              log: [{contains: [no answer, default/p], times: {atLeast: 1}}, pod bound pod=default/p node=n1]
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
    "a bind is lost twice and comes through once": """
        objects: [{node: n1}, {pod: p}]
        steps:
          - crash: true
          - apply: {pod: q}
          - fault: {request: bind pods q, answer: lost}
          - fault: {request: bind pods q, answer: 429, retryAfter: 7s, times: 2}
          - restart: true
            expect:
              bound: {q: n1}
              requests: {bind pods q: 4}
              events: {pod: q, reason: Scheduled, times: 1}
              within: 1m
    """,
    "an answer is late": """
        objects: [{node: n1}]
        steps:
          - fault: {request: bind pods, delay: 20s}
          - apply: {pod: p}
          - advance: 10s
            expect: {metrics: {'scheduler_cache_size{type="assumed_pods"}': 1}}
          - expect: {bound: {p: n1}, requests: {bind pods p: 1}, within: 15s}
    """,
    "watches break, and fall silent": """
        objects: [{node: n1}]
        steps:
          - fault: {request: watch pods, answer: dropped}
          - apply: {pod: p}
            expect: {bound: {p: n1}, requests: {watch pods: 2}}
          - fault: {request: watch pods, answer: half-closed}
          - apply: {pod: q}
            expect: {bound: {q: n1}, within: 10m}
    """,
    "Pods run, finish, fail and go": """
        kubelet:
          - {labels: app=slow, stopsIn: 20s}
          - {labels: "app in (batch)", runsFor: 1m}
        objects:
          - {node: n1}
          - {pod: short, annotations: {koordpy.dev/runs-for: 30s}}
          - {pod: broken, annotations: {koordpy.dev/fails-after: 30s}}
          - {pod: batch, labels: {app: batch}}
          - {pod: slow, labels: {app: slow}}
        steps:
          - expect:
              conditions: {short: {type: Ready, status: "True"}, slow: {type: ContainersReady, status: "True"}}
              objects: {pod/short: {status: {phase: Running}}, pod/batch: {status: {phase: Running}}}
          - advance: 35s
            expect:
              objects: {pod/short: {status: {phase: Succeeded}}, pod/broken: {status: {phase: Failed}}}
              conditions: {short: {type: Ready, status: "False", reason: PodCompleted}}
          - advance: 35s
            expect: {objects: {pod/batch: {status: {phase: Succeeded}}, pod/slow: {status: {phase: Running}}}}
          - delete: pod/slow
            grace: 30s
          - advance: 15s
            expect: {bound: {slow: n1}}
          - expect: {gone: slow, within: 10s}
    """,
    "so many of one form are made": """
        objects:
          - {node: gpu, copies: 2}
          - {device: gpu, copies: 2, gpus: 4}
          - {pod: p, copies: 9, requests: {nvidia.com/gpu: 1}}
        expect:
          conditions: {p-007: {type: PodScheduled, status: "True"}, p-008: {type: PodScheduled, status: "False"}}
          objects: {node/gpu-001: {metadata: {name: gpu-001}}, device/gpu-001: {metadata: {name: gpu-001}}}
          gone: [p, p-009]
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
    "a metric that does not exist": ("{metrics: {banana: 1}}", "the metric banana is not there, not exactly 1"),
    "a Pod that is there": ("{gone: p}", "pod p still exists"),
    "hooks that nobody called": ("{hooks: {p: [A.filter]}}", "the first attempt of pod p called [], not ['A.filter']"),
    "a line that nobody logged": ("{log: banana}", "0 log lines contain ['banana'], not atLeast 1"),
    "a condition that it has not": (
        '{conditions: {p: {type: Ready, status: "True"}}}',
        "pod p has no condition Ready",
    ),
    "an exit code of nothing": ("{exitCode: 0}", "nothing has ended, so there is no exit code 0"),
}


@pytest.mark.parametrize("text", SCENARIOS.values(), ids=SCENARIOS)
def test_a_scenario_in_which(text: str, tmp_path: Path) -> None:
    run(play(parse(f"title: t\n{_dedent(text)}", "test.yaml"), embedded_world(tmp_path), tmp_path))


@pytest.mark.parametrize(("expect", "sentence"), FAILURES.values(), ids=FAILURES)
def test_it_is_told_that_there_is(expect: str, sentence: str, tmp_path: Path) -> None:
    text = f"title: t\nobjects: [{{node: n1}}, {{pod: p}}]\nexpect: {expect}\n"
    with pytest.raises(ScenarioFailed) as told:
        run(play(parse(text, "test.yaml"), embedded_world(tmp_path), tmp_path))
    assert sentence in str(told.value)


def test_the_fake_kubelet_runs_and_stops_pods_on_the_real_server(
    tmp_path: Path, control_plane: ControlPlane, namespace: str
) -> None:
    text = """
        kubelet: [{labels: app=batch, runsFor: 2s}]
        objects: [{node: n1}, {pod: batch, labels: {app: batch}}, {pod: web}]
        steps:
          - expect: {objects: {pod/batch: {status: {phase: Succeeded}}, pod/web: {status: {phase: Running}}}}
          - delete: pod/web
            grace: 30s
            expect: {gone: web}
    """

    async def perform() -> None:
        world = await RealWorld.open(control_plane, namespace, tmp_path)
        try:
            await play(parse(f"title: t\n{_dedent(text)}", "test.yaml"), world, tmp_path)
        finally:
            await world.close()

    asyncio.run(perform())


def _dedent(text: str) -> str:
    return "\n".join(line.removeprefix("        ") for line in text.splitlines())
