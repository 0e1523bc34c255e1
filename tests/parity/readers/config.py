"""kube-scheduler, kind config: a file, and what it comes to or what is said against it.

`given` is the file without apiVersion and kind; plugins, pluginConfig and XArgs at its top belong to profiles[0], and a
key may be a path (XArgs.scoringStrategy.type). Plugins that nobody has, but that the case takes for granted, exist.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Any, Final

from koordpy.config import document
from koordpy.config.defaults import OURS
from koordpy.config.expand import ResolvedProfile, merge
from koordpy.config.load import Loaded, parse_whole
from koordpy.config.models import API_VERSION, KIND
from koordpy.errors import ConfigError
from koordpy.framework.registry import Registry
from koordpy_api import PluginArgs, Problem
from tests.parity.frame import Case, Legend, Outcome, Right, Wrong, compare

ERROR_KEYS: Final = ("error", "error_at", "error_contains", "type")
OF_PROFILE: Final = ("plugins", "pluginConfig")
TYPES: Final[Mapping[str, str]] = {"NotSupported": "supported values"}
EFFECT: Final = re.compile(r"(?P<plugin>\w+)Args\.(?P<field>\w+) = \[(?P<values>[^\]]*)\] in every profile")


def read(case: Case, legend: Legend) -> Outcome:
    expect = case["expect"]
    text = case["yaml"] if "yaml" in case else document.write(whole_file(case["given"]))
    try:
        loaded = parse_whole(text, "case", WithStandIns(text, expect))
    except ConfigError as error:
        if not expect.keys() & {*ERROR_KEYS}:
            return Wrong(expect, str(error))
        return Right() if all(_is_expected(each, expect) for each in error.problems) else Wrong(expect, str(error))
    if expect.keys() & {*ERROR_KEYS}:
        return Wrong(expect, "no error")
    answers = {key: ANSWERS.get(key, _field)(loaded, key, wanted, case) for key, wanted in expect.items()}
    return compare(expect, answers)


def whole_file(given: Mapping[str, Any]) -> dict[str, Any]:
    """The short form of a case → a KubeSchedulerConfiguration."""
    file: dict[str, Any] = {"apiVersion": API_VERSION, "kind": KIND}
    profile: dict[str, Any] = {}
    args: dict[str, Any] = {}
    for key, value in deepcopy(dict(given)).items():
        head, *rest = key.split(".")
        if head in OF_PROFILE:
            _put(profile, [head, *rest], value)
        elif head.endswith("Args"):
            _put(args, [head.removesuffix("Args"), *rest], value)
        else:
            _put(file, [head, *rest], value)
    if args:
        profile.setdefault("pluginConfig", []).extend({"name": name, "args": each} for name, each in args.items())
    if profile:
        file["profiles"] = [{**(file.get("profiles") or [{}])[0], **profile}, *file.get("profiles", [])[1:]]
    return file


def _put(into: dict[str, Any], keys: list[str], value: Any) -> None:
    for key in keys[:-1]:
        into = into.setdefault(key, {})
    into[keys[-1]] = value


class WithStandIns:
    """The installed plugins and upstream's; and the ones that the case enables and finds nothing wrong with."""

    def __init__(self, text: str, expect: Mapping[str, Any]) -> None:
        self._real = Registry()
        told = " ".join(str(expect[key]) for key in ("error", "error_contains") if key in expect)
        self._stand_ins = {
            name: points | ({"score"} if name in expect.get("weights", {}) else set())
            for name, points in _enabled_at(text).items()
            if f'"{name}"' not in told and name != "*"
        }

    def points_of(self, name: str) -> frozenset[str] | None:
        known = self._real.points_of(name)
        return frozenset(self._stand_ins[name]) if known is None and name in self._stand_ins else known

    def args_model(self, name: str) -> type[PluginArgs] | None:
        return self._real.args_model(name)


def _enabled_at(text: str) -> dict[str, set[str]]:
    """Plugin → the points at which the file enables it by name."""
    found: dict[str, set[str]] = {}
    for profile in document.read(text, "case").value.get("profiles") or []:
        for point, said in (profile.get("plugins") or {}).items():
            for plugin in said.get("enabled") or []:
                found.setdefault(plugin["name"], set()).update({point} - {"multiPoint"})
    return found


