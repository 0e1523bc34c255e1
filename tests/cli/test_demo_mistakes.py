"""koordpy demo: every mistake in the folder is told with its place, and nothing is shown before."""

import os
import shutil
from pathlib import Path

import pytest

from koordpy.cli.performance import perform
from koordpy.errors import ConfigError, KoordpyError
from tests.cli.test_demo import DEMO, ONE_MORE

NOT_TAKEN = {
    "a Deployment": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n"
    "spec: {template: {spec: {containers: [{name: main}]}}}\n",
    "a Service": "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n",
    "a kind that nobody knows": "apiVersion: v1\nkind: Banana\nmetadata: {name: b}\n",
    "a name that no object may have": ONE_MORE.lstrip().replace("mine", "Bad_Name"),
    "a namespace that none may be": ONE_MORE.lstrip().replace("name: mine}", "name: mine, namespace: Bad_Name}"),
}
CONFIG = """
config: {}
  apiVersion: kubescheduler.config.k8s.io/v1
  kind: KubeSchedulerConfiguration
  profiles:
    - schedulerName: x
      plugins: {{filter: {{enabled: [{{name: Nope}}]}}}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the demo, to spoil."""
    return Path(shutil.copytree(DEMO, tmp_path / "demo"))


def written(folder: Path, text: str) -> Path:
    """A scenario in a folder of its own."""
    folder.mkdir(exist_ok=True)
    (folder / "scenario.yaml").write_text(f"title: t\n{text}\n", encoding="utf-8")
    return folder


def told(folder: Path, capsys: pytest.CaptureFixture[str], speed: float = 0) -> str:
    """The mistakes, if nothing at all was shown before them."""
    capsys.readouterr()
    with pytest.raises(KoordpyError) as error:
        perform(folder, 1, speed)
    assert capsys.readouterr().out == ""
    return str(error.value)


@pytest.mark.parametrize("manifest", NOT_TAKEN.values(), ids=NOT_TAKEN)
def test_what_the_cluster_will_refuse_in_the_last_step_is_told_before_the_show(
    folder: Path, capsys: pytest.CaptureFixture[str], manifest: str
) -> None:
    (folder / "x.yaml").write_text(f"# mine\n{manifest}", encoding="utf-8")
    said = told(folder, capsys)
    assert said.startswith("x.yaml:2: ")
    assert "the cluster refuses it: " in said


def test_an_object_of_the_scenario_that_is_refused_is_told_with_the_scenarios_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = told(written(tmp_path, "steps:\n  - apply:\n    - {pod: p}\n    - {pod: P_2}"), capsys)
    assert said.startswith(f"{tmp_path}/scenario.yaml:5: Pod P_2: the cluster refuses it: ")


def test_a_pattern_of_files_that_nothing_is_called_by_is_told_with_its_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = folder / "scenario.yaml"
    lines = scenario.read_text().replace("training.yaml", "trainin.yaml").splitlines()
    scenario.write_text("\n".join(lines))
    number = next(number for number, line in enumerate(lines, 1) if "trainin" in line)
    assert told(folder, capsys).startswith(f"{scenario}:{number}: steps[2].files is 'trainin.yaml': no .yaml, ")


@pytest.mark.parametrize("pattern", ["/etc/*.yaml", "", "**.yaml"], ids=["absolute", "empty", "with stars in a word"])
def test_what_is_no_pattern_of_files_is_told(pattern: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = told(written(tmp_path, f"steps: [{{files: '{pattern}'}}]"), capsys)
    assert said.startswith(f"{tmp_path}/scenario.yaml:2: steps[0].files")
    assert "no pattern of files" in said


@pytest.mark.parametrize("style", ["", "|"], ids=["as YAML", "as text"])
def test_a_plugin_that_does_not_exist_is_told_with_the_scenarios_line(
    style: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = told(written(tmp_path, CONFIG.format(style)), capsys)
    place = "config.profiles[0].plugins.filter.enabled[0] is 'Nope'"
    assert said.startswith(f'{tmp_path}/scenario.yaml:8: {place}: FilterPlugin "Nope" does not exist')


def test_all_mistakes_are_told_together(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "x.yaml").write_text(NOT_TAKEN["a Service"], encoding="utf-8")
    with (folder / "scenario.yaml").open("a") as scenario:
        scenario.write(CONFIG.format(""))
    said = told(folder, capsys)
    assert "Nope" in said
    assert "x.yaml:1: Service s" in said


def test_one_object_written_twice_and_differently_is_told_with_both_places(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "x.yaml").write_text(ONE_MORE.lstrip().replace("mine}", "train-1}"), encoding="utf-8")
    line = (folder / "training.yaml").read_text().splitlines().index("  name: train-1") - 2
    assert told(folder, capsys).startswith(f"x.yaml:1: Pod train-1: it stands in training.yaml:{line} too, and differ")


def test_the_very_same_object_in_two_files_is_a_warning(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(folder / "too-big.yaml", folder / "x.yaml")
    assert perform(folder, 1, 0)
    assert "warning: too-big.yaml:" in (shown := capsys.readouterr().out)
    assert "Pod pretrain-new stands once more in x.yaml:" in shown


def test_what_is_hidden_and_what_is_no_file_is_left_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "sub.yaml").mkdir()
    (folder / ".#nodes.yaml").symlink_to("somebody@somewhere")
    (folder / ".x.yaml").write_text("kind: [")
    os.mkfifo(folder / "p.yaml")
    assert perform(folder, 1, 0)
    assert "Placed: 19" in capsys.readouterr().out


def test_a_link_to_nothing_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "gone.yaml").symlink_to("nothing")
    assert told(folder, capsys) == "gone.yaml: cannot be read: No such file or directory (a link)"


@pytest.mark.parametrize("speed", [float("inf"), float("nan"), -1, 1e-300, 1e9])
def test_a_speed_at_which_nothing_can_be_shown_is_told(speed: float, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(DEMO, capsys, speed).startswith(f"command line: --speed is '{speed:g}': 0, which does not wait at all")


def test_a_step_that_runs_a_command_is_told_that_a_demo_does_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = told(written(tmp_path, "steps:\n  - run: koordpy check x.yaml"), capsys)
    assert said.startswith(f"{tmp_path}/scenario.yaml:3: steps[0].run is 'koordpy check x.yaml': a demo ")


def test_a_scenario_that_is_no_text_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "scenario.yaml").write_bytes(b"title: \xff\n")
    with pytest.raises(ConfigError, match=r"scenario\.yaml: file: cannot be read"):
        perform(tmp_path, 1, 0)
