"""Which nodes a Pod means: nodeSelector, required and preferred node affinity, node by node and by columns.

Source: k8s.io/component-helpers/scheduling/corev1/nodeaffinity.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from koordpy_api.columns import Amounts, Flags, NodeColumns, Selection
from koordpy_api.errors import Problem, SelectorError
from koordpy_api.objects import NodeSelector, NodeSelectorTerm
from koordpy_api.objects.pod import NodeSelectorRequirement, PreferredSchedulingTerm
from koordpy_api.selectors import LabelRequirement, LabelSelector, requirement_problem, selects

NODE_NAME: Final = "metadata.name"
"""The one field of a node that a term can ask for."""

REQUIRED: Final = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
PREFERRED: Final = "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution"
"""Where a Pod's terms stand."""

_OPERATORS: Final = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "absent", "Gt": ">", "Lt": "<"}
_FIELD_OPERATORS: Final = {"In": "=", "NotIn": "!="}


@dataclass(frozen=True, slots=True, eq=False)
class NodeTerm:
    """Requirements of which all must hold."""

    labels: LabelSelector
    fields: LabelSelector = ()

    @classmethod
    def read(cls, written: NodeSelectorTerm, path: str = "") -> "NodeTerm | None":
        """None: it is empty, and means no node. Raises: SelectorError, with the place below `path`."""
        labels = tuple(_labels(written.match_expressions, f"{path}.matchExpressions"))
        fields = tuple(_fields(written.match_fields, f"{path}.matchFields"))
        return cls(labels, fields) if labels or fields else None

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        """Does this node fulfil it?"""
        return selects(self.labels, labels) and all(
            each.matches(name if each.key == NODE_NAME else "") for each in self.fields
        )

    def among(self, columns: NodeColumns, rows: Selection) -> Flags:
        """The same of these rows."""
        (first, *others) = [
            *(_by_label(each, columns, rows) for each in self.labels),
            *(_by_name(each, columns, rows) for each in self.fields),
        ]
        for each in others:
            first &= each
        return first


@dataclass(frozen=True, slots=True, eq=False)
class RequiredNodes:
    """What a node must be: all labels as they are given, and one of the terms; `terms` None asks for nothing more."""

    terms: tuple[NodeTerm, ...] | None
    labels: LabelSelector = ()

    @classmethod
    def read(cls, selector: NodeSelector | None, labels: Iterable[tuple[str, str]] = ()) -> "RequiredNodes":
        """A term that cannot be read means no node, as one that is empty."""
        exact = tuple(LabelRequirement(key, "=", frozenset((value,))) for key, value in labels)
        return cls(None if selector is None else tuple(_readable(selector.node_selector_terms)), exact)

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        """Is this node one?"""
        return selects(self.labels, labels) and (
            self.terms is None or any(term.matches(name, labels) for term in self.terms)
        )

    def among(self, columns: NodeColumns, rows: Selection) -> Flags:
        """The same of these rows."""
        count = len(columns) if isinstance(rows, slice) else len(rows)
        if self.terms is None:
            found = np.ones(count, dtype=np.bool_)
        else:
            found = np.zeros(count, dtype=np.bool_)
            for term in self.terms:
                found |= term.among(columns, rows)
        for each in self.labels:
            found &= _by_label(each, columns, rows)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class PreferredNodes:
    """What a node had better be: (weight, term) each."""

    terms: tuple[tuple[int, NodeTerm], ...]

    @classmethod
    def read(cls, written: Iterable[PreferredSchedulingTerm]) -> "PreferredNodes":
        """Raises: SelectorError if a term that weighs something cannot be read."""
        found = []
        for index, each in enumerate(written):
            term = NodeTerm.read(each.preference, f"{PREFERRED}[{index}].preference") if each.weight else None
            if term is not None:
                found.append((each.weight, term))
        return cls(tuple(found))

    def score(self, name: str, labels: Mapping[str, str]) -> int:
        """The weights of the terms that this node fulfils."""
        return sum(weight for weight, term in self.terms if term.matches(name, labels))

    def among(self, columns: NodeColumns, rows: Selection) -> Amounts:
        """The same of these rows."""
        count = len(columns) if isinstance(rows, slice) else len(rows)
        total = np.zeros(count, dtype=np.int64)
        for weight, term in self.terms:
            total += weight * term.among(columns, rows)
        return total