def _is_expected(problem: Problem, expect: Mapping[str, Any]) -> bool:
    """error_at may be the end of a path."""
    at, text = str(expect.get("error_at", "")), problem.right
    wanted = [str(expect[key]) for key in ("error", "error_contains") if key in expect]
    if "type" in expect:
        wanted.append(TYPES.get(expect["type"], str(expect["type"])))
    return problem.path.endswith(at) and all(each in text for each in wanted)


# -- what a configuration comes to: the answer to each key of `expect` -------------------------------------------------

Answer = Callable[[Loaded, str, Any, Case], Any]


def _field(loaded: Loaded, key: str, wanted: Any, case: Case) -> Any:
    """The value of a key of the file, wherever it stands."""
    return next(_values_of(key, loaded.configuration.model_dump(by_alias=True)), "no such key")


def _values_of(key: str, part: Any) -> Iterator[Any]:
    if isinstance(part, Mapping):
        if key in part:
            yield part[key]
        for each in part.values():
            yield from _values_of(key, each)


def _names(loaded: Loaded, key: str, wanted: Any, case: Case) -> list[str]:
    return [profile.scheduler_name for profile in loaded.profiles]


def _scorers(loaded: Loaded, case: Case) -> list[str]:
    """Without the default plugins that upstream does not have, unless the case speaks of them."""
    return [name for name in loaded.profiles[0].points["score"] if name not in OURS or name in str(case)]


def _score(loaded: Loaded, key: str, wanted: Any, case: Case) -> list[str]:
    return _scorers(loaded, case)


def _score_has(loaded: Loaded, key: str, wanted: list[str], case: Case) -> list[str]:
    return [name for name in wanted if name in _scorers(loaded, case)]


def _score_lacks(loaded: Loaded, key: str, wanted: list[str], case: Case) -> list[str]:
    return [name for name in wanted if name not in _scorers(loaded, case)]


def _score_first(loaded: Loaded, key: str, wanted: str, case: Case) -> str:
    return _scorers(loaded, case)[0]


def _weights(loaded: Loaded, key: str, wanted: Mapping[str, int], case: Case) -> dict[str, Any]:
    return {name: loaded.profiles[0].weights.get(name) for name in wanted}


def _position(loaded: Loaded, key: str, wanted: str, case: Case) -> str:
    """last of multiPoint: of the plugins that the profile enables there, the last is the last of all."""
    plugins = loaded.configuration.profiles[0].plugins
    return "last of multiPoint" if merge(plugins)[-1].name == plugins.multi_point.enabled_names[-1] else "elsewhere"


def _effect(loaded: Loaded, key: str, wanted: str, case: Case) -> str:
    """Args of a plugin, the same in every profile; also where the file says something else."""
    stated = EFFECT.search(wanted)
    assert stated is not None, f"an effect that nobody reads: {wanted}"
    plugin, field = stated["plugin"], stated["field"]
    values = [value.strip() for value in stated["values"].split(",")]
    own = {"name": plugin, "args": {field: ["example.com/of-the-user"]}}
    profiles = [{"schedulerName": "a", "pluginConfig": [own]}, {"schedulerName": "b"}]
    again = parse_whole(document.write(whole_file(case["given"] | {"profiles": profiles})), "case", Registry())
    found = [_args(profile, plugin).get(field) for profile in (*loaded.profiles, *again.profiles)]
    return wanted if all(each == values for each in found) else str(found)


def _args(profile: ResolvedProfile, plugin: str) -> Mapping[str, Any]:
    return profile.args.get(plugin, {})


def _ok(loaded: Loaded, key: str, wanted: Any, case: Case) -> bool:
    return True


ANSWERS: Final[Mapping[str, Answer]] = {
    "effect": _effect,
    "ok": _ok,
    "position": _position,
    "profiles": _names,
    "score": _score,
    "score_first": _score_first,
    "score_has": _score_has,
    "score_lacks": _score_lacks,
    "weights": _weights,
}
