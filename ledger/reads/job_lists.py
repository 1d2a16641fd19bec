"""Lists of jobs by filter: the first of the jobs, or all of them page by page.

A condition on jobs (``jobs.text.filters``) is translated into an SQL expression that is true or false, and never null
(``clause``). All user input is passed as parameters, including the names of inputs. Only Sluice's own constants are
spelled out: columns, operators, and states. States must be, because otherwise no partial index on states could be used.

Invariant of pages: a caller that reads all pages sees each job that existed at the beginning exactly once. That holds
however many jobs have the same time, and however many are added in between. In order of ``changed``, a job that changes
in between moves: in ascending order it is seen again, in descending order it may be missed.

Race: a job gets its time when it is written, and becomes visible when that is committed, possibly after a job with a
later time. In ascending order, a reader that has passed the later job would never see it. So such a page ends before
the start of the oldest transaction that is still writing. Everything that this transaction has written or will write
has a later time, and is on the next page.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

import msgspec
from msgspec import Struct

from sluice.jobs.errors import BadRequest
from sluice.jobs.keys.key_fields import KeyReadings
from sluice.jobs.keys.partitions import ends_of
from sluice.jobs.states import LIVE, TERMINAL, State, sql_list
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
from sluice.jobs.text.paging import PAGE_MAX, Order, OrderBy, PagePosition, read_token, write_token
from sluice.ledger.database.connection import Tx
from sluice.ledger.job_graph.shared_kwargs import KWARGS
from sluice.ledger.managed_tasks import UNCOLLECTED

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


def _in_states(states: Collection[State]) -> str:
    """Return SQL that is true if the job is in any of these states. Negated conditions list the other states, so that
    an index can find them."""
    return f"job.state IN ({sql_list(*(state for state in State if state in states))})" if states else "false"


#: A job has been in its state since its last transition, so ``changed_at`` of an ended job is when it ended.
_HAS_ENDED = _in_states(TERMINAL)
_LIVES = _in_states(LIVE)


class Clause(Struct, frozen=True):
    """Expression over ``job``, and its parameters by name."""

    sql: str
    params: Mapping[str, object]


def clause(condition: Condition, readings: KeyReadings | None) -> Clause:
    """Return the SQL of a condition. BadRequest if the condition is too large, or if it needs definitions and
    ``readings`` is None."""
    comparisons(condition)
    writing = _Writing(readings)
    return Clause(writing.sql(condition), writing.params)


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
                is_last = place == len(reading.identifiers)
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
    return _in_states(set(State) - named if compare.operator in _OPPOSITE.values() else named)


def _joined(parts: Iterable[str], word: str) -> str:
    found = list(parts)
    return f"({f' {word} '.join(found)})" if found else ""


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


LISTED = f"""
job.id, job.app, job.key, job.state, job.round, job.priority, job.created_at, job.changed_at, job.not_before,
job.paused AND job.state = '{State.WAITING}' AS paused, job.output_table, {UNCOLLECTED} AS uncollected, job.archived_at
"""
# A null parameter does not restrict anything; Postgres drops the condition when it plans the query.
_WANTED = f"""
(%(app)s::text IS NULL OR job.app = %(app)s)
AND (%(states)s::text[] IS NULL OR job.state = ANY(%(states)s))
AND (%(since)s::timestamptz IS NULL OR job.changed_at >= %(since)s)
AND (%(submission)s::text IS NULL OR job.id IN (
    SELECT submission_job.job FROM submission_job JOIN submission ON submission.number = submission_job.submission
    WHERE submission.id = %(submission)s))
AND (NOT %(uncollected)s OR {UNCOLLECTED})
"""
_TIMES = {OrderBy.CREATED: "job.created_at", OrderBy.CHANGED: "job.changed_at"}
# A writing transaction has locked something before it takes the time of anything, so it has a transaction number by
# then. Postgres shows sessions of other roles only to roles that may read all statistics.
_SETTLED = """
SELECT least(statement_timestamp(), min(xact_start)) FROM pg_stat_activity
WHERE datname = current_database() AND backend_type = 'client backend' AND backend_xid IS NOT NULL
  AND pid <> pg_backend_pid()