def names_in(selector: NodeSelector) -> frozenset[str] | None:
    """The nodes that a selector names, if each of its terms names some; else None. None is left if a term names two.

    Source: kube-scheduler's nodeaffinity plugin (PreFilter), which looks at terms that cannot be read too.
    """
    found: set[str] = set()
    for term in selector.node_selector_terms:
        named = [
            frozenset(each.values) for each in term.match_fields if each.key == NODE_NAME and each.operator == "In"
        ]
        if not named:
            return None
        found |= frozenset.intersection(*named)
    return frozenset(found) if selector.node_selector_terms else None


def _readable(terms: Iterable[NodeSelectorTerm]) -> Iterable[NodeTerm]:
    for written in terms:
        try:
            term = NodeTerm.read(written)
        except SelectorError:
            continue
        if term is not None:
            yield term


def _labels(written: Iterable[NodeSelectorRequirement], path: str) -> Iterator[LabelRequirement]:
    for index, each in enumerate(written):
        place, values = f"{path}[{index}]", each.values
        operator = _operator(each, _OPERATORS, place)
        if operator in ("in", "notin") and not values:
            raise _mistake(f"{place}.values", "", "for In and NotIn there must be a value")
        if operator in ("exists", "absent") and values:
            raise _mistake(f"{place}.values", ", ".join(values), "for Exists and DoesNotExist there must be none")
        if operator in (">", "<") and len(values) != 1:
            raise _mistake(f"{place}.values", ", ".join(values), "for Gt and Lt there must be one value")
        found = LabelRequirement(each.key, operator, frozenset(values))
        if problem := requirement_problem(found):
            raise _mistake(place, "", problem)
        yield found


def _fields(written: Iterable[NodeSelectorRequirement], path: str) -> Iterator[LabelRequirement]:
    for index, each in enumerate(written):
        operator = _operator(each, _FIELD_OPERATORS, f"{path}[{index}]")
        if len(each.values) != 1:
            raise _mistake(f"{path}[{index}].values", ", ".join(each.values), "of a field there must be one value")
        yield LabelRequirement(each.key, operator, frozenset(each.values))


def _operator(written: NodeSelectorRequirement, known: Mapping[str, str], place: str) -> str:
    if written.operator not in known:
        raise _mistake(f"{place}.operator", written.operator, f"supported values: {', '.join(known)}")
    return known[written.operator]


def _mistake(place: str, value: str, right: str) -> SelectorError:
    return SelectorError(Problem(place, value, right))


def _by_label(requirement: LabelRequirement, columns: NodeColumns, rows: Selection) -> Flags:
    column = columns.label(requirement.key)
    match requirement.operator:
        case "in" | "=":
            return column.among(rows, requirement.values)
        case "notin":
            return ~column.among(rows, requirement.values)
        case "absent":
            return column.among(rows, (None,))
        case "exists":
            return ~column.among(rows, (None,))
    return column.judged(rows, requirement.matches, np.bool_)


def _by_name(requirement: LabelRequirement, columns: NodeColumns, rows: Selection) -> Flags:
    (name,) = requirement.values
    row = columns.row_of(name) if requirement.key == NODE_NAME else None
    named: Flags = np.arange(len(columns))[rows] == (-1 if row is None else row)
    if requirement.key != NODE_NAME:
        named[:] = not name  # the one value of a field that a node does not have
    return named if requirement.operator == "=" else ~named
