"""koordpy demo: what is shown, that a seed decides it, and what makes it end with status 1."""

import re
import shutil
from pathlib import Path

import pytest

from koordpy.cli.performance import perform
from koordpy.errors import KoordpyError
from tests.cli.test_commands import koordpy, refused

REPOSITORY = Path(__file__).parents[2]
DEMO = REPOSITORY / "config" / "demo"

HEAD = "Cards that the articles' pods take"
"""From there on a page shows `koordpy demo articles`."""

ONE_MORE = """
apiVersion: v1
kind: Pod
metadata: {name: mine}
spec:
  schedulerName: koordpy-scheduler
  containers:
    - name: main
      image: registry.example.test/mine:1.0
      resources: {limits: {koordinator.sh/gpu-core: "25", koordinator.sh/gpu-memory-ratio: "25"}}
"""

TAKES_TOO_MUCH = """
apiVersion: v1
kind: Pod
metadata:
  name: greedy
  annotations:
    scheduling.koordinator.sh/device-allocated: '{"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":"90"}}]}'
spec:
  nodeName: big
  containers: [{name: main, image: registry.example.test/greedy:1.0}]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the demo, to change."""
    return Path(shutil.copytree(DEMO, tmp_path / "demo"))


@pytest.fixture
def play(capsys: pytest.CaptureFixture[str]) -> "Play":
    return Play(capsys)


class Play:
    """A demo in virtual time: did it end well, and what did it print?"""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, folder: Path = DEMO, seed: int = 1) -> tuple[bool, str]:
        self._capsys.readouterr()
        return perform(folder, seed, speed=0), self._capsys.readouterr().out


