"""Labels: their syntax, and selectors over them; and which toleration covers which taint. Nodes: node_selectors.py.

Source: k8s.io/apimachinery/pkg/labels/selector.go (Parse, Requirement.Matches), pkg/util/validation/validation.go;
k8s.io/component-helpers/scheduling/corev1 (ToleratesTaint).
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from koordpy_api.objects import Taint, Toleration

SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
SUBDOMAIN_TEXT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com')"
)
_WORD: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_CONSISTS: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric"
)
_NUMBER: Final = re.compile(r"[+-]?[0-9]+")
_REQUIREMENT: Final = re.compile(
    r"\s*(?P<absent>!?)\s*(?P<key>[^\s()!=,<>]+)\s*"
    r"(?:(?P<set>(?<=\s)(?:not)?in)\s*\((?P<values>[^()!=<>]*)\)|(?P<operator>==|!=|[=<>])\s*(?P<value>[^\s()!=,<>]*))?\s*"
)


def key_problem(key: str) -> str:
    """What is wrong with the key of a label or annotation; empty if nothing is."""
    prefix, slash, name = key.rpartition("/")
    if slash and not SUBDOMAIN.fullmatch(prefix):
        return f"prefix part {SUBDOMAIN_TEXT}"
    if len(name) > 63:
        return "name part must be no more than 63 bytes"
    return "" if _WORD.fullmatch(name) else f"name part {_CONSISTS} character (e.g. 'MyName', or 'my.name')"


def value_problem(value: str) -> str:
    """What is wrong with the value of a label; empty if nothing is."""
    if len(value) > 63:
        return "must be no more than 63 bytes"
    is_right = not value or _WORD.fullmatch(value)
    return "" if is_right else f"a valid label must be an empty string or {_CONSISTS} character"


@dataclass(frozen=True, slots=True)
class LabelRequirement:
    """One term of a label selector. operator: exists, absent, =, ==, in, !=, notin, <, >."""

    key: str
    operator: str
    values: frozenset[str] = frozenset()

    def matches(self, value: str | None) -> bool:
        """value: the label's; None if there is none."""
        match self.operator:
            case "exists" | "absent":
                return (value is None) == (self.operator == "absent")
            case "in" | "=" | "==":
                return value in self.values
            case "notin" | "!=":
                return value not in self.values
        (bound,) = map(_integer, self.values)
        number = None if value is None else _integer(value)
        if number is None or bound is None:
            return False
        return number > bound if self.operator == ">" else number < bound


def _integer(text: str) -> int | None:
    """As Go's ParseInt: of 64 bits, or none."""
    number = int(text) if _NUMBER.fullmatch(text) else None
    return number if number is not None and -(2**63) <= number < 2**63 else None


LabelSelector = tuple[LabelRequirement, ...]
"""All of them must match."""


def selects(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    return all(each.matches(labels.get(each.key)) for each in selector)


def parse_label_selector(text: str) -> LabelSelector:
    """A selector as kubectl writes it: `a=b,c!=d,e in (f, g),!h`. Raises: ValueError with upstream's sentence."""
    parts = re.split(r",(?![^(]*\))", text) if text.strip() else []  # not at the commas in brackets
    return tuple(_requirement(each) for each in parts)


def _requirement(text: str) -> LabelRequirement:
    match = _REQUIREMENT.fullmatch(text)
    if match is None or (match["absent"] and (match["operator"] or match["set"])):
        bare = re.search(r"(?<=\s)in\s+([^\s(]+)", text)
        what = (bare[1], "'('") if bare else (text, "key, !key, key=value or key in (…)")
        raise ValueError(f"unable to parse requirement: found '{what[0]}' expected: {what[1]}")
    listed = (match["values"] or "").split(",") if match["set"] else [match["value"] or ""]
    operator = match["set"] or match["operator"] or ("absent" if match["absent"] else "exists")
    found = LabelRequirement(match["key"], operator, frozenset(each.strip() for each in listed))
    if problem := requirement_problem(found):
        raise ValueError(f"unable to parse requirement: {problem}")
    return found


def requirement_problem(requirement: LabelRequirement) -> str:
    """What is wrong with its key or its values; empty if nothing is."""
    if problem := key_problem(requirement.key):
        return f'<nil>: Invalid value: "{requirement.key}": {problem}'
    for value in sorted(requirement.values):
        problem = value_problem(value)
        if requirement.operator in "<>" and _integer(value) is None:
            problem = "for 'Gt', 'Lt' operators, the value must be an integer"
        if problem:
            return f'values[0][{requirement.key}]: Invalid value: "{value}": {problem}'
    return ""


class MatchExpression(msgspec.Struct, frozen=True):
    """A requirement as it stands in an object."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] | None = None


class WrittenSelector(msgspec.Struct, frozen=True, rename="camel"):
    """A LabelSelector as it stands in an object. Without requirements it takes everything."""

    match_labels: Mapping[str, str] | None = None
    match_expressions: tuple[MatchExpression, ...] | None = None


_OPERATORS: Final = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "absent"}


def read_label_selector(written: WrittenSelector) -> LabelSelector:
    """Raises: ValueError with upstream's sentence. Source: pkg/apis/meta/v1/helpers.go, LabelSelectorAsSelector."""
    equal = [LabelRequirement(key, "=", frozenset((value,))) for key, value in (written.match_labels or {}).items()]
    found = (*equal, *map(_expression, written.match_expressions or ()))
    for each in found:
        if problem := requirement_problem(each):
            raise ValueError(problem)
    return found


def _expression(written: MatchExpression) -> LabelRequirement:
    values = frozenset(written.values or ())
    if written.operator not in _OPERATORS:
        raise ValueError(f'"{written.operator}" is not a valid label selector operator')
    if written.operator in ("In", "NotIn") and not values:
        raise ValueError(f"{written.key}: for 'in', 'notin' operators, values set can't be empty")
    if written.operator in ("Exists", "DoesNotExist") and values:
        raise ValueError(f"{written.key}: values set must be empty for exists and does not exist")
    return LabelRequirement(written.key, _OPERATORS[written.operator], values)


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Does this toleration cover this taint? An empty effect or key covers every one."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"


def is_tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    return any(tolerates(toleration, taint) for toleration in tolerations)
