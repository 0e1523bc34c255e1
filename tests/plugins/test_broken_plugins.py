"""Ten broken plugins, as real distributions: each is told by name with its fix, and the host lives."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.plugins.installing import HERE, install, python

MESSAGES = {
    "ZoneQuota": 'plugin "ZoneQuota" is offered by acme-zonequota 1.0 (acme_zonequota:ZoneQuota) and bolt-zonequota '
    "2.3 (bolt_zonequota:ZoneQuota); uninstall all but one",
    "NoImport": 'plugin "NoImport" of acme-noimport 1.0 cannot be imported from acme_noimport:NoImport: ImportError: '
    "libacme.so.3: cannot open shared object file: No such file or directory. Mend or uninstall it, or take it out of "
    "the profile",
    "WrongArgument": 'plugin "WrongArgument" of acme-nodename 1.0: filter takes an argument node_name that the hook '
    "does not have (did you mean node_info?); expected filter(state, pod, node_info), or fewer of these",
    "Misspelt": 'plugin "Misspelt" of acme-fliter 1.0: implements fliter, which is no hook; did you mean filter?',
    "AsyncFilter": 'plugin "AsyncFilter" of acme-async 1.0: filter is async, but the scheduling cycle never awaits; '
    "only pre_bind, bind and post_bind may. What it waits for belongs there, or into a watch of the handle",
    "WithoutArgs": 'plugin "WithoutArgs" of acme-noargs 1.0: has no Args; add the line `Args = NoArgs`, or a subclass '
    "of koordpy_api.PluginArgs with what it takes",
    "FromTomorrow": 'plugin "FromTomorrow" of acme-tomorrow 1.0: is written for plugin API 99, but this koordpy has '
    "plugin API 1; upgrade koordpy, or install an older version of the plugin",
    "TryFirst": 'plugin "TryFirst" of acme-tryfirst 1.0: filter asks for an order of its own (tryfirst); the '
    "profile's order is the only one. Take tryfirst out of @hookimpl, and name the plugin earlier or later in the "
    "profile",
    "ZoneByLabel+ZoneByRack": "plugins ZoneByLabel and ZoneByRack both write annotation acme.io/zone",
    "Raises": 'running "Raises" filter plugin: ZeroDivisionError: integer division or modulo by zero',
}
RUNS = ("ZoneByLabel+ZoneByRack", "Raises")
"""These start, and break in a cycle."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(sorted((HERE / "broken").iterdir()), tmp_path_factory.mktemp("broken"))


@pytest.fixture(scope="module")
def outcomes(site: Path) -> dict[str, Any]:
    """Plugin names → what became of them; and the warnings of the host."""
    done = python(site, "-m", "tests.plugins.driver", *MESSAGES)
    assert done.returncode == 0, done.stderr
    *told, warned = map(json.loads, done.stdout.splitlines())
    return {**{"+".join(each["plugins"]): each for each in told}, **warned}


@pytest.mark.parametrize("names", MESSAGES)
def test_a_broken_plugin_is_told_and_the_host_lives(names: str, outcomes: dict[str, Any]) -> None:
    told = outcomes[names]
    print(f"\n{names}\n  {told['message']}\n  bound beside it: {', '.join(told['bound'])}")
    assert told["message"] == MESSAGES[names]
    assert told["bound"] == ["first", "last"]


def test_a_clash_of_names_that_no_profile_uses_is_warned_about(outcomes: dict[str, Any]) -> None:
    (clash,) = [text for text in outcomes["warnings"] if "ZoneQuota" in text and "no profile" in text]
    assert clash == f"{MESSAGES['ZoneQuota'].partition(';')[0]}; no profile names it"


def test_plugins_check_tells_all_that_cannot_start_and_ends_with_status_1(site: Path) -> None:
    done = python(site, "-m", "koordpy", "plugins", "check")
    assert (done.returncode, done.stderr) == (1, "")
    broken = {line.removeprefix("broken").strip() for line in done.stdout.splitlines() if line.startswith("broken")}
    assert broken == {text for names, text in MESSAGES.items() if names not in RUNS}
    assert "ok      Raises of acme-raises 1.0" in done.stdout.splitlines()
    assert done.stdout.splitlines()[-1].startswith("8 of ")


def test_plugins_list_shows_broken_ones_with_their_distributions(site: Path) -> None:
    done = python(site, "-m", "koordpy", "plugins", "list")
    assert (done.returncode, done.stderr) == (0, "")
    rows = {line.split()[0]: line for line in done.stdout.splitlines() if line}
    assert "acme-zonequota 1.0, bolt-zonequota 2.3" in rows["ZoneQuota"]
    assert rows["NoImport"].endswith("BROKEN; see koordpy plugins check")
    assert rows["ZoneByRack"].split()[1:] == ["acme-zones", "1.0", "preBind"]


def test_plugins_show_of_a_broken_plugin_ends_with_its_message(site: Path) -> None:
    done = python(site, "-m", "koordpy", "plugins", "show", "Misspelt")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"koordpy: {MESSAGES['Misspelt']}\n")
