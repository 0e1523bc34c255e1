"""Whatever happens, in whatever order and however late it is told: what is believed is what the objects say."""

import asyncio
import os
from random import Random
from typing import Final

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from koordpy.config.expand import default_configuration, resolve
from koordpy.framework.build import build_all
from koordpy.framework.registry import Registry
from koordpy.scheduler.scheduler import Scheduler
from koordpy.testing import read_object
from koordpy.whatif.cards import count
from koordpy_api.objects import Device, Node, Pod
from tests.scheduler.stage import Stage, perform
from tests.soak.actors import ACTS, OURS, Actors

EXAMPLES: Final = int(os.environ.get("LONG_EXAMPLES", "20"))
PAUSES_S: Final = (0.0, 0.0, 0.01, 0.3, 2.0, 20.0)
OFTEN: Final = ["pod comes", "pod comes", "pod comes", "something breaks", "something breaks", "somebody else binds"]
STEPS: Final = st.lists(
    st.tuples(st.sampled_from([*OFTEN, *sorted(ACTS)]), st.integers(0, 2**32), st.sampled_from(PAUSES_S)),
    min_size=15,
    max_size=60,
)


@pytest.mark.timeout(60 + 20 * EXAMPLES)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
@given(steps=STEPS, seed=st.integers(0, 2**16))
def test_after_any_order_of_events_the_books_are_those_of_a_recount(
    steps: list[tuple[str, int, float]], seed: int
) -> None:
    async def scene(stage: Stage) -> None:
        actors = Actors(stage.cluster.asked, nodes=3, pods=25)
        for number in range(3):
            actors.act("node comes or changes", Random(f"{seed} node {number}"))
            actors.act("device comes or changes", Random(f"{seed} device {number}"))
        for name, drawn, pause_s in steps:
            actors.act(name, Random(drawn))
            await asyncio.sleep(pause_s)
            stage.check()
            check_cards(actors)
        actors.calm()
        await asyncio.sleep(700)  # longer than a watch lasts that has gone silent
        stage.check()
        check_cards(actors)
        check_informers(stage.scheduler, actors)
        told = stage.scheduler.around.metrics.registry.get_sample_value
        bound = int(told("scheduler_schedule_attempts_total", {"result": "scheduled", "profile": OURS}) or 0)
        print(f"  seed {seed}: {len(steps)} acts, {bound} Pods placed, every recount the same")
        event(f"bound {bound > 0}")

    frameworks = build_all(resolve(default_configuration()), Registry(), lambda *_: None)
    perform(scene, frameworks=frameworks, seed=seed)


def check_cards(actors: Actors) -> None:
    """By the annotations alone, no card gives more than it has."""
    devices = [read_object(Device, each) for each in actors.documents(Device.KIND)]
    pods = [read_object(Pod, each) for each in actors.documents(Pod.KIND)]
    cards = [card for cards in count(devices, pods).nodes.values() for card in cards]
    assert not [card for card in cards if card.exceeded]


def check_informers(scheduler: Scheduler, actors: Actors) -> None:
    """What the informers hold, against which everything else was checked, is what exists."""
    for kind in (Pod, Node, Device):
        exist = {each["metadata"]["uid"] for each in actors.documents(kind.KIND) if not _has_ended(each)}
        held = {each.metadata.uid for each in scheduler.invariants.informers[kind].objects.values()}
        assert held == exist, kind.KIND.plural


def _has_ended(document: dict[str, dict[str, str]]) -> bool:
    return document.get("status", {}).get("phase") in ("Succeeded", "Failed")
