"""Commands that cannot do what was asked end with status 2, a sentence on standard error, and no traceback."""

import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import pytest

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
NAMED = HEAD + "profiles: [{schedulerName: gpu}]\n"


def koordpy(*words: str, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command as a person does; nothing of this machine's own clusters is seen."""
    hidden = {name: text for name, text in os.environ.items() if not name.startswith("KUBE")}
    return subprocess.run(
        [sys.executable, "-m", "koordpy", *words],
        capture_output=True,
        text=True,
        timeout=60,
        env={**hidden, "HOME": "/nonexistent", "NO_COLOR": "1", **(environment or {})},
        check=False,
    )


def refused(*words: str, environment: Mapping[str, str] | None = None) -> str:
    done = koordpy(*words, environment=environment)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "conf.yaml"


def test_a_missing_file_is_named(config: Path) -> None:
    text = refused("scheduler", "--config", str(config))
    assert text.startswith(f"koordpy: {config}: file: cannot be read: ")
    assert "No such file or directory" in text


def test_every_mistake_of_a_bad_file_is_told_with_its_line(config: Path) -> None:
    config.write_text(HEAD + "podMaxBackoffSeconds: x\nparallelsm: 4\n", encoding="utf-8")
    first, second = refused("scheduler", "--config", str(config)).splitlines()
    assert first.startswith(f"koordpy: {config}:3: podMaxBackoffSeconds is 'x': ")
    assert second.startswith(f"{config}:4: parallelsm is '4': unknown field; did you mean parallelism?")


def test_a_nameless_profile_is_told_the_line_to_add(config: Path) -> None:
    config.write_text(HEAD, encoding="utf-8")
    text = refused("scheduler", "--config", str(config))
    assert text.startswith(f"koordpy: {config}: profiles[0].schedulerName: read as default-scheduler")
    assert "Add the line `schedulerName: koordpy-scheduler`" in text


def test_wrong_arguments_of_a_plugin_are_told(config: Path) -> None:
    config.write_text(
        HEAD + "profiles:\n- schedulerName: gpu\n  pluginConfig: [{name: NodeResourcesFit, args: {ignored: []}}]\n",
        encoding="utf-8",
    )
    text = refused("scheduler", "--config", str(config))
    assert f"{config}:5: profiles[0].pluginConfig[0].args.ignored is '[]': unknown field" in text


def test_a_kubeconfig_that_is_not_there_is_named(config: Path, tmp_path: Path) -> None:
    config.write_text(NAMED, encoding="utf-8")
    missing = str(tmp_path / "kube.conf")
    text = refused("scheduler", "--config", str(config), "--kubeconfig", missing)
    assert missing in text.splitlines()[-1]


def test_without_any_kubeconfig_the_ways_to_give_one_are_told() -> None:
    text = refused("scheduler").splitlines()[-1]
    assert text.startswith("koordpy: ")
    assert "kubeconfig" in text.lower()


def test_a_port_that_is_taken_is_told(config: Path, tmp_path: Path) -> None:
    config.write_text(NAMED, encoding="utf-8")
    kubeconfig = tmp_path / "kube.conf"
    kubeconfig.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
        "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
        "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\n"
        "users: [{name: u, user: {token: t}}]\n",
        encoding="utf-8",
    )
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        words = (
            "--config",
            str(config),
            "--kubeconfig",
            str(kubeconfig),
            "--bind-address",
            "127.0.0.1",
            "--port",
            port,
        )
        assert port in refused("scheduler", *words).splitlines()[-1]


def test_an_unknown_log_level_is_refused() -> None:
    assert "'debug', 'info', 'warning' or 'error'" in refused("scheduler", "--log-level", "loud")


def test_a_port_out_of_range_is_refused() -> None:
    assert "65535" in refused("scheduler", "--port", "70000")


def test_an_unknown_command_is_refused() -> None:
    assert "schedule" in refused("schedule")


def test_an_unknown_flag_is_refused() -> None:
    assert "--leader-elect" in refused("scheduler", "--leader-elect")


def test_version_names_the_distribution_and_the_plugin_api() -> None:
    done = koordpy("version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"koordpy {version('koordpy')} (plugin API 1)\n"


def test_help_lists_the_commands() -> None:
    done = koordpy("--help")
    assert done.returncode == 0
    assert "scheduler" in done.stdout
    assert "version" in done.stdout
