"""Evaluator of the part of PromQL that alerts about gauges need. The values are of one moment.

Prometheus's own program, which could evaluate them, is not available to the tests. The expressions are parsed by
Prometheus's grammar.
"""

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

import promql_parser
from prometheus_client.parser import text_string_to_metric_families

#: Values by their labels.
Vector = dict[frozenset[tuple[str, str]], float]

_COMPARES: Mapping[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def instant(written: str) -> dict[str, Vector]:
    """Return the samples of a text for Prometheus, by name."""
    found: dict[str, Vector] = {}
    for family in text_string_to_metric_families(written):
        for sample in family.samples:
            found.setdefault(sample.name, {})[frozenset(sample.labels.items())] = sample.value
    return found


def value_of(expression: str, said: Mapping[str, Vector]) -> Vector:
    return _of(promql_parser.parse(expression), said)


def _of(node: Any, said: Mapping[str, Vector]) -> Vector:
    match node:
        case promql_parser.VectorSelector():
            return {
                labels: value
                for labels, value in said.get(node.name, {}).items()
                if all(_matches(each, dict(labels)) for each in node.matchers.matchers)
            }
        case promql_parser.BinaryExpr() if str(node.op) in _COMPARES:
            compares, bound = _COMPARES[str(node.op)], node.rhs.val
            return {labels: value for labels, value in _of(node.lhs, said).items() if compares(value, bound)}
        case promql_parser.BinaryExpr():
            return _set(str(node.op), _of(node.lhs, said), _of(node.rhs, said), _told_apart_by(node))
        case promql_parser.Call() if node.func.name == "absent":
            return {} if _of(node.args[0], said) else {frozenset(): 1.0}
    raise AssertionError(f"{node} is more than is understood here")


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