def shown(page: Path) -> list[str]:
    """The lines of all blocks that are output and nothing else, but for those that stand for others."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    lines = [line for language, block in blocks if not language for line in block.splitlines()]
    return [line for line in lines if line.strip() not in ("", "…")]


def ends(printed: str) -> str:
    """From the final table on: without the lines of what happened meanwhile."""
    return printed[printed.index("NODE ") :]


def test_the_command_ends_well_and_in_no_time() -> None:
    done = koordpy("demo", "--folder", str(DEMO), "--speed", "0")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Sixteen cards fill up" in done.stdout


def test_all_but_one_are_placed_with_their_cards(play: Play) -> None:
    well, printed = play()
    assert well
    assert "Placed: 19" in printed
    assert re.search(r"train-1 +(big|small) +cards \d \d: core 100, (80|24)Gi each", printed)
    assert re.search(r"resnet-0 +\w+ +card \d: core 25, ", printed)
    assert re.search(r"web-0 +\w+ +Running", printed)


def test_the_one_that_waits_is_explained_by_node_and_by_card(play: Play) -> None:
    _, printed = play()
    waiting = printed[printed.index("Waiting: 1") :]
    assert "pretrain-new: 0/4 nodes are available: 1 node(s) had no Device, 3 Insufficient gpu devices." in waiting
    for node in ("article", "big", "small"):
        assert f"{node}: DeviceShare: Insufficient gpu devices (asks 5 gpu)\n" in waiting
    assert "plain: DeviceShare: node(s) had no Device\n" in waiting
    assert re.search(
        r"card 0  asks core 100, memory 80Gi  free core 0, memory 0 +too little core, memory; held by pretrain-old",
        waiting,
    )


def test_one_waits_until_another_has_ended(play: Play) -> None:
    _, printed = play()
    waits, ends, goes = (
        printed.index(line) for line in ("pod train-2 waits: ", "pod train-0 ends: Succeeded", "pod train-2 goes to ")
    )
    assert waits < ends < goes
    assert re.search(r"train-0 +(big|small) +Succeeded", printed)


def test_the_books_are_held_against_the_annotations(play: Play) -> None:
    _, printed = play()
    assert "Recount from the annotations: 16 cards, " in printed
    assert "no card gives more than it has; the scheduler's own books say the same" in printed


def test_what_happens_meanwhile_is_told_line_by_line(play: Play) -> None:
    _, printed = play()
    assert re.search(r"^ +0\.\ds  node article has 4 cards of 16Gi$", printed, re.MULTILINE)
    assert re.search(r"^ +0\.\ds  pod bert-old-1 is on article, card 1: core 50, 8Gi$", printed, re.MULTILINE)
    assert re.search(r"^ *\d+\.\ds  pod finetune-0 goes to \w+, card \d: core 100, \d\dGi$", printed, re.MULTILINE)
    assert re.search(r"^ *\d+\.\ds  pod pretrain-new waits: 0/4 nodes are available", printed, re.MULTILINE)


def test_a_terminal_gets_a_table_that_is_drawn_anew(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert perform(DEMO, 0, speed=20)
    printed = capsys.readouterr().out
    assert printed.count("NODE") > 2
    assert "step 4: inference.yaml" in printed
    assert " goes to " not in printed
    assert re.search(r"^.*Waiting: \d", printed, re.MULTILINE)  # how many, at this speed, the machine's load decides


def test_a_seed_gives_the_same_every_time_and_another_one_something_else(play: Play) -> None:
    first, again, other = play(seed=7), play(seed=7), play(seed=8)
    assert first == again
    assert first[0]
    assert other[0]
    assert ends(first[1]) != ends(other[1])


@pytest.mark.parametrize("name", ["README.md", "docs/demo.md"])
def test_the_pages_show_what_it_prints(play: Play, name: str) -> None:
    _, printed = play(seed=0)
    lines = shown(REPOSITORY / name)
    from_here = lines[: lines.index(HEAD)] if HEAD in lines else lines
    assert len(from_here) >= 5
    assert not set(from_here) - set(printed.splitlines())


@pytest.mark.parametrize("seed", range(2, 12))
def test_books_and_annotations_agree_for_every_seed(play: Play, seed: int) -> None:
    well, printed = play(seed=seed)
    assert well, printed


def test_one_more_file_is_picked_up(play: Play, folder: Path) -> None:
    (folder / "mine.yaml").write_text(ONE_MORE, encoding="utf-8")
    well, printed = play(folder)
    assert well
    assert "Placed: 20" in printed
    table, _, placed = ends(printed).partition("Placed: ")
    assert "mine 25" in table
    assert re.search(r"^  mine +\w+ +card \d: core 25, ", placed, re.MULTILINE)


def test_one_without_our_schedulers_name_is_told_so(play: Play, folder: Path) -> None:
    (folder / "mine.yaml").write_text(ONE_MORE.replace("  schedulerName: koordpy-scheduler\n", ""), encoding="utf-8")
    _, printed = play(folder)
    assert (
        "mine: its spec.schedulerName is default-scheduler, and nobody of that name is here; write koordpy-scheduler"
        in printed
    )


def test_one_in_a_namespace_of_its_own_needs_no_namespace_beside_it(play: Play, folder: Path) -> None:
    (folder / "mine.yaml").write_text(ONE_MORE.replace("name: mine}", "name: mine, namespace: team-a}"))
    well, printed = play(folder)
    assert well
    assert "team-a/mine" in ends(printed)


def test_a_card_that_gives_more_than_it_has_ends_it_with_status_1(play: Play, folder: Path) -> None:
    (folder / "greedy.yaml").write_text(TAKES_TOO_MUCH, encoding="utf-8")
    well, printed = play(folder)
    assert not well
    assert "big card 0: more koordinator.sh/gpu-core is given away than there is" in printed
    assert koordpy("demo", "--folder", str(folder), "--speed", "0").returncode == 1


def test_an_expectation_that_does_not_come_true_ends_it_with_status_1(play: Play, folder: Path) -> None:
    scenario = folder / "scenario.yaml"
    scenario.write_text(scenario.read_text() + "\nexpect: {within: 1s, bound: {pretrain-new: big}}\n", encoding="utf-8")
    well, printed = play(folder)
    assert not well
    assert "pod pretrain-new is bound to no node, not to big: Unschedulable: 0/4 nodes" in " ".join(printed.split())


def test_a_mistake_in_a_manifest_is_told_with_its_line(folder: Path) -> None:
    (folder / "mine.yaml").write_text(ONE_MORE.replace("limits:", "limit:"), encoding="utf-8")
    with pytest.raises(KoordpyError, match=r"mine\.yaml:10: Pod default/mine: .*is limits meant"):
        perform(folder, 1, 0)


def test_a_folder_without_a_scenario_is_told_what_to_pass(tmp_path: Path) -> None:
    text = refused("demo", "--folder", str(tmp_path))
    assert text.startswith(f"koordpy: command line: --folder is '{tmp_path}': no scenario.yaml there; ")
    assert "config/demo" in text


def test_the_manifests_of_the_demo_are_without_mistakes() -> None:
    done = koordpy("check", *(str(path) for path in sorted(DEMO.glob("*.yaml")) if path.name != "scenario.yaml"))
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr
