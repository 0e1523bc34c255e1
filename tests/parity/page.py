"""`python -m tests.parity.page` makes docs/differences.md from differences.yaml."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tests.parity.meant import CASE_KEYS, HERE, RULE_KEYS, entries

PAGE: Final = Path(__file__).parents[2] / "docs" / "differences.md"
PROGRAMS: Final[Mapping[str, str]] = {
    "koordinator": "Koordinator",
    "kube-scheduler": "kube-scheduler",
    "hami": "HAMi",
}
HEAD: Final = """# Differences: where koordpy means to do something else

Made by `python -m tests.parity.page` from `tests/parity/differences.yaml`. Do not edit this page.

What pods, nodes and Devices say stays what it is upstream: resource names, annotations and their JSON. Below is every
place where koordpy decides otherwise on purpose. A heading is the name under which [the parity tests](parity.md) count
a difference; *cases* are the kinds of cases that can show it.
"""


def page() -> str:
    listed = entries(HERE / "differences.yaml", RULE_KEYS, CASE_KEYS)
    parts = [HEAD]
    for form, program in PROGRAMS.items():
        if of_form := [entry for entry in listed if entry["file"] == form]:
            parts += [f"## {program}\n", *map(_section, of_form)]
    return "\n".join(parts)


def _section(entry: Mapping[str, Any]) -> str:
    kinds = entry.get("kind", [])
    cases = ", ".join([kinds] if isinstance(kinds, str) else kinds) or "none"
    return f"""### {_capital(entry["rule"])}

| | |
|---|---|
| {program_of(entry)} | {_cell(entry["upstream"])} |
| koordpy | {_cell(entry["ours"])} |
| why | {_cell(entry["why"])} |
| spec | {_cell(entry["spec"])} |
| cases | {cases} |
| test | `{entry["test"]}` |
"""


def program_of(entry: Mapping[str, Any]) -> str:
    return PROGRAMS[entry["file"]]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
