"""Entry of planned jobs into the ledger: as new rows, or by waking or skipping jobs that were only expected.

Race of two plans for the same keys: the unique key (app, key) decides. Jobs that were not inserted belong to the other
plan and are looked up afterwards. All processes insert in the same order (see ``jobs.model.plan.Plan``), so two
overlapping plans wait for each other's uncommitted keys in one direction only.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from sluice.jobs.keys.work_ids import parts_of
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import EntryState, PlannedJob
from sluice.jobs.model.pool import UNLIMITED
from sluice.jobs.policy.rate_limit import RateLimit
from sluice.jobs.states import MAKE_READY, REQUEST, SKIP, By, State
from sluice.ledger.database.connection import Tx, arrays
from sluice.ledger.database.history import VerbBy, number
from sluice.ledger.database.transitions import NOW, estimated_as_one, move
from sluice.ledger.job_graph import shared_kwargs


class Term(NamedTuple):
    """Column of ``job`` that a plan determines, and its value for a planned job, as a text if the column is JSON.

    Terms are stored per job, so that SQL can judge losses and timeouts. A rerun applies the terms of its plan with two
    exceptions. If only an earlier submission has set the policy ``option``, the job keeps its value. ``renewed`` is the
    SQL of any other rule, and None for a column that stays as it is.
    """

    column: str
    type: str
    of: Callable[[PlannedJob], object]
    option: str | None = None
    renewed: str | None = None


def is_open(job: PlannedJob) -> bool:
    """Return whether the job is wanted, and no parent can keep it waiting."""
    return job.standing is EntryState.WANTED and job.has_open_gate


def _json(words: object) -> str | None:
    return msgspec.json.encode(words).decode() if words else None


# Otherwise a job that is only retried would lose its arguments.
_KEPT = "job.overrides ? '{option}' AND NOT coalesce(given.overrides::jsonb ? '{option}', false)"


def _limit(job: PlannedJob) -> int | None:
    if job.pool is None:
        return None
    return job.policy.concurrency.limit if job.policy.concurrency else UNLIMITED


#: All columns that a plan determines.
TERMS = (
    Term("app", "text", lambda job: job.name.app),
    Term("unblocked", "bool", is_open),
    Term("digest", "text", lambda job: job.digest),
    Term("priority", "int", lambda job: job.policy.priority, "priority"),
    Term("max_fails", "int", lambda job: job.policy.max_fails, "max_fails"),
    Term("max_timeouts", "int", lambda job: job.policy.max_timeouts, "max_timeouts"),
    Term("max_losses", "int", lambda job: job.policy.max_losses, "max_losses"),
    Term("timeout_s", "float8", lambda job: job.policy.timeout_s, "timeout"),
    Term("retry", "jsonb", lambda job: msgspec.json.encode(job.policy.retry.changes).decode(), "retry"),
    Term(
        "overrides",
        "jsonb",
        lambda job: _json(job.overrides),
        renewed="nullif(coalesce(job.overrides, '{}') || coalesce(given.overrides::jsonb, '{}'), '{}')",
    ),
    # A flight that goes on keeps the kwargs with which it began. ``_row`` replaces large kwargs by their digest.
    Term(
        "kwargs",
        "jsonb",
        lambda job: job.kwargs,
        renewed="CASE WHEN job.saga_open THEN job.kwargs ELSE coalesce(given.kwargs::jsonb, job.kwargs) END",
    ),
    Term("not_before", "timestamptz", lambda job: job.policy.start_at, "start_after"),
    # A deadline that has passed is not kept.
    Term(
        "end_before",
        "timestamptz",
        lambda job: job.policy.end_before,
        renewed=f"CASE WHEN {_KEPT.format(option='end_before')} AND job.end_before > {NOW}"
        " THEN job.end_before ELSE given.end_before END",
    ),
    Term("freshness_scope", "text", lambda job: job.freshness_scope),
    Term("output_table", "text", lambda job: job.output_table),
    Term("bisect", "bool", lambda job: job.policy.on_failure == "bisect", "on_failure"),
    Term("needs_collection", "bool", lambda job: job.policy.archive == "manual", "archive"),
    # A job that is planned without kwargs keeps its own, and so the pool that results from these.
    Term(
        "pool",
        "text",
        lambda job: job.pool,
        renewed=f"CASE WHEN {_KEPT.format(option='concurrency')} OR given.kwargs IS NULL AND job.kwargs IS NOT NULL"
        " AND starts_with(job.pool, job.app || ':') AND starts_with(given.pool, job.app || ':')"
        " THEN job.pool ELSE given.pool END",
    ),
    Term("pool_limit", "int", _limit, "concurrency"),
    Term(
        "rate_bucket",
        "text",
        lambda job: job.rate and job.rate.bucket,
        renewed="CASE WHEN given.kwargs IS NULL AND job.kwargs IS NOT NULL"
        " AND starts_with(job.rate_bucket, job.app || ':') AND starts_with(given.rate_bucket, job.app || ':')"
        " THEN job.rate_bucket ELSE given.rate_bucket END",
    ),
)
# Many jobs share the same terms, so these are sent once for all of them. JSON is sent as text.
_SENT = {term.column: "text" if term.type == "jsonb" else term.type for term in TERMS} | {
    "state": "text",
    "begins": "bool",
}
_TERMS_GIVEN = (
    f"unnest({', '.join(f'%({name})s::{kind}[]' for name, kind in _SENT.items())}) "
    f"WITH ORDINALITY AS terms ({', '.join(_SENT)}, term)"
)


def _value(term: Term, given: str = "") -> str:
    """Return the SQL of a new value. The start offset is sent per job, because it differs under the same terms."""
    if term.column == "not_before":
        put_off = f"coalesce({given}not_before, {NOW}) + make_interval(secs => {given}offset_s)"
        return f"CASE WHEN {given}offset_s IS NULL THEN {given}not_before ELSE {put_off} END"
    return f"{given}{term.column}::jsonb" if term.type == "jsonb" else f"{given}{term.column}"


def _renewed(term: Term) -> str | None:
    if term.option is None:
        return term.renewed
    kept = _KEPT.format(option=term.option)
    return f"CASE WHEN {kept} THEN job.{term.column} ELSE {_value(term, 'given.')} END"


_START = next(term for term in TERMS if term.column == "not_before")
# A job that waits for no parent, and may begin at this time, is inserted as ready, as if released at the same moment.
_BEGINS = f"""
(terms.begins AND coalesce({_value(_START)} <= {NOW}, true) AND coalesce(end_before > {NOW}, true))
"""
_ENTERED = {
    **{standing.verb.target: number(None, VerbBy(standing.verb, By.PLANNER)) for standing in EntryState},
    State.READY: number(None, VerbBy(REQUEST, By.PLANNER), VerbBy(MAKE_READY, By.PLANNER)),
}
_KINDS = ", ".join(f"('{state}', {kind})" for state, kind in _ENTERED.items())
_COLUMNS = ", ".join(term.column for term in TERMS)
_INSERT = f"""
WITH made AS (
    INSERT INTO job (key, work_ids, {_COLUMNS}, state, dispatched_at, created_at, changed_at)
    SELECT key, work_ids::jsonb, {", ".join(map(_value, TERMS))},
           CASE WHEN {_BEGINS} THEN '{State.READY}' ELSE state END, CASE WHEN {_BEGINS} THEN {NOW} END, {NOW}, {NOW}
    FROM unnest(%(keys)s::text[], %(work_ids)s::text[], %(terms)s::int[], %(offsets_s)s::float8[])
         WITH ORDINALITY AS new (key, work_ids, term, offset_s, nth)
    JOIN {_TERMS_GIVEN} USING (term)
    ORDER BY nth
    ON CONFLICT (app, key) DO NOTHING
    RETURNING id, app, key, state, changed_at
), logged AS (
    INSERT INTO history (job, at, kind, round, claim)
    SELECT id, changed_at, entered.kind, 0, 0
    FROM made JOIN (VALUES {_KINDS}) AS entered (state, kind) USING (state) ORDER BY id
)
SELECT id, app, key, state FROM made
"""
_GIVEN = f"""
(SELECT id, offset_s, terms.*
 FROM unnest(%(jobs)s::bigint[], %(terms)s::int[], %(offsets_s)s::float8[]) AS named (id, term, offset_s)
 JOIN {_TERMS_GIVEN} USING (term)) AS given
