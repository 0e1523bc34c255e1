"""koordpy config: what its commands print, and their exit status."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from koordpy.cli.config import app

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
GOOD = HEAD + "leaderElection: {leaderElect: false}\nprofiles: [{schedulerName: gpu}]\n"
BAD = HEAD + "parallelism: 0\nprofiles: [{schedulerName: gpu}]\n"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CliRunner:
    monkeypatch.chdir(tmp_path)
    for name, text in (("good.yaml", GOOD), ("bad.yaml", BAD), ("nameless.yaml", HEAD)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return CliRunner()


def test_good_files_are_ok_and_the_status_is_0(run: CliRunner) -> None:
    done = run.invoke(app, ["check", "good.yaml", "good.yaml"])
    assert (done.exit_code, done.stdout) == (0, "good.yaml: ok\ngood.yaml: ok\n")


def test_every_file_is_looked_at_and_one_refused_makes_the_status_1(run: CliRunner) -> None:
    done = run.invoke(app, ["check", "bad.yaml", "missing.yaml", "good.yaml", "nameless.yaml"])
    assert (done.exit_code, done.stdout) == (1, "good.yaml: ok\n")
    told = [line for line in done.stderr.splitlines() if not line.startswith("warning")]
    assert told[0] == "bad.yaml:3: parallelism is '0': should be an integer value greater than zero"
    assert told[1].startswith("missing.yaml: file: cannot be read: ")
    assert told[2].startswith("nameless.yaml: profiles[0].schedulerName: read as default-scheduler")


def test_a_plugin_that_is_not_built_yet_and_named_by_the_file_is_refused(run: CliRunner) -> None:
    unbuilt = "placementGenerate: {enabled: [{name: Nobody}]}"
    Path("named.yaml").write_text(GOOD.replace("gpu}", f"gpu, plugins: {{{unbuilt}}}}}"), encoding="utf-8")
    done = run.invoke(app, ["check", "named.yaml"])
    assert done.exit_code == 1
    assert 'PlacementGeneratePlugin "Nobody" does not exist' in done.stderr


def test_no_file_is_a_wrong_command_and_the_status_is_2(run: CliRunner) -> None:
    assert run.invoke(app, ["check"]).exit_code == 2


def test_what_show_prints_is_a_good_file(run: CliRunner) -> None:
    shown = run.invoke(app, ["show", "good.yaml"])
    assert shown.exit_code == 0
    Path("shown.yaml").write_text(shown.stdout, encoding="utf-8")
    assert run.invoke(app, ["check", "shown.yaml"]).exit_code == 0
    assert "# profile gpu: DeviceShare accounts for " in shown.stdout


def test_the_schema_is_json(run: CliRunner) -> None:
    described = json.loads(run.invoke(app, ["schema"]).stdout)
    assert described["properties"]["parallelism"]["default"] == 16
    assert described["$defs"]["LeaderElection"]["properties"]["leaseDuration"]["default"] == "15s"
    assert described["$defs"]["ClientConnection"]["properties"]["qps"]["default"] == 50
    assert described["$defs"]["DynamicResources.Args"]["properties"]["filterTimeout"]["default"] == "10s"


def test_no_command_waits_for_the_kubernetes_package(run: CliRunner) -> None:
    code = (
        "import sys; from koordpy.cli.main import app\n"
        "try: app(['config', 'check', 'good.yaml'])\n"
        "except SystemExit as done: assert not done.code\n"
        "assert not {'kubernetes', 'aiohttp'} & {*sys.modules}"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
