"""PodMemo: what was worked out of a Pod, kept as long as it is that version."""

from collections.abc import Callable
from typing import Final, Generic, TypeVar

from koordpy_api.objects import Pod

T = TypeVar("T")
_MOST: Final = 20_000


class PodMemo(Generic[T]):
    """For hints, which are asked of the same waiting pods again and again. Forgets all once there are too many."""

    def __init__(self, make: Callable[[Pod], T]) -> None:
        self._make = make
        self._made: dict[str, tuple[Pod, T]] = {}

    def of(self, pod: Pod) -> T:
        kept = self._made.get(pod.uid)
        if kept is not None and kept[0] is pod:
            return kept[1]
        if len(self._made) >= _MOST:
            self._made.clear()
        made = self._make(pod)
        self._made[pod.uid] = pod, made
        return made