"""
_WANT_EXPECTED = move(
    REQUEST,
    By.PLANNER,
    given=_GIVEN,
    sets=", ".join(f"{term.column} = {_value(term, 'given.')}" for term in TERMS if term.column != "app"),
)
# A job that begins again was rerun by this transaction, so its row is held.
_RENEWED = {term.column: renewed for term in TERMS if (renewed := _renewed(term))}
_RENEW = f"""
UPDATE job SET {", ".join(f"{column} = {value}" for column, value in _RENEWED.items())},
    notify = NULL, late_at = NULL, late = false, due_within_s = NULL
FROM {estimated_as_one(_GIVEN)}
WHERE job.id = given.id
"""
_WAITS = f"CASE WHEN job.state = '{State.WAITING}' THEN true END"
_REJOIN = f"""
WITH held AS MATERIALIZED (
    SELECT job.id, {_RENEWED["pool"]} AS pool, {_RENEWED["pool_limit"]} AS pool_limit,
           {_RENEWED["rate_bucket"]} AS rate_bucket
    FROM job JOIN (SELECT id, terms.* FROM unnest(%(jobs)s::bigint[], %(terms)s::int[]) AS asked (id, term)
                   JOIN {_TERMS_GIVEN} USING (term)) AS given USING (id)
    WHERE {_WAITS} AND (job.pool, job.pool_limit, job.rate_bucket)
        IS DISTINCT FROM ({_RENEWED["pool"]}, {_RENEWED["pool_limit"]}, {_RENEWED["rate_bucket"]})
    ORDER BY job.id FOR UPDATE OF job
)
UPDATE job SET pool = held.pool, pool_limit = held.pool_limit, rate_bucket = held.rate_bucket,
    waiting_for_slot = job.waiting_for_slot AND job.pool IS NOT DISTINCT FROM held.pool
