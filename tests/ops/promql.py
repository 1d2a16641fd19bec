"""Evaluator of the part of PromQL that alerts need. The values are of one moment, and of one before each range.

Prometheus's own program, which could evaluate them, is not available to the tests. The expressions are parsed by
Prometheus's grammar.
"""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import promql_parser
from prometheus_client.parser import text_string_to_metric_families

#: Values by their labels.
Vector = dict[frozenset[tuple[str, str]], float]
Labels = frozenset[tuple[str, str]]

_COMPARES: Mapping[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_SUMS: Mapping[str, Callable[[float, float], float]] = {
    "*": operator.mul,
    "-": operator.sub,
    "+": operator.add,
    "/": operator.truediv,
}


def instant(written: str) -> dict[str, Vector]:
    """Return the samples of a text for Prometheus, by name."""
    found: dict[str, Vector] = {}
    for family in text_string_to_metric_families(written):
        for sample in family.samples:
            found.setdefault(sample.name, {})[frozenset(sample.labels.items())] = sample.value
    return found


def value_of(
    expression: str, said: Mapping[str, Vector], before: Mapping[str, Vector] | None = None
) -> Vector:
    """Return the value. ``before`` are the samples at the begin of each range. A series that did not exist then has no
    increase, as in Prometheus.
    """
    found = _Moment(said, before or {}).of(promql_parser.parse(expression))
    assert isinstance(found, dict)
    return found


class _Moment:
    def __init__(self, said: Mapping[str, Vector], before: Mapping[str, Vector]) -> None:
        self._said = said
        self._before = before

    def of(self, node: Any) -> Vector | float:
        match node:
            case promql_parser.VectorSelector():
                return _selected(node, self._said)
            case promql_parser.NumberLiteral():
                return float(node.val)
            case promql_parser.BinaryExpr():
                return self._binary(node)
            case promql_parser.AggregateExpr() if str(node.op) == "sum":
                return _sums(self._vector(node.expr), node.modifier.labels if node.modifier else [])
            case promql_parser.Call():
                return self._call(node.func.name, node.args)
        raise AssertionError(f"{node} is more than is understood here")

    def _call(self, name: str, arguments: Sequence[Any]) -> Vector:
        match name:
            case "absent":
                return {} if self.of(arguments[0]) else {frozenset(): 1.0}
            case "increase" | "rate":
                return self._increase(arguments[0], per_s=name == "rate")
        raise AssertionError(f"{name} is more than is understood here")

    def _vector(self, node: Any) -> Vector:
        found = self.of(node)
        assert isinstance(found, dict), node
        return found

    def _binary(self, node: Any) -> Vector:
        how, left, right = str(node.op), self.of(node.lhs), self.of(node.rhs)
        if how in _COMPARES:
            pairs = _pairs(left, right)
            return {labels: one for labels, (one, other) in pairs.items() if _COMPARES[how](one, other)}
        if how in _SUMS:
            pairs = _pairs(left, right)
            return {labels: _SUMS[how](one, other) for labels, (one, other) in pairs.items()}
        assert isinstance(left, dict)
        assert isinstance(right, dict)
        return _set(how, left, right, _told_apart_by(node))

    def _increase(self, node: Any, *, per_s: bool) -> Vector:
        now, then = _selected(node.vector_selector, self._said), _selected(node.vector_selector, self._before)
        length_s = node.range.total_seconds() if per_s else 1.0
        return {labels: (now[labels] - then[labels]) / length_s for labels in now.keys() & then.keys()}


def _selected(node: Any, said: Mapping[str, Vector]) -> Vector:
    return {
        labels: value
        for labels, value in said.get(node.name, {}).items()
        if all(_matches(each, dict(labels)) for each in node.matchers.matchers)
    }


def _sums(vector: Vector, by: Sequence[str]) -> Vector:
    found: Vector = {}
    for labels, value in vector.items():
        kept = frozenset(each for each in labels if each[0] in by)
        found[kept] = found.get(kept, 0.0) + value
    return found


def _pairs(left: Vector | float, right: Vector | float) -> dict[Labels, tuple[float, float]]:
    """Return the values on both sides of an operator, by labels. A number belongs to all labels."""
    if isinstance(left, dict) and isinstance(right, dict):
        return {labels: (left[labels], right[labels]) for labels in left.keys() & right.keys()}
    if isinstance(left, dict):
        assert not isinstance(right, dict)
        return {labels: (value, right) for labels, value in left.items()}
    assert isinstance(right, dict)
    return {labels: (left, value) for labels, value in right.items()}


def _set(how: str, left: Vector, right: Vector, told_apart_by: set[str] | None) -> Vector:
    def of(labels: frozenset[tuple[str, str]]) -> frozenset[tuple[str, str]]:
        return frozenset(each for each in labels if told_apart_by is None or each[0] in told_apart_by)

    there = {of(labels) for labels in right}
    match how:
        case "and":
            return {labels: value for labels, value in left.items() if of(labels) in there}
        case "unless":
            return {labels: value for labels, value in left.items() if of(labels) not in there}
        case "or":
            known = {of(labels) for labels in left}
            return left | {labels: value for labels, value in right.items() if of(labels) not in known}
    raise AssertionError(f"{how} is more than is understood here")


def _told_apart_by(node: Any) -> set[str] | None:
    """Return the labels that are compared, or None for all labels."""
    if node.modifier is None or node.modifier.matching is None:
        return None
    assert node.modifier.matching.type == promql_parser.LabelModifierType.Include
    return {*node.modifier.matching.labels}


def _matches(matcher: Any, labels: Mapping[str, str]) -> bool:
    value = labels.get(matcher.name, "")
    match matcher.op:
        case promql_parser.MatchOp.Equal:
            return bool(value == matcher.value)
        case promql_parser.MatchOp.Re:
            return re.fullmatch(matcher.value, value) is not None
    raise AssertionError(f"{matcher.op} is more than is understood here")
