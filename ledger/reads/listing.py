"""Jobs by what they have in common."""

from collections.abc import Iterator
from datetime import datetime

from msgspec import Struct
from sqlalchemy import Select, select
from sqlalchemy.dialects.postgresql import psycopg

from jobs.states import State
from ledger.connection import Tx
from ledger.schema import job, submission, wants

_DIALECT = psycopg.dialect()


class Listed(Struct, frozen=True, kw_only=True):
    """One line of a listing."""

    app: str
    key: str
    state: State
    round: int
    priority: int
    changed_at: datetime
    not_before: datetime | None


class Filter(Struct, frozen=True, kw_only=True):
    """Which jobs to list; None leaves a matter open. Newest change first."""

    app: str | None = None
    states: tuple[State, ...] = ()
    submission: str | None = None
    since: datetime | None = None
    limit: int = 100


def jobs(tx: Tx, wanted: Filter) -> list[Listed]:
    compiled = _statement(wanted).compile(dialect=_DIALECT)
    return tx.structs(Listed, str(compiled), **compiled.params)


def _statement(wanted: Filter) -> Select[tuple[object, ...]]:
    columns = [job.c[name] for name in Listed.__struct_fields__]
    chosen = select(*columns).order_by(job.c.changed_at.desc(), job.c.id.desc()).limit(wanted.limit)
    for condition in _conditions(wanted):
        chosen = chosen.where(condition)
    return chosen


def _conditions(wanted: Filter) -> Iterator[object]:
    if wanted.app is not None:
        yield job.c.app == wanted.app
    if wanted.states:
        yield job.c.state.in_([str(state) for state in wanted.states])
    if wanted.since is not None:
        yield job.c.changed_at >= wanted.since
    if wanted.submission is not None:
        of_it = select(wants.c.job).join(submission, submission.c.number == wants.c.submission)
        yield job.c.id.in_(of_it.where(submission.c.id == wanted.submission))
