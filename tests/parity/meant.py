"""Reads differences.yaml and disputed.yaml."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from tests.parity import rules
from tests.parity.frame import Rule

HERE: Final = Path(__file__).parent
RULE_KEYS: Final = ("rule", "file", "kind", "where", "spec", "upstream", "ours", "why", "answer", "test")
DISPUTED_KEYS: Final = ("file", "case", "right", "shown")


def read_rules(path: Path = HERE / "differences.yaml") -> list[Rule]:
    return [_rule(entry) for entry in entries(path, RULE_KEYS)]


def read_disputed(path: Path = HERE / "disputed.yaml") -> dict[tuple[str, str], Any]:
    """(file, id) → the answer that is right."""
    return {(entry["file"], str(entry["case"])): entry["right"] for entry in entries(path, DISPUTED_KEYS)}


def entries(path: Path, keys: tuple[str, ...]) -> list[Mapping[str, Any]]:
    """Raises: ValueError if an entry lacks a key, or has one too many."""
    listed: list[Mapping[str, Any]] = yaml.safe_load(path.read_text(encoding="utf-8"))
    for number, entry in enumerate(listed):
        if wrong := entry.keys() ^ set(keys):
            raise ValueError(f"{path.name}[{number}]: {', '.join(sorted(wrong))}; it has exactly {', '.join(keys)}")
    return listed


def _rule(entry: Mapping[str, Any]) -> Rule:
    where, answer = (getattr(rules, entry[key]) for key in ("where", "answer"))
    return Rule(entry["rule"], entry["file"], entry["kind"], where, answer)
