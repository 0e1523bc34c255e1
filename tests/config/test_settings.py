"""What `koordpy scheduler` runs with: flags before environment before file."""

import pytest

from koordpy.config.settings import read_settings
from koordpy.errors import ConfigError


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CONFIG", "KUBECONFIG", "EMBEDDED", "SERVE", "BIND_ADDRESS", "PORT", "LOG_LEVEL", "SEED"):
        monkeypatch.delenv(f"KOORDPY_{name}", raising=False)


def test_without_a_word_there_are_defaults() -> None:
    read = read_settings({})
    assert (read.config, read.kubeconfig, read.bind_address, read.port) == ("", "", "0.0.0.0", 10251)
    assert (read.log_level, read.seed) == ("info", None)


def test_variables_are_read_and_flags_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KOORDPY_PORT", "1")
    monkeypatch.setenv("KOORDPY_SEED", "7")
    monkeypatch.setenv("KOORDPY_LOG_LEVEL", "debug")
    monkeypatch.setenv("KOORDPY_CONFIG", "conf.yaml")
    read = read_settings({"port": 2, "seed": None, "log_level": None, "config": None})
    assert (read.port, read.seed, read.log_level, read.config) == (2, 7, "debug", "conf.yaml")


def test_an_empty_variable_is_no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KOORDPY_SEED", "")
    assert read_settings({}).seed is None


def test_every_wrong_variable_and_flag_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KOORDPY_PORT", "http")
    monkeypatch.setenv("KOORDPY_SEED", "x")
    with pytest.raises(ConfigError) as refused:
        read_settings({"log_level": "loud"})
    assert sorted(str(refused.value).splitlines()) == [
        "settings: --log-level is 'loud': must be 'debug', 'info', 'warning' or 'error'",
        "settings: KOORDPY_PORT is 'http': must be a whole number",
        "settings: KOORDPY_SEED is 'x': must be a whole number",
    ]


def test_a_port_out_of_range_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KOORDPY_PORT", "70000")
    with pytest.raises(ConfigError, match="KOORDPY_PORT is '70000': must be at most 65535"):
        read_settings({})


def test_the_address_of_a_service_named_koordpy_is_no_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KOORDPY_PORT", "tcp://10.96.0.7:80")
    assert read_settings({}).port == 10251


def test_a_kubeconfig_and_an_embedded_cluster_are_one_too_many() -> None:
    with pytest.raises(ConfigError) as refused:
        read_settings({"kubeconfig": "kube.conf", "embedded": "demo"})
    assert str(refused.value) == (
        "settings: --embedded is 'demo': two clusters; either --kubeconfig, for a real one, or --embedded, for one in "
        "this process"
    )


def test_so_are_their_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KOORDPY_KUBECONFIG", "kube.conf")
    monkeypatch.setenv("KOORDPY_EMBEDDED", "demo")
    with pytest.raises(ConfigError, match="KOORDPY_EMBEDDED is 'demo': two clusters"):
        read_settings({})


def test_a_cluster_on_the_command_line_comes_before_another_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KOORDPY_KUBECONFIG", "kube.conf")
    monkeypatch.setenv("KOORDPY_EMBEDDED", "demo")
    embedded, real = read_settings({"embedded": "other"}), read_settings({"kubeconfig": "other.conf"})
    assert (embedded.embedded, embedded.kubeconfig) == ("other", "")
    assert (real.embedded, real.kubeconfig) == ("", "other.conf")


def test_only_an_embedded_cluster_is_served() -> None:
    with pytest.raises(ConfigError, match="--serve is '8001': only the cluster of --embedded FOLDER is served"):
        read_settings({"serve": 8001})
    assert read_settings({"serve": 0, "embedded": "demo"}).serve == 0
    with pytest.raises(ConfigError, match="--serve is '70000': must be at most 65535"):
        read_settings({"serve": 70000, "embedded": "demo"})
