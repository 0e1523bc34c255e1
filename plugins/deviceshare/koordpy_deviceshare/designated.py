"""What is left of a node for a Pod whose devices are designated: these devices only, and only that much of each. Pure.

Source: Koordinator's deviceshare plugin.go (designatedAllocation), device_cache.go (calcFreeWithPreemptible).
"""

import msgspec

from koordpy_api.koordinator import AllocatedDevice, Allocations
from koordpy_deviceshare.model import GPU_TYPE, Card, NodeDevices, complete


class NoSuchDevice(LookupError):
    """A designated GPU is not there, or has nothing to give. `minor` says which."""

    def __init__(self, minor: int) -> None:
        super().__init__(f"no healthy gpu device with minor {minor} of allocation")
        self.minor = minor


def limited_to(designated: Allocations, devices: NodeDevices) -> NodeDevices:
    """The node as it would be if nothing else of it were left. Types that nothing is designated of stay as they are.

    Raises: NoSuchDevice, as the memory of its share cannot be completed.
    """
    by_type = dict(devices.by_type)
    for device_type, held in designated.items():
        known = {card.minor: card for card in devices.type(device_type).cards}
        if device_type == GPU_TYPE and any(card.total for card in known.values()):
            held = [_completed(device, known.get(device.minor)) for device in held]
        if not held:
            continue
        limits = {device.minor: device.resources for device in held}
        cards = [_limited(card, limits.get(minor, {})) for minor, card in known.items()]
        by_type |= NodeDevices.of({device_type: cards}).by_type
    return NodeDevices(by_type)


def _completed(device: AllocatedDevice, card: Card | None) -> AllocatedDevice:
    if card is None or not any(card.total.values()):
        raise NoSuchDevice(device.minor)
    return AllocatedDevice(device.minor, complete(device.resources, card.total), device.id)


def _limited(card: Card, most: dict[str, int]) -> Card:
    """With no more left than `most`. What `most` does not name cannot be given."""
    left = {name: min(card.free.get(name, 0), most.get(name, 0)) for name in card.total}
    return msgspec.structs.replace(
        card, used={name: card.total[name] - left[name] for name in card.total if card.total[name]}
    )
