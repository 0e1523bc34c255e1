"""One device: what it is asked in both forms of memory, its score, and whether a selector takes it.

Source: koordinator.md 3.7, 5.3.
"""

from collections.abc import Mapping
from typing import Any, Final

from koordpy_api.koordinator import GPU_MEMORY, GPU_MEMORY_RATIO
from tests.parity.model.amounts import Amounts
from tests.parity.model.differences import EXACT_PERCENT, NONE, Differences

FORMS: Final = {GPU_MEMORY, GPU_MEMORY_RATIO}


def all_forms(asked: Amounts) -> set[str]:
    """The names asked for; memory in both of its forms."""
    return {*asked} | (FORMS if FORMS & asked.keys() else set())


def completed(amounts: Amounts, total: Amounts, differences: Differences = NONE) -> Amounts:
    """A share of a card's memory in both forms; as it is if it has both."""
    if GPU_MEMORY in amounts and GPU_MEMORY_RATIO in amounts:
        return amounts
    memory = total.get(GPU_MEMORY, 0)
    if GPU_MEMORY not in amounts:
        return amounts | {GPU_MEMORY: amounts.get(GPU_MEMORY_RATIO, 0) * memory // 100}
    if EXACT_PERCENT in differences:
        return amounts | {GPU_MEMORY_RATIO: amounts[GPU_MEMORY] * 100 // memory}
    return amounts | {GPU_MEMORY_RATIO: int(float(amounts[GPU_MEMORY]) / float(memory) * 100)}


def device_score(strategy: str, asked: Amounts, total: Amounts, free: Amounts, weights: Mapping[str, int]) -> int:
    """How empty, or how full, a device or a node would be: 0..100."""
    score = sum_of_weights = 0
    for name, weight in weights.items():
        if not (whole := total.get(name, 0)):
            continue
        left = free.get(name, 0)
        requested = whole if left > whole else whole - left + asked.get(name, 0)
        if strategy == "MostAllocated":
            score += min(requested, whole) * 100 // whole * weight
        elif requested <= whole:
            score += (whole - requested) * 100 // whole * weight
        sum_of_weights += weight
    return score // sum_of_weights if sum_of_weights else 0


def selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """A LabelSelector."""
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(_holds(each, labels) for each in selector.get("matchExpressions") or ())


def _holds(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, values = expression["key"], expression.get("values") or ()
    match expression["operator"]:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
    raise ValueError(f"no operator of a LabelSelector: {expression['operator']!r}")
