"""Reads differences.yaml and disputed.yaml."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from tests.parity import rules
from tests.parity.frame import Rule

HERE: Final = Path(__file__).parent
RULE_KEYS: Final = ("rule", "file", "spec", "upstream", "ours", "why", "test")
CASE_KEYS: Final = ("kind", "where", "answer")
"""Of a difference that cases show; one that none shows has none of these keys."""
DISPUTED_KEYS: Final = ("file", "case", "right", "shown")


def read_rules(path: Path = HERE / "differences.yaml") -> list[Rule]:
    """Those that cases can show."""
    return [_rule(entry) for entry in entries(path, RULE_KEYS, CASE_KEYS) if CASE_KEYS[0] in entry]


def read_disputed(path: Path = HERE / "disputed.yaml") -> dict[tuple[str, str], Any]:
    """(file, id) → the answer that is right."""
    return {(entry["file"], str(entry["case"])): entry["right"] for entry in entries(path, DISPUTED_KEYS)}


def entries(path: Path, keys: tuple[str, ...], together: tuple[str, ...] = ()) -> list[Mapping[str, Any]]:
    """together: keys of which an entry has all or none. Raises: ValueError if it lacks a key, or has one too many."""
    listed: list[Mapping[str, Any]] = yaml.safe_load(path.read_text(encoding="utf-8"))
    for number, entry in enumerate(listed):
        expected = {*keys, *together} if entry.keys() & {*together} else {*keys}
        if wrong := entry.keys() ^ expected:
            raise ValueError(f"{path.name}[{number}]: {', '.join(sorted(wrong))}; it has exactly {', '.join(expected)}")
    return listed


def _rule(entry: Mapping[str, Any]) -> Rule:
    where, answer = (getattr(rules, entry[key]) for key in ("where", "answer"))
    kinds = entry["kind"] if isinstance(entry["kind"], list) else [entry["kind"]]
    return Rule(entry["rule"], entry["file"], frozenset(kinds), where, answer)
