"""CycleState: what plugins remember about one Pod during one scheduling attempt."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

T = TypeVar("T")


def share(value: T) -> T:
    """A clone that copies nothing; right for frozen values."""
    return value


# No slots: on Python 3.11 a generic dataclass with slots cannot be called as StateKey[T](…).
@dataclass(frozen=True, eq=False)
class StateKey(Generic[T]):
    """A typed name in CycleState. `clone` makes the copy that a dry run may change; frozen values pass `share`.

    A key is the same only as itself, so a module keeps it in a constant; that makes reading it for every node quick.
    """

    name: str
    clone: Callable[[T], T]


class CycleState:
    """One attempt's notes. A plugin writes under its own keys and reads back exactly the type it wrote."""

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values: dict[StateKey[Any], Any] = {}

    def write(self, key: StateKey[T], value: T) -> None:
        self._values[key] = value

    def read(self, key: StateKey[T]) -> T:
        """Raises: KeyError if nothing was written, which the host blames on the plugin that asked."""
        try:
            return cast(T, self._values[key])
        except KeyError:
            raise KeyError(f"nothing was written under {key.name!r} in this attempt") from None

    def get(self, key: StateKey[T]) -> T | None:
        return cast("T | None", self._values.get(key))

    def delete(self, key: StateKey[Any]) -> None:
        self._values.pop(key, None)

    def clone(self) -> "CycleState":
        """A copy for a dry run: each value is copied the way its key says."""
        copy = CycleState()
        copy._values = {key: key.clone(value) for key, value in self._values.items()}
        return copy
