"""Filters of jobs as SQL expressions.

A filter, with its condition (``jobs.text.filters``), is translated into an SQL expression over ``job`` that is true or
false, and never null (``clause``). All user input is passed as parameters, including the names of inputs. Only Sluice's
own constants are spelled out: columns, operators, and the states of a condition. These must be, because otherwise no
partial index on states could be used.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import msgspec
from msgspec import Struct

from sluice.jobs.errors import BadRequest
from sluice.jobs.keys.key_fields import KeyReadings
from sluice.jobs.states import LIVE, TERMINAL, State
from sluice.jobs.text.filters import (
    ORDERING,
    And,
    Compare,
    Condition,
    Field,
    Input,
    Not,
    Operator,
    Or,
    comparisons,
)
from sluice.ledger.database.state_ranges import in_states
from sluice.ledger.job_graph.shared_kwargs import KWARGS
from sluice.ledger.managed_tasks import UNCOLLECTED

_REQUESTED = """
    SELECT submission_job.job FROM submission_job JOIN submission ON submission.number = submission_job.submission
    WHERE submission.id = {}"""
# A null parameter does not restrict anything; Postgres drops the condition when it plans the query.
_SELECTED = f"""
(%(app)s::text IS NULL OR job.app = %(app)s)
AND (%(apps)s::text[] IS NULL OR job.app = ANY(%(apps)s))
AND {{states}}
AND (%(key)s::text IS NULL OR starts_with(job.key, %(key)s))
AND (%(since)s::timestamptz IS NULL OR job.changed_at >= %(since)s)
AND (%(submission)s::text IS NULL OR job.id IN ({_REQUESTED.format("%(submission)s")}))
AND (%(added_by)s::bigint IS NULL OR job.id IN (
    SELECT need.child FROM need WHERE need.parent = %(added_by)s AND need.added))
