"""The language as docs/scenarios.md teaches it: its tables, its example, and what a mistake is told."""

import asyncio
import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from koordpy.errors import ConfigError
from koordpy.scenario.comparison import CHECKS
from koordpy.scenario.expectations import Expect
from koordpy.scenario.language import Fault, Scenario, Step, parse
from koordpy.scenario.parts import names_of, seconds
from koordpy.scenario.runner import ScenarioFailed, play
from koordpy.scenario.standins import Answer
from koordpy.virtual_time import run
from tests.controlplane.server import ControlPlane
from tests.scenarios.worlds import RealWorld, embedded_world

REPOSITORY = Path(__file__).parents[2]
PAGE = (REPOSITORY / "docs" / "scenarios.md").read_text()
(EXAMPLE,) = re.findall(r"^```yaml scenario\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
MISTAKES = """title: Six mistakes of six kinds
case: X
waitsFor: the sun
plugins:
  A: {preFiltre: skip}
  B: {permit: {wait: 5}}
objects:
  - {node: n1, allocateable: 3}
steps:
  - {crash: true, restart: true}
  - delete: banana/b
"""


def test_the_example_of_the_page_plays_in_virtual_time(tmp_path: Path) -> None:
    run(play(parse(EXAMPLE, "page"), embedded_world(tmp_path), REPOSITORY))


def test_the_example_of_the_page_plays_on_the_real_server(
    tmp_path: Path, control_plane: ControlPlane, namespace: str
) -> None:
    async def perform() -> None:
        world = await RealWorld.open(control_plane, namespace, tmp_path)
        try:
            await play(parse(EXAMPLE, "page"), world, REPOSITORY)
        finally:
            await world.close()

    asyncio.run(perform())


@pytest.mark.parametrize(
    ("heading", "model"),
    [
        ("The file", Scenario),
        ("Stand-ins for plugins", Answer),
        ("Steps", Step),
        ("Faults", Fault),
        ("Expectations", Expect),
    ],
    ids=["the keys of the file", "the answers of stand-ins", "the steps", "the faults", "the expectations"],
)
def test_the_page_lists_in_order(heading: str, model: type[BaseModel]) -> None:
    section = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)
    assert section
    assert re.findall(r"^\| `(\w+)` \|", section[1], re.MULTILINE) == names_of(model)


def test_every_expectation_is_compared_with_something() -> None:
    assert set(CHECKS) == set(Expect.model_fields) - {"within"}


def test_every_mistake_of_a_file_is_told_at_once_with_its_line() -> None:
    with pytest.raises(ConfigError) as told:
        parse(MISTAKES, "six.yaml")
    places = [line.split(": ")[:2] for line in str(told.value).splitlines()]
    assert places == [
        ["six.yaml:3", "waitsFor is 'the sun'"],
        ["six.yaml:5", "plugins.A"],
        ["six.yaml:6", "plugins.B.permit.wait is '5'"],
        ["six.yaml:8", "objects[0].allocateable is '3'"],
        ["six.yaml:10", "steps[0]"],
        ["six.yaml:11", "steps[1].delete[0] is 'banana/b'"],
    ]


@pytest.mark.parametrize("event", ["Node/Grow", "Node", "/Add", "Node/Add|"])
def test_an_event_that_nobody_knows_is_refused(event: str) -> None:
    with pytest.raises(ConfigError, match="is no event; write KIND/ACTION"):
        parse(f"title: t\nplugins: {{A: {{eventsToRegister: {{{event}: queue}}}}}}\n", "test.yaml")


def test_an_expectation_that_does_not_come_true_says_what_was_seen_instead(tmp_path: Path) -> None:
    text = "title: t\nobjects: [{node: n1}, {pod: p}]\nexpect: {bound: {p: n2}, calls: {A.filter: 1}}\n"
    with pytest.raises(ScenarioFailed) as told:
        run(play(parse(text, "wrong.yaml"), embedded_world(tmp_path), REPOSITORY))
    said = str(told.value)
    assert "at the end:" in said
    assert "pod p is bound to n1, not to n2\n" in said
    assert "A.filter was called 0 times, not exactly 1" in said
    assert "pod bound pod=default/p node=n1" in said


@pytest.mark.parametrize(
    ("text", "length"), [("10s", 10), ("1h30m", 5400), ("500ms", 0.5), ("1.5h", 5400), ("14m59s", 899)]
)
def test_a_length_of_time_is_read_as_people_write_it(text: str, length: float) -> None:
    assert seconds(text) == pytest.approx(length)


@pytest.mark.parametrize(
    ("step", "sentence"),
    [
        ("{advance: 5s, over: 5s}", "`over` stands beside `apply` or `files`"),
        ("{apply: {pod: p}, grace: 5s}", "`grace` stands beside `delete`"),
        ("{apply: {pod: p}, files: a.yaml}", "one step is one of"),
        ("{apply: {pod: p, copies: 0}}", "copies"),
        ("{fault: {request: bind pods}}", "an answer, a delay, or both"),
        ("{fault: {request: bind pods, answer: 200}}", "fault.answer is '200': must be a code from 400 to 599, lost, "),
        ("{fault: {request: bind pods, answer: never}}", "fault.answer is 'never': must be a code from 400 to 599, "),
        ("{apply: {pod: p, requests: {cpu: 0.5}}}", "apply[0].requests.cpu is '0.5': must be a whole number, or a "),
        ("{patch: {banana: {}}}", "patch.banana is 'banana': 'banana' names no object"),
        ("{fault: {request: bind pods, answer: 500, retryAfter: 1s}}", "retryAfter is said by 429 and 503 alone"),
        ("{fault: {request: bind pods, answer: half-closed}}", "only a watch can be half-closed"),
    ],
    ids=lambda each: each,
)
def test_a_step_that_makes_no_sense_is_refused(step: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as told:
        parse(f"title: t\nsteps: [{step}]\n", "test.yaml")
    assert sentence in str(told.value)


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        ("config: [1]", "t.yaml:2: config: must be a mapping, or a text"),
        ("files: {a: 3}", "t.yaml:2: files.a is '3': must be a mapping, or a text"),
        ("plugins: {A: {filter: {nodes: 3}}}", "t.yaml:2: plugins.A.filter.nodes is '3': must be a list"),
        ("expect: {books: {n1: {x: {core: 1}}}}", "t.yaml:2: expect.books.n1.x is 'x': must be a whole number"),
    ],
    ids=["a configuration", "a file", "an answer of nodes", "a minor"],
)
def test_a_mistake_is_told_once_and_by_keys_that_stand_in_the_file(part: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as told:
        parse(f"title: t\n{part}\n", "t.yaml")
    assert str(told.value) == sentence