"""
_ALL = Clause("true", {})


class ListedJob(Struct, frozen=True, kw_only=True):
    """Line of a listing."""

    id: int
    app: str
    key: str
    state: State
    round: int
    priority: int
    created_at: datetime
    changed_at: datetime
    not_before: datetime | None
    paused: bool
    output_table: str | None
    uncollected: bool
    archived_at: datetime | None

    @property
    def span(self) -> tuple[str, str] | None:
        """First and last partition of a step; None for other jobs."""
        return ends_of(self.key) if self.output_table is not None else None


class JobListFilter(Struct, frozen=True, kw_only=True):
    """Selection of jobs. None, or no states, does not restrict. ``readings`` are needed for the condition ``where``,
    and exist as far as definitions are available."""

    app: str | None = None
    states: tuple[State, ...] = ()
    submission: str | None = None
    since: datetime | None = None
    uncollected: bool = False
    where: Condition | None = None
    readings: KeyReadings | None = None
    order: Order = Order()
    limit: int = 100


class JobPage(Struct, frozen=True, kw_only=True):
    """Some jobs in order, the total number on all pages, and the token of the next page. In ascending order there is
    always a next page, for future jobs. In descending order, None means that this was the last page."""

    jobs: list[ListedJob]
    total: int
    next: str | None


def jobs(tx: Tx, wanted: JobListFilter) -> list[ListedJob]:
    """Return the first of the selected jobs."""
    return _listed(tx, wanted, _where(wanted), PagePosition())


def page(tx: Tx, wanted: JobListFilter, token: str | None) -> JobPage:
    """Return the page that a token leads to, or the first page. BadRequest for an invalid token or page size."""
    if not 0 < wanted.limit <= PAGE_MAX:
        raise BadRequest(
            f"A page has 1 to {PAGE_MAX} jobs, and not {wanted.limit}.", advice="Read several pages."
        )
    place = PagePosition() if token is None else read_token(token, wanted.order)
    where = _where(wanted)
    # This is read before the jobs, so that jobs of the transactions found here are held back.
    settled = tx.column(_SETTLED)[0] if _is_tailed(tx, wanted.order) else None
    found = _listed(tx, wanted, where, place, settled)
    total = tx.column(f"SELECT count(*) FROM job WHERE {_WANTED} AND {where.sql}", **_given(wanted, where))
    is_over = wanted.order.descending and len(found) < wanted.limit
    last = found[-1] if found else None
    at = place if last is None else PagePosition(_time(last, wanted.order), last.id)
    return JobPage(jobs=found, total=total[0], next=None if is_over else write_token(wanted.order, at))


def _is_tailed(tx: Tx, order: Order) -> bool:
    """Return whether the page must end before the transactions under way. It need not if a test sets the clock, because
    that clock is unrelated to the start of transactions."""
    return not order.descending and tx.now is None


def _listed(
    tx: Tx, wanted: JobListFilter, where: Clause, place: PagePosition, settled: datetime | None = None
) -> list[ListedJob]:
    time, direction = _TIMES[wanted.order.by], "DESC" if wanted.order.descending else "ASC"
    behind = f"({time}, job.id) {'<' if wanted.order.descending else '>'} (%(at)s::timestamptz, %(behind)s::bigint)"
    sql = f"""
    SELECT {LISTED} FROM job WHERE {_WANTED} AND {where.sql}
      AND {"true" if place.at is None else behind}
      AND {"true" if settled is None else f"{time} < %(settled)s::timestamptz"}
    ORDER BY {time} {direction}, job.id {direction} LIMIT %(limit)s
    """
    given = _given(wanted, where) | {"at": place.at, "behind": place.id, "settled": settled}
    return tx.structs(ListedJob, sql, **given, limit=wanted.limit)


def _where(wanted: JobListFilter) -> Clause:
    return _ALL if wanted.where is None else clause(wanted.where, wanted.readings)


def _given(wanted: JobListFilter, where: Clause) -> dict[str, object]:
    return {
        "app": wanted.app,
        "states": [str(state) for state in wanted.states] or None,
        "submission": wanted.submission,
        "since": wanted.since,
        "uncollected": wanted.uncollected,
        **where.params,
    }


def _time(job: ListedJob, order: Order) -> datetime:
    return job.created_at if order.by is OrderBy.CREATED else job.changed_at