AND (NOT %(uncollected)s OR {UNCOLLECTED})
AND (NOT %(late)s OR job.late)
"""

#: Column and type of each field; values are compared by this type. Texts are ordered by their characters, independent
#: of the collation of the database.
_COLUMNS = {
    Field.APP: ("job.app", "text"),
    Field.KEY: ("job.key", "text"),
    Field.ROUND: ("job.round", "bigint"),
    Field.PRIORITY: ("job.priority", "bigint"),
    Field.CREATED: ("job.created_at", "timestamptz"),
    Field.CHANGED: ("job.changed_at", "timestamptz"),
    Field.ENDED: ("job.changed_at", "timestamptz"),
}
_OPPOSITE = {Operator.EQUAL: Operator.UNEQUAL, Operator.IN: Operator.NOT_IN}
# A whole number has only one spelling in a key.
_WHOLE = "^(0|-?[1-9][0-9]*)$"


#: A job has been in its state since its last transition, so ``changed_at`` of an ended job is when it ended.
_HAS_ENDED = in_states(TERMINAL)
_LIVES = in_states(LIVE)


class JobFilter(Struct, frozen=True, kw_only=True):
    """Selection of jobs. None, or no states, does not restrict. With ``apps``, only their jobs are selected.
    ``key`` is a prefix of the keys. ``added_by`` is the id of the job that has added them. ``late`` selects jobs that
    are or were late. ``readings`` are needed for the condition ``where``, and exist as far as definitions are
    available."""

    app: str | None = None
    apps: Sequence[str] | None = None
    states: tuple[State, ...] = ()
    key: str | None = None
    submission: str | None = None
    added_by: int | None = None
    since: datetime | None = None
    uncollected: bool = False
    late: bool = False
    where: Condition | None = None
    readings: KeyReadings | None = None


class Clause(Struct, frozen=True):
    """Expression over ``job``, and its parameters by name."""

    sql: str
    params: Mapping[str, object]


def clause(wanted: JobFilter) -> Clause:
    """Return the SQL of a filter. BadRequest if its condition is too large, or if it needs definitions and there are no
    ``readings``."""
    writing = _Writing(wanted.readings)
    given = {
        "app": wanted.app,
        "apps": None if wanted.apps is None else [*wanted.apps],
        "key": wanted.key,
        "submission": wanted.submission,
        "since": wanted.since,
        "added_by": wanted.added_by,
        "uncollected": wanted.uncollected,
        "late": wanted.late,
    }
    selected = _SELECTED.format(states=in_states(wanted.states) if wanted.states else "true")
    if wanted.where is None:
        return Clause(f"({selected})", given)
    comparisons(wanted.where)
    return Clause(f"({selected} AND {writing.sql(wanted.where)})", given | writing.params)


class _Writing:
    """SQL of one condition, while it is written. Parameters are numbered in order."""

    def __init__(self, readings: KeyReadings | None) -> None:
        self.params: dict[str, object] = {}
        self._readings = readings

    def sql(self, condition: Condition) -> str:
        match condition:
            case And(of):
                return _joined(map(self.sql, of), "AND") or "true"
            case Or(of):
                return _joined(map(self.sql, of), "OR") or "false"
            case Not(of):
                return f"(NOT {self.sql(of)})"
        return self._comparison(condition)

    def _comparison(self, compare: Compare) -> str:
        match compare.subject:
            case Input() as named:
                return self._input(named, compare)
            case Field.STATE:
                return _states(compare)
            case Field.TYPE:
                return self._types(compare)
            case Field.ENDED:
                return self._ended(compare)
            case Field.SUBMISSION:
                return self._requested(compare)
            case field:
                return self._column(field, compare.operator, compare.values)

    def _column(self, field: Field, operator: Operator, values: Sequence[object]) -> str:
        column, kind = _COLUMNS[field]
        if operator is Operator.IN:
            return f"{column} = ANY({self._given([*values])}::{kind}[])"
        if operator is Operator.NOT_IN:
            return f"{column} <> ALL({self._given([*values])}::{kind}[])"
        collated = ' COLLATE "C"' if kind == "text" and operator in ORDERING else ""
        return f"{column}{collated} {operator} {self._given(values[0])}::{kind}"

    def _ended(self, compare: Compare) -> str:
        values = [value for value in compare.values if value is not None]
        has_null = len(values) < len(compare.values)
        compared = self._column(Field.ENDED, compare.operator, values) if values else ""
        if compare.operator in _OPPOSITE.values():
            return _joined(filter(None, [_HAS_ENDED, compared]), "AND")
        found = f"({_HAS_ENDED} AND {compared})" if compared else ""
        return _joined(filter(None, [found, _LIVES if has_null else ""]), "OR")

    def _requested(self, compare: Compare) -> str:
        opposite = "NOT " if compare.operator in _OPPOSITE.values() else ""
        ids = f"ANY({self._given([*compare.values])}::text[])"
        return f"job.id {opposite}IN ({_REQUESTED.format(ids)})"

    def _types(self, compare: Compare) -> str:
        """Return SQL that compares the apps with this type. A job of an unknown app has no known type, so it never
        matches."""
        if self._readings is None:
            raise BadRequest(
                "The type of a job is known only from its definition, and no definitions are loaded.",
                advice="Name their source with --apps FILE, or set SLUICE_APPS; or filter by app.",
            )
        others = compare.operator in _OPPOSITE.values()
        apps = [
            app
            for app, reading in self._readings.items()
            if (reading.job_type in compare.values) is not others
        ]
        return f"job.app = ANY({self._given(apps)}::text[])"

    def _input(self, named: Input, compare: Compare) -> str:
        value = self._value(named)
        if compare.operator in ORDERING:
            return self._ordered(value, compare.operator, compare.value)
        listed = [each for each in compare.values if each is not None]
        is_opposite = compare.operator in _OPPOSITE.values()
        quantified = "<> ALL" if is_opposite else "= ANY"
        given = self._given([_json(each) for each in listed])
        compared = f"coalesce({value} {quantified}({given}::jsonb[]), false)" if listed else ""
        if len(listed) == len(compare.values):
            return compared
        null = f"coalesce({value} <> 'null', false)" if is_opposite else f"coalesce({value} = 'null', true)"
        return _joined(filter(None, [compared, null]), "AND" if is_opposite else "OR")

    def _ordered(self, value: str, operator: Operator, bound: object) -> str:
        """Return SQL that orders numbers among numbers, and texts among texts."""
        if isinstance(bound, str):
            compared = f"""({value} #>> '{{}}') COLLATE "C" {operator} {self._given(bound)}::text"""
            return f"coalesce(CASE jsonb_typeof({value}) WHEN 'string' THEN {compared} END, false)"
        if isinstance(bound, int | float) and not isinstance(bound, bool):
            compared = f"{value} {operator} {self._given(_json(bound))}::jsonb"
            return f"coalesce(CASE jsonb_typeof({value}) WHEN 'number' THEN {compared} END, false)"
        return "false"

    def _value(self, named: Input) -> str:
        """Return SQL for an input as JSON. It is an identifier if the app's keys have one with this name, otherwise a
        kwarg."""
        first, *inner = named.path
        within = "".join(f" -> {self._given(name)}::text" for name in named.path)
        cases = [
            f"WHEN job.app = ANY({self._given(apps)}::text[])"
            f" THEN {'NULL::jsonb' if inner else self._identifier(*how)}"
            for how, apps in self._apps_with(first).items()
        ]
        return f"(CASE {' '.join(cases)} ELSE {KWARGS}{within} END)" if cases else f"({KWARGS}{within})"

    def _apps_with(self, name: str) -> dict[tuple[str, int, bool, bool], list[str]]:
        """Return the apps with an identifier of this name in their keys, grouped by how it is read: the delimiter, its
        position, whether it is the last, and whether it may be a number."""
        found: dict[tuple[str, int, bool, bool], list[str]] = {}
        for app, reading in (self._readings or {}).items():
            if name in reading.identifiers:
                place = reading.identifiers.index(name) + 1
                is_last = place == len(reading.identifiers) and not reading.has_rest
                how = (reading.delimiter, place, is_last, name in reading.numbers)
                found.setdefault(how, []).append(app)
        return found

    def _identifier(self, delimiter: str, place: int, is_last: bool, is_number: bool) -> str:  # noqa: FBT001 - as a key of _apps_with
        """Return SQL that reads an identifier like ``Template.split``: the last one is the whole rest, including
        delimiters."""
        given = self._given(delimiter)
        parts = [f"split_part(job.key, {given}, {each})" for each in range(1, place + 1)]
        before = " + ".join(f"length({part}) + length({given})" for part in parts[:-1])
        text = parts[-1] if not is_last else f"right(job.key, -({before}))" if before else "job.key"
        if not is_number:
            return f"to_jsonb(nullif({text}, ''))"
        return f"CASE WHEN {text} ~ '{_WHOLE}' THEN to_jsonb({text}::numeric) ELSE to_jsonb(nullif({text}, '')) END"

    def _given(self, value: object) -> str:
        name = f"w{len(self.params)}"
        self.params[name] = value
        return f"%({name})s"


def _states(compare: Compare) -> str:
    named = {State(str(value)) for value in compare.values}
    # Negated conditions list the other states, so that an index can find them.
    return in_states(set(State) - named if compare.operator in _OPPOSITE.values() else named)


def _joined(parts: Iterable[str], word: str) -> str:
    found = list(parts)
    return f"({f' {word} '.join(found)})" if found else ""


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
