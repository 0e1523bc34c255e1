"""`python -m tests.docs.metrics_page` makes docs/metrics.md of what the scheduler and its plugins declare."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from koordpy.config.expand import default_configuration, resolve
from koordpy.framework.build import build_all
from koordpy.framework.registry import Registry
from koordpy.telemetry.instruments import Counter, Gauge, Histogram
from koordpy.telemetry.left_out import LEFT_OUT
from koordpy.telemetry.metrics import Declared, Metrics

PAGE: Final = Path(__file__).parents[2] / "docs" / "metrics.md"
HEAD: Final = """# Metrics

Made by `python -m tests.docs.metrics_page` from what the scheduler declares. Do not edit this page.

`/metrics` has all of these in Prometheus' text format, and `process_…` and `python_…` of the process itself. Buckets
are told by first bound, factor and number. *Stability* is what upstream promises of its own metric; ours may change
with a line in the change log. Extension points and plugins without a series have not been asked yet.

Measuring takes some 20 microseconds an attempt (`python -m tests.perf.metering`). Extension points are always timed;
single plugins in one attempt of ten, and there of calls per node one of sixteen, as those are alike.
"""
PLUGINS_HEAD: Final = """
## Of the default profile's plugins

Only the scheduler that leads shows them: a standby would count the same cluster once more. What they mean:
[deviceshare.md](deviceshare.md#metrics).
"""
LEFT_OUT_HEAD: Final = """
## Not here yet

kube-scheduler's metrics of what koordpy does not have:
"""


def page() -> str:
    metrics = Metrics()
    build_all(resolve(default_configuration()), Registry(), lambda *_: None, metrics.plugins)
    families = list(metrics.all())
    upstream = [_row(each) for each in families if each.stability != "koordpy"]
    own = [_row(each) for each in families if each.stability == "koordpy"]
    columns = ("name", "type", "labels", "buckets", "says", "stability")
    parts = [
        HEAD,
        "\n## kube-scheduler's, under its names\n",
        _table(columns, upstream),
        "\n## koordpy's own\n",
        _table(columns, own),
        PLUGINS_HEAD,
        _table(("name", "type", "labels", "says"), map(_plugin_row, metrics.plugins.declared())),
        LEFT_OUT_HEAD,
        "\n".join(f"- {feature}: {', '.join(f'`{name}`' for name in names)}" for feature, names in LEFT_OUT.items()),
    ]
    return "\n".join(part.strip("\n") + "\n" for part in parts)


def _row(family: Counter | Gauge | Histogram) -> Sequence[str]:
    kind = type(family).__name__.lower()
    bounds = _bounds(family.bounds) if isinstance(family, Histogram) else ""
    return f"`{family.name}`", kind, ", ".join(family.label_names), bounds, family.text, family.stability


def _plugin_row(each: Declared) -> Sequence[str]:
    return f"`{each.name}`", each.type, ", ".join(each.labels), each.text


def _bounds(bounds: Sequence[float]) -> str:
    return f"{bounds[0]:g}, x{bounds[1] / bounds[0]:g}, {len(bounds)}"


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    def lines() -> Iterator[str]:
        yield f"| {' | '.join(columns)} |"
        yield f"|{'---|' * len(columns)}"
        for row in rows:
            yield f"| {' | '.join(row)} |"

    return "\n".join(lines())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
