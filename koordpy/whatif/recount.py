"""Do a scheduler's books agree with the annotations of its pods? Asked through the hooks that every plugin has."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import msgspec

from koordpy.framework.runner import Framework
from koordpy.whatif.cards import CardUse, Count
from koordpy.whatif.explain import CardAnswer, cards_of
from koordpy_api import CycleState, NodeInfo, Status
from koordpy_api.koordinator import GPU
from koordpy_api.objects import Pod

TOO_MUCH: Final = "100000"
"""A thousand whole cards of one node."""


def cards_believed(frameworks: Iterable[Framework], nodes: Sequence[NodeInfo]) -> dict[str, list[CardAnswer]]:
    """Node → its cards, as the plugins that count cards believe them; nothing if no plugin does.

    They are asked by a Pod that fits nowhere, so that they must say what is free. Each plugin is asked alone, for
    another's refusal would hide it. The scheduler of these frameworks must have ended: this runs in its place.
    """
    believed: dict[str, list[CardAnswer]] = {}
    for framework in frameworks:
        pod = _asking(framework.profile)
        for link in framework.chains["filter"]:
            alone = replace(framework, chains={**framework.chains, "filter": (link,)})
            state = CycleState()
            if isinstance(alone.run_pre_filter(state, pod, nodes), Status):
                continue
            filtered = alone.run_filter(state, pod, nodes)
            for node, refusal in {} if isinstance(filtered, Status) else filtered.refusals.items():
                if told := cards_of(refusal):
                    believed.setdefault(node, told)  # profiles share their books
    return believed


def differences(count: Count, believed: Mapping[str, Sequence[CardAnswer]]) -> list[str]:
    """What the two say differently of the nodes that the scheduler knows, and what is given away twice."""
    told = [f"{problem}: its cards cannot be counted" for problem in count.problems]
    for node, cards in count.nodes.items():
        told += [
            f"{node} card {card.minor}: more {name} is given away than there is"
            for card in cards
            for name in card.exceeded
        ]
        if node in believed:
            told += _of_node(node, {card.minor: card for card in cards}, {each.minor: each for each in believed[node]})
    return told


def _of_node(node: str, counted: Mapping[int, CardUse], believed: Mapping[int, CardAnswer]) -> list[str]:
    told = []
    for minor in sorted(counted.keys() | believed.keys()):
        card, answer = counted.get(minor, CardUse(minor)), believed.get(minor)
        if answer is None:
            told.append(f"{node} card {minor}: the scheduler does not know it")
            continue
        if answer.holders != len(card.shares):
            told.append(
                f"{node} card {minor}: {len(card.shares)} pods hold it, the scheduler believes {answer.holders}"
            )
        free = card.free if card.total else {}
        for name, amount in answer.free.items():
            if amount != free.get(name, 0):
                told.append(
                    f"{node} card {minor}: {free.get(name, 0)} of {name} is free, the scheduler believes {amount}"
                )
    return told


def _asking(profile: str) -> Pod:
    container = {"name": "main", "resources": {"limits": {GPU: TOO_MUCH}, "requests": {GPU: TOO_MUCH}}}
    metadata = {"name": "asking", "namespace": "default", "uid": "asking"}
    return msgspec.convert({"metadata": metadata, "spec": {"schedulerName": profile, "containers": [container]}}, Pod)
