"""Whatever happens to a cluster, asking about all nodes at once says what asking about each says.

SHAPE_SEEDS=200 looks longer; a failure names its seed and step, and the same seed lives the same life.
"""

import os

import pytest

from koordpy.framework.points import POINTS
from koordpy.framework.registry import Registry
from koordpy.testing import build_profile, check_shapes
from tests.shapes.life import PROFILES, Life

SEEDS = range(int(os.environ.get("SHAPE_SEEDS", "6")))
STEPS = 40


@pytest.mark.parametrize("seed", SEEDS)
def test_both_shapes_of_every_plugin_say_the_same(seed: int) -> None:
    life = Life(seed)
    for step in range(STEPS):
        life.happen()
        columns = life.harness.cache.update_snapshot().columns
        for pod in life.rng.sample(life.askers, 3):
            try:
                check_shapes(life.harness.framework, pod, columns)
            except AssertionError as error:
                error.add_note(f"seed {seed}, step {step}, pod {pod}")
                raise
        assert not list(columns.wrong())


@pytest.mark.parametrize("args", PROFILES, ids=str)
def test_the_default_profile_asks_about_no_node_by_itself(args: dict[str, dict[str, object]]) -> None:
    chains = build_profile(args=args).chains
    for point in POINTS:
        if point.per_node:
            alone = {name for name, _ in chains[point.hook]} - {name for name, _ in chains[point.at_once]}
            assert not alone


def test_every_installed_plugin_that_could_is_in_the_profile() -> None:
    registry, framework = Registry(), build_profile()
    at_once = [point.at_once for point in POINTS if point.at_once]
    has = {name for name in registry.names if any(hook in registry.declaration(name).hooks for hook in at_once)}
    assert has <= {name for hook in at_once for name, _ in framework.chains[hook]}
