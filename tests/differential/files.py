"""Cases that a person has in a file: read, or refused in a sentence that says which one and why."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from koordpy.config.defaults import DEFAULT_MULTI_POINT
from tests.differential.clusters import PLUGINS
from tests.differential.oracle import question_of
from tests.parity.frame import Case
from tests.parity.readers.short_form import existing_pods_of, nodes_of, pod_of

KINDS: Final = ("filter", "score", "schedule")


class FileError(Exception):
    """There is nothing in it to ask about, or something that cannot be asked."""


def cases_in(path: Path, tell: Callable[[str], None]) -> list[Case]:
    """Its filter, score and schedule cases, with everything that a question needs. *Raises* FileError.

    tell: is given a line about those that wait for a plugin.
    """
    written = _listed(path)
    asked = [(number, case) for number, case in enumerate(written, 1) if case.get("kind") in KINDS]
    cases = [_asked_in_full(path, number, case) for number, case in asked if not _waits_for(case)]
    if plugins := sorted({plugin for _, case in asked for plugin in _waits_for(case)}):
        tell(f"{len(asked) - len(cases)} cases are left out: koordpy has not yet {', '.join(plugins)}")
    if not cases:
        raise FileError(f"{path}: none of its {len(written)} cases can be asked; that takes kind {' or '.join(KINDS)}")
    return cases


def _waits_for(case: Mapping[str, Any]) -> list[str]:
    """Upstream's plugins that are not here."""
    plugins = case.get("plugins")
    named = plugins if isinstance(plugins, list) else []
    return [name for name, _ in DEFAULT_MULTI_POINT if name in named and name not in PLUGINS]


def _listed(path: Path) -> list[Mapping[str, Any]]:
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise FileError(f"{path}: is no YAML: {' '.join(str(error).split())}") from error
    cases = document.get("cases") if isinstance(document, dict) else None
    if not isinstance(cases, list) or not cases:
        raise FileError(f"{path}: has no cases; they are a list under the key cases, in the form of tests/parity")
    for number, case in enumerate(cases, 1):
        if not isinstance(case, dict):
            raise FileError(f"{path}: case {number} is {case!r}, and should be a mapping with kind, nodes, pod")
    return cases


def _asked_in_full(path: Path, number: int, case: Mapping[str, Any]) -> Case:
    name = f"{path}: case {number}" + (f" ({case['id']})" if "id" in case else "")
    args = case.get("args", {})
    whole = {"id": str(number), "pods": [], "plugins": list(PLUGINS), **case}
    whole["args"] = {case["plugin"]: args} if "plugin" in case and args else args
    if missing := [key for key in ("nodes", "pod") if key not in case]:
        raise FileError(f"{name} has no {' and no '.join(missing)}")
    try:
        if unknown := [plugin for plugin in whole["plugins"] if plugin not in PLUGINS]:
            raise FileError(f"{name} has plugins {', '.join(map(str, unknown))}; there are {', '.join(PLUGINS)}")
        question_of(whole)
        for objects in (nodes_of, existing_pods_of, pod_of):
            objects(whole)
    except (ValueError, TypeError, LookupError, AttributeError) as error:  # whatever a hand-made case makes of them
        raise FileError(f"{name} cannot be read: {error}") from error
    return whole
