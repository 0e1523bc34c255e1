"""What can be wrong with something a person or a server handed us, said so that it can be mended."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in one object or file.

    path: keys down to the place, as in `spec.devices[0].minor`.
    value: what stands there, as text; empty if nothing does.
    right: what would be right, as a half sentence.
    """

    path: str
    value: str
    right: str

    def __str__(self) -> str:
        shown = f" is {self.value!r}" if self.value else ""
        return f"{self.path}{shown}: {self.right}"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something in a cluster that a person should look at. name: of the object, with its namespace if it has one."""

    kind: str
    name: str
    problem: Problem

    def __str__(self) -> str:
        return f"{self.kind} {self.name}: {self.problem}"


class QuantityError(ValueError):
    """A text that is no Kubernetes quantity."""


class AnnotationError(ValueError):
    """An annotation whose text cannot be read. `problem` says where and what would be right."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


class SelectorError(ValueError):
    """A term of a selector that cannot be read. `problem` says where and what would be right."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem
