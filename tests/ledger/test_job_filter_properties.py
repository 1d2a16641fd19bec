"""Random conditions on random jobs: the ledger finds exactly the jobs for which the condition is true."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from operator import ge, gt, le, lt
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.keys.key_fields import key_readings
from sluice.jobs.model.app import App
from sluice.jobs.states import TERMINAL, State
from sluice.jobs.text.filters import (
    LISTING,
    ORDERING,
    And,
    Compare,
    Condition,
    Field,
    Input,
    Not,
    Operator,
    Or,
)
from sluice.jobs.text.paging import Order
from sluice.ledger.reads import job_lists
from sluice.ledger.reads.job_filters import JobFilter
from tests.ledger.listed_jobs import DAY, There, there
from tests.world import World, catalogue_of

CATALOGUE = catalogue_of(
    {
        "trip": {"job_id": "{a}_{b}", "identifiers": {"a": "int"}, "bash_cmd": "true"},
        "order": {"job_id": "{b}", "identifiers": {"b": [1, 9, 10]}, "function": "json:dumps"},
    }
)
TEXTS = ["", "1", "9", "10", "a", "B", "é", "a_b", "\U0001f600", "\uffee", "'", "%s"]
SCALARS = [None, True, False, 0, 1, -1, 9, 10, 1.0, 9.5, 1e300, 2**53 + 1, float(2**53), 2**63 - 1, *TEXTS]
VALUES = [*SCALARS, [], [1], [1.0], [True], {}, {"a": 1}, {"a": None}, {"b": {"a": "9"}}, [None, {"a": []}]]
MOMENTS = [DAY + timedelta(microseconds=n) for n in (-1, 0, 1)] + [DAY + timedelta(days=1)]
MISSING = object()
ORDERS = {Operator.LESS: lt, Operator.AT_MOST: le, Operator.GREATER: gt, Operator.AT_LEAST: ge}

whole = st.integers(-2, 12)
keys = {
    "trip": st.builds("{}_{}".format, whole, st.sampled_from([text for text in TEXTS if text])),
    "order": st.sampled_from(["1", "9", "10"]),
    "gone": st.sampled_from([text for text in TEXTS if text]),
}
names = st.sampled_from(["a", "b", "c", "'", "%(w0)s"])
paths = st.lists(names, min_size=1, max_size=3).map(tuple)
kwargs = st.none() | st.dictionaries(names, st.sampled_from(VALUES), max_size=3)


@st.composite
def jobs(draw: st.DrawFn) -> There:
    app = draw(st.sampled_from([*keys]))
    return There(
        app=app,
        key=draw(keys[app]),
        state=draw(st.sampled_from([State.WAITING, State.RUNNING, State.FAILED, State.SUCCEEDED])),
        round=draw(st.integers(0, 2)),
        priority=draw(whole),
        kwargs=draw(kwargs),
        created_at=draw(st.sampled_from(MOMENTS)),
        changed_at=draw(st.sampled_from(MOMENTS)),
    )


FIELD_VALUES: dict[Field, st.SearchStrategy[object]] = {
    Field.APP: st.sampled_from([*keys, *TEXTS]),
    Field.KEY: st.sampled_from([*TEXTS, "9_a"]),
    Field.STATE: st.sampled_from(State),
    Field.TYPE: st.sampled_from(["bash", "python", "saga"]),
    Field.SUBMISSION: st.sampled_from(TEXTS),
    Field.ROUND: whole | st.just(2**63 - 1),
    Field.PRIORITY: whole | st.just(-(2**63) + 1),
}


def _values(subject: Field | Input, operator: Operator) -> st.SearchStrategy[object]:
    if isinstance(subject, Input):
        return st.sampled_from(VALUES[1:] if operator in ORDERING else VALUES)
    null = [None] if subject is Field.ENDED and operator not in ORDERING else []
    return FIELD_VALUES.get(subject, st.sampled_from([*null, *MOMENTS]))


@st.composite
def comparisons(draw: st.DrawFn) -> Compare:
    subject = draw(st.sampled_from(Field) | paths.map(Input) | paths.map(Input))
    is_name = subject in (Field.STATE, Field.TYPE, Field.SUBMISSION)
    operator = draw(st.sampled_from([each for each in Operator if not (is_name and each in ORDERING)]))
    values = _values(subject, operator)
    if operator in LISTING:
        return Compare(subject, operator, tuple(draw(st.lists(values, min_size=1, max_size=4))))
    return Compare(subject, operator, draw(values))


def _joined(inner: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    several = st.lists(inner, max_size=3).map(tuple)
    return several.map(And) | several.map(Or) | inner.map(Not)


conditions = st.recursive(comparisons(), _joined, max_leaves=8)


@given(
    st.lists(jobs(), max_size=12, unique_by=lambda job: (job.app, job.key)),
    st.lists(conditions, min_size=1, max_size=5),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, *HealthCheck])
def test_the_ledger_finds_exactly_the_jobs_that_match_a_condition(
    world: World, jobs: Sequence[There], conditions: Sequence[Condition]
) -> None:
    readings = key_readings(CATALOGUE)
    with there(world, jobs) as tx:
        for where in conditions:
            wanted = JobFilter(where=where, readings=readings)
            found = job_lists.jobs(tx, wanted, order=Order(), limit=100)
            matching = {(job.app, job.key) for job in jobs if is_true(where, job, CATALOGUE)}
            assert {(job.app, job.key) for job in found} == matching, where


def is_true(where: Condition, job: There, catalogue: Catalogue) -> bool:
    match where:
        case And(of):
            return all(is_true(each, job, catalogue) for each in of)
        case Or(of):
            return any(is_true(each, job, catalogue) for each in of)
        case Not(of):
            return not is_true(of, job, catalogue)
    value = _value(where.subject, job, catalogue)
    if where.operator in ORDERING:
        return _are_ordered(value, where.value) and ORDERS[where.operator](value, where.value)
    is_listed = any(_is(value, each) for each in where.values)
    if where.operator in (Operator.EQUAL, Operator.IN):
        return is_listed
    return value is not MISSING and not is_listed


def _value(subject: Field | Input, job: There, catalogue: Catalogue) -> Any:
    if isinstance(subject, Input):
        return _input(subject.path, job, catalogue.get(job.app))
    match subject:
        case Field.SUBMISSION:  # No submission has requested these jobs, so each comparison is with no id.
            return None
        case Field.ENDED:
            return job.changed_at if job.state in TERMINAL else MISSING
        case Field.TYPE:
            return catalogue[job.app].job_type if job.app in catalogue else MISSING
        case Field.CREATED | Field.CHANGED:
            return getattr(job, f"{subject}_at")
    return getattr(job, subject)


def _input(path: Sequence[str], job: There, app: App | None) -> Any:
    found: Any = {**(job.kwargs or {}), **(app.read_key(job.key) if app else {})}
    for name in path:
        found = found.get(name, MISSING) if isinstance(found, Mapping) else MISSING
    return found


def _is(one: Any, other: Any) -> bool:
    """Return whether two values are equal in JSON. In Python, True equals 1."""
    if other is None:
        return one is None or one is MISSING
    return _sort(one) is _sort(other) and [*_plain(one)] == [*_plain(other)]


def _plain(value: Any) -> Iterator[Any]:
    """Yield each scalar with its type, after the lists and objects that lead to it."""
    if isinstance(value, list):
        yield "list", len(value)
        for each in value:
            yield from _plain(each)
    elif isinstance(value, dict):
        yield "object", sorted(value)
        for name in sorted(value):
            yield from _plain(value[name])
    else:
        yield _sort(value), value


def _sort(value: Any) -> object:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float
    return str if isinstance(value, str) else type(value)


def _are_ordered(one: Any, other: Any) -> bool:
    if isinstance(one, datetime):
        return True
    return _sort(one) is _sort(other) and _sort(one) in (float, str)


@pytest.mark.parametrize("operator", [Operator.EQUAL, Operator.LESS])
def test_the_reference_implementation_distinguishes_true_from_one(operator: Operator) -> None:
    job = There(key="x", kwargs={"a": True})
    assert not is_true(Compare(Input(("a",)), operator, 1), job, CATALOGUE)
    assert not is_true(Compare(Input(("a",)), operator, [1]), There(key="x", kwargs={"a": [True]}), CATALOGUE)
