"""Every scenario of this folder: in virtual time, and those that say `real: true` on the real kube-apiserver too."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from koordpy.framework.points import POINTS
from koordpy.framework.registry import Registry
from koordpy.scenario.language import Scenario, load
from koordpy.scenario.runner import needs, play
from koordpy.virtual_time import run
from tests.controlplane.server import ControlPlane
from tests.scenarios.conftest import CASE, OUTCOME
from tests.scenarios.worlds import RealWorld, embedded_world

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("*.yaml"))
REAL = [path for path in FILES if load(path).real]
Record = Callable[[str, object], None]


def _stem(path: Path) -> str:
    return path.stem


@pytest.mark.parametrize("path", FILES, ids=_stem)
def test_scenario_in_virtual_time(path: Path, tmp_path: Path, record_property: Record) -> None:
    scenario = load(path)
    world = embedded_world(tmp_path)
    if waits := needs(scenario, world):
        record_property(OUTCOME, f"waiting for {waits[0]}")
        record_property(CASE, [(case, f"waiting for {', '.join(waits)}") for case in scenario.case])
        pytest.skip(f"waits for {', '.join(waits)}")
    record_property(OUTCOME, "in virtual time" if scenario.runs_a_scheduler else "as commands alone")
    if scenario.differs:
        record_property(OUTCOME, "of these different on purpose")
    record_property(CASE, [(case, "different" if scenario.differs else "right") for case in scenario.case])
    run(play(scenario, world, HERE))


@pytest.mark.parametrize("path", REAL, ids=_stem)
def test_scenario_on_the_real_server(
    path: Path, tmp_path: Path, control_plane: ControlPlane, namespace: str, record_property: Record
) -> None:
    scenario = load(path)

    async def perform() -> None:
        world = await RealWorld.open(control_plane, namespace, tmp_path)
        try:
            if waits := needs(scenario, world):
                pytest.skip(f"waits for {', '.join(waits)}")
            record_property(OUTCOME, "on the real kube-apiserver")
            await play(scenario, world, HERE)
        finally:
            await world.close()

    asyncio.run(perform())


@pytest.mark.parametrize("path", FILES, ids=_stem)
def test_a_file_is_named_for_its_case_and_waits_for_what_is_not_built(path: Path) -> None:
    scenario = load(path)
    assert any(path.stem == case or path.stem.startswith(f"{case}-") for case in scenario.case)
    assert not _built(scenario), "it need not wait any longer"


def _built(scenario: Scenario) -> list[str]:
    built = {f"plugin {name}" for name in Registry().names} | {f"point {point.name}" for point in POINTS}
    return [need for need in scenario.waits_for if need in built]
