"""pytest fixtures: `cycle` makes a CycleHarness, `virtual_time` runs a coroutine with time that jumps, `cluster` is an
API server in memory for that.
"""

from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

import pytest

from koordpy import virtual_time as loops
from koordpy.clock import LoopClock
from koordpy.cluster.embedded.cluster import EmbeddedCluster
from koordpy.testing.harness import CycleHarness
from koordpy_api.objects import KubeObject


@pytest.fixture
def cycle() -> Callable[..., CycleHarness]:
    """cycle(make_node("n1"), make_device("n1", 2)).schedule(make_pod(...))"""

    def make(*objects: KubeObject, **more: Any) -> CycleHarness:
        return CycleHarness(objects, **more)

    return make


@pytest.fixture
def virtual_time() -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """virtual_time(coroutine()) runs it to its end; an hour of waiting takes no time."""
    return loops.run


@pytest.fixture
def cluster() -> EmbeddedCluster:
    """An empty API server in memory, on the event loop's time. Ask it as a client, or look into `cluster.store`."""
    return EmbeddedCluster(LoopClock(), Random(0))
