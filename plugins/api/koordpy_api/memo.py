"""What was worked out of a Pod, kept as long as it is that version: PodMemo of many, `latest` of the last one."""

from collections.abc import Callable
from functools import update_wrapper
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


def latest(make: Callable[[Pod], T]) -> Callable[[Pod], T]:
    """A decorator: as lru_cache of one, by identity. For what many ask of the same Pod during one attempt."""
    kept: tuple[Pod, T] | None = None

    def of(pod: Pod) -> T:
        nonlocal kept
        if kept is not None and kept[0] is pod:
            return kept[1]
        made = make(pod)
        kept = pod, made
        return made

    return update_wrapper(of, make)