FROM held WHERE job.id = held.id AND {_WAITS}
RETURNING job.id, job.pool
"""
# Only for apps that have no limit in the ledger yet (``ledger.limits.rate_limits``). The statement waits for no other
# transaction if all of them have one.
_STORE_LIMITS = """
INSERT INTO rate_limit (app, apart_s, burst)
SELECT * FROM unnest(%(apps)s::text[], %(apart_s)s::float8[], %(bursts)s::int[]) AS given (app, apart_s, burst)
WHERE NOT EXISTS (SELECT 1 FROM rate_limit WHERE rate_limit.app = given.app)
ORDER BY app ON CONFLICT (app) DO NOTHING
"""
_SKIP_EXPECTED = move(SKIP, By.PLANNER, condition=f"job.state = '{State.EXPECTED}'")


class Made(NamedTuple):
    """Jobs that are new, by name, and which of them are ready."""

    ids: dict[JobName, int]
    ready: list[int]


def insert(tx: Tx, jobs: Sequence[PlannedJob], *, begin: bool = False) -> Made:
    """Insert the jobs that do not exist yet; return the inserted jobs.

    If they may ``begin``, jobs that wait for no parent and have no pool are ready immediately. The caller must announce
    these.
    """
    if not jobs:
        return Made({}, [])
    rows = tx.rows(
        _INSERT,
        keys=[job.name.key for job in jobs],
        work_ids=[job.work_ids and _json(parts_of(job.work_ids)) for job in jobs],
        **_terms(tx, jobs, begin=begin),
    )
    return Made(
        {JobName(app, key): id for id, app, key, _ in rows},
        [id for id, _, _, state in rows if state == State.READY],
    )


def wake(tx: Tx, jobs: Sequence[PlannedJob], ids: Mapping[JobName, int]) -> set[int]:
    """Wake the jobs that were only expected. They get the terms of this plan, the first that requests them."""
    if not jobs:
        return set()
    return set(tx.column(_WANT_EXPECTED, jobs=[ids[job.name] for job in jobs], **_terms(tx, jobs)))


def renew(tx: Tx, jobs: Sequence[PlannedJob], ids: Mapping[JobName, int]) -> None:
    """Give these rerun jobs the terms of this plan, except for options that only an earlier submission has set. Their
    rules of notification are set after this (``notifications.subscriptions``)."""
    if jobs:
        tx.write(_RENEW, jobs=[ids[job.name] for job in jobs], **_terms(tx, jobs))


def rejoin(tx: Tx, jobs: Sequence[PlannedJob], ids: Mapping[JobName, int]) -> list[int]:
    """Set the pool, its limit and the token bucket of waiting jobs as in this plan; return the changed jobs.

    Changed jobs that waited for a slot of another pool must still be released.
    """
    rows = tx.rows(_REJOIN, jobs=[ids[job.name] for job in jobs], **_terms(tx, jobs)) if jobs else []
    tx.pools.update(pool for _, pool in rows if pool is not None)
    return [id for id, _ in rows]


def skip(tx: Tx, jobs: list[int]) -> None:
    """Skip the jobs that were only expected."""
    if jobs:
        tx.rows(_SKIP_EXPECTED, jobs=jobs)


def _terms(tx: Tx, jobs: Iterable[PlannedJob], *, begin: bool = False) -> dict[str, list[object]]:
    """Return the distinct terms as columns, and for each job the number of its terms, from 1, and its start offset.

    Large kwargs, to which jobs only refer, are stored first, and so are rate limits of apps that have none yet.
    """
    jobs = [*jobs]
    places: dict[tuple[object, ...], int] = {}
    rows: list[tuple[object, ...]] = []
    terms: list[object] = []
    shared: dict[str, str] = {}
    for job in jobs:
        # The jobs of a walk share policies and options, so it is enough to compare their identities.
        alike = (
            job.name.app,
            job.standing,
            is_open(job),
            job.digest,
            id(job.policy),
            id(job.overrides),
            id(job.kwargs),
            job.freshness_scope,
            job.output_table,
            job.pool,
            job.rate,
        )
        if alike not in places:
            rows.append(_row(job, shared, begin=begin))
            places[alike] = len(rows)
        terms.append(places[alike])
    shared_kwargs.keep(tx, shared)
    _store_limits(tx, {job.name.app: job.rate.limit for job in jobs if job.rate})
    return {"terms": terms, "offsets_s": [job.offset_s for job in jobs], **arrays(rows, *_SENT)}


def _store_limits(tx: Tx, limits: Mapping[str, RateLimit]) -> None:
    if limits:
        rows = [(app, limit.apart_s, limit.burst) for app, limit in sorted(limits.items())]
        tx.write(_STORE_LIMITS, **arrays(rows, "apps", "apart_s", "bursts"))


def _row(job: PlannedJob, shared: dict[str, str], *, begin: bool) -> tuple[object, ...]:
    values = {term.column: term.of(job) for term in TERMS}
    values["kwargs"] = shared_kwargs.stored(job.kwargs, shared)
    return (*values.values(), job.standing.verb.target, begin and is_open(job) and job.pool is None)
