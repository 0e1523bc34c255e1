"""Kinds device_score and normalise_score: one device's share of a node's score, and the scores of several nodes."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from koordpy.testing import make_pod
from koordpy_api.quantity import value_of
from tests.parity.frame import Case, Legend, Outcome, compare
from tests.parity.readers.koordinator.alloc import ask_score
from tests.parity.readers.koordinator.stage import PLUGIN, Stage


def read_device(case: Case, legend: Legend) -> Outcome:
    """A node with one device has that device's score."""
    total, free = _read(case["total"]), _read(case["free"])
    used = {name: total[name] - free.get(name, 0) for name in total}
    card = {"type": "gpu", "minor": 0, "id": "GPU-0", "health": True, "resources": total}
    held = [{"pod": "d/a", "gpu": {"0": used}}] if any(used.values()) else []
    question = {"device": {"devices": [card]}, "used": held, "pod": {"requests": case["req"]}}
    return compare(case["expect"], ask_score(question | {"strategy": case["strategy"]}))


def read_normalised(case: Case, legend: Legend) -> Outcome:
    scores = np.array(case["scores"], dtype=np.int64)
    stage = Stage()
    for name, hook in stage.framework.chains["normalize_scores"]:
        if name == PLUGIN:
            hook(stage.state, make_pod(), scores)
    return compare(case["expect"], {"scores": scores.tolist()})


def _read(amounts: Mapping[str, Any]) -> dict[str, int]:
    return {name: value_of(amount) for name, amount in amounts.items()}
