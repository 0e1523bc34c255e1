"""The one decision: which cards of a node a request gets. Pure.

Reserve asks `allocate`; Filter asks only whether it would succeed, which is `shortage`, the first thing allocate asks.
"""

from operator import itemgetter
from typing import Final

from koordpy_api.koordinator import GPU_MEMORY, GPU_MEMORY_RATIO, AllocatedDevice
from koordpy_deviceshare.model import GPU_TYPE, Allocation, Amounts, Card, NodeDevices, Shortage, complete, other_form
from koordpy_deviceshare.request import DeviceRequest

WEIGHTS: Final[Amounts] = {GPU_MEMORY_RATIO: 1, GPU_MEMORY: 1}
"""What the choice among cards looks at. Source: Koordinator's default scoringStrategy of DeviceShareArgs."""


def allocate(request: DeviceRequest, devices: NodeDevices) -> Allocation | Shortage:
    """Choose the emptiest cards that can give what is asked, the lowest minor among equals.

    Equal arguments give equal answers, whatever the order in which the devices were listed.
    """
    if (short := shortage(request, devices)) is not None:
        return short
    per_card = request.per_card
    fitting = [
        (-card_score(per_card, card), card.minor, card)
        for card in _candidates(request, devices)
        if fits(per_card, card)
    ]
    fitting.sort(key=itemgetter(0, 1))
    chosen = sorted(fitting[: request.count], key=itemgetter(1))
    given = tuple(AllocatedDevice(minor, complete(per_card, card.total), card.id) for _, minor, card in chosen)
    return Allocation({GPU_TYPE: given})


def shortage(request: DeviceRequest, devices: NodeDevices) -> Shortage | None:
    """Why the node cannot give what is asked; None if it can. Looks at no more cards than it takes to know."""
    candidates, missing = _candidates(request, devices), request.count
    if len(candidates) >= missing:  # most refusals of a full node need no more than this
        for card in candidates:
            if fits(request.per_card, card):
                missing -= 1
                if not missing:
                    return None
    return Shortage(request.count, request.per_card, devices.gpus)


def fits(per_card: Amounts, card: Card) -> bool:
    """Has the card left what is asked, in percent and in bytes of its own memory?

    A dimension that the card does not report cannot be given. Upstream lets it pass unseen.
    """
    free = card.free
    for name, amount in per_card.items():
        if amount > free.get(name, 0):
            return False
    if (other := other_form(per_card, card.total)) is None:
        return False
    name, amount = other
    return amount <= free.get(name, 0)


def card_score(per_card: Amounts, card: Card) -> int:
    """How empty the card would be, 0..100. The request counts as it was made, not completed.

    Source: Koordinator's deviceshare leastResourceScorer.
    """
    score = weights = 0
    for name, weight in WEIGHTS.items():
        if (total := card.total.get(name, 0)) > 0:
            left = card.free[name] - per_card.get(name, 0)
            score += left * 100 // total * weight if left > 0 else 0
            weights += weight
    return score // weights if weights else 0


def _candidates(request: DeviceRequest, devices: NodeDevices) -> tuple[Card, ...]:
    return devices.empty if request.is_whole else devices.open
