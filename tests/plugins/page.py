"""The generated parts of docs/plugins.md. `python -m tests.plugins.page` writes them anew."""

import inspect
import re
from pathlib import Path

from koordpy.framework.declaration import kind_of, spec_of
from koordpy.framework.points import EVENT_HOOKS, OBJECT_HOOKS, POINTS, REGISTRATION_HOOK

PAGE = Path(__file__).parents[2] / "docs/plugins.md"
_LINE = re.compile(
    r"^(Called|Returns|Raises|Must not|Source)\s+(.*?)(?=^(?:Called|Returns|Raises|Must not|Source)\s|\Z)",
    re.DOTALL | re.MULTILINE,
)


def lines_of(hook: str) -> dict[str, str]:
    """The five fixed lines of a specification; the question that it answers is under ""."""
    text = inspect.getdoc(spec_of(hook)) or ""
    found = {name: " ".join(rest.split()) for name, rest in _LINE.findall(text)}
    return {"": text.partition("\n")[0], **found}


def points_table() -> str:
    rows = ["| point | hook | called | may answer |", "|---|---|---|---|"]
    for point in POINTS:
        for hook in point.hooks:
            name = point.name if hook == point.hook else ""
            rows.append(_row(name, hook))
    return "\n".join(rows)


def events_table() -> str:
    rows = ["| hook | called |", "|---|---|"]
    for hook in (*EVENT_HOOKS, *OBJECT_HOOKS, REGISTRATION_HOOK):
        rows.append(f"| {_signature(hook)} | {lines_of(hook)['Called']} |")
    return "\n".join(rows)


def _row(point: str, hook: str) -> str:
    said = lines_of(hook)
    return f"| {point} | {_signature(hook)} | **{kind_of(hook)}**: {said['Called']} | {said['Returns']} |"


def _signature(hook: str) -> str:
    return f"`{hook}({', '.join(inspect.signature(spec_of(hook)).parameters)})`"


PARTS = {"points": points_table, "events": events_table}


def rendered(page: str) -> str:
    """The page with its generated parts written anew."""
    for name, make in PARTS.items():
        mark = f"<!-- {name}: written by tests/plugins/page.py -->"
        head, found, rest = page.partition(mark)
        assert found, f"the page has no mark {mark}"
        _, _, tail = rest.partition("<!-- end -->")
        page = f"{head}{mark}\n\n{make()}\n\n<!-- end -->{tail}"
    return page


if __name__ == "__main__":
    PAGE.write_text(rendered(PAGE.read_text()))
