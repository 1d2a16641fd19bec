"""Planned jobs enter the ledger: as new rows, or by waking or skipping rows that were only expected.

Who races whom: two plans for the same keys. The primary key decides; what was not inserted belongs to the other
plan and is found afterwards. Plans insert in an order that all processes share (see ``jobs.plan.Plan``), so two
that overlap wait for each other's uncommitted keys in one direction only.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from sluice.jobs.plan import PlannedJob, Standing
from sluice.jobs.ref import JobName
from sluice.jobs.states import RELEASE, SKIP, WANT, By, State
from sluice.jobs.work_ids import parts_of
from sluice.ledger import shared_kwargs
from sluice.ledger.connection import Tx, arrays
from sluice.ledger.sql import NOW, move

#: What a job runs under: the columns, and their types as an array. It is kept per job, so that SQL can judge losses
#: and timeouts; many jobs share it, so it is sent once for all of them.
_TERMS = {
    "app": "text[]",
    "state": "text[]",
    "open": "bool[]",
    "begins": "bool[]",
    "digest": "text[]",
    "priority": "int[]",
    "max_fails": "int[]",
    "max_timeouts": "int[]",
    "max_losses": "int[]",
    "timeout_s": "float8[]",
    "retry": "text[]",
    "overrides": "text[]",
    "kwargs": "text[]",
    "not_before": "timestamptz[]",
    "end_before": "timestamptz[]",
    "mark": "text[]",
    "place": "text[]",
    "bisect": "bool[]",
    "collect": "bool[]",
    "pool": "text[]",
    "pool_limit": "int[]",
}
_TERMS_GIVEN = (
    f"unnest({', '.join(f'%({name})s::{kind}' for name, kind in _TERMS.items())}) "
    f"WITH ORDINALITY AS terms ({', '.join(_TERMS)}, term)"
)
_JSON = {"retry", "overrides", "kwargs"}


def _value(column: str, given: str = "") -> str:
    """What a column gets from the terms. Jobs of the same terms are put off apart, so that is sent for each of them."""
    if column == "not_before":
        put_off = f"coalesce({given}not_before, {NOW}) + make_interval(secs => {given}offset_s)"
        return f"CASE WHEN {given}offset_s IS NULL THEN {given}not_before ELSE {put_off} END"
    return f"{given}{column}::jsonb" if column in _JSON else f"{given}{column}"


# Whoever waits for nobody and has the time for it is ready as soon as it is there: it was released at the same moment.
_BEGINS = f"""
(terms.begins AND coalesce({_value("not_before")} <= {NOW}, true) AND coalesce(end_before > {NOW}, true))
"""
_ENTERED = {
    **{standing.verb.target: [("-", standing.verb)] for standing in Standing},
    State.READY: [("-", WANT), (WANT.target, RELEASE)],
}
_STEPS = ", ".join(
    f"('{state}', {nth}, '{source}', '{verb.target}', '{verb.name}')"
    for state, steps in _ENTERED.items()
    for nth, (source, verb) in enumerate(steps)
)
_OWN = [name for name in _TERMS if name not in ("state", "begins")]
_INSERT = f"""
WITH made AS (
    INSERT INTO job (key, work_ids, {", ".join(_OWN)}, state, announced_at, created_at, changed_at)
    SELECT key, work_ids::jsonb, {", ".join(map(_value, _OWN))},
           CASE WHEN {_BEGINS} THEN '{State.READY}' ELSE state END, CASE WHEN {_BEGINS} THEN {NOW} END, {NOW}, {NOW}
    FROM unnest(%(keys)s::text[], %(work_ids)s::text[], %(terms)s::int[], %(offsets_s)s::float8[])
         WITH ORDINALITY AS new (key, work_ids, term, offset_s, nth)
    JOIN {_TERMS_GIVEN} USING (term)
    ORDER BY nth
    ON CONFLICT (app, key) DO NOTHING
    RETURNING id, app, key, state, changed_at
), logged AS (
    INSERT INTO transition (job, at, source, target, verb, by, round, claim)
    SELECT id, changed_at, step.source, step.target, step.verb, '{By.PLANNER}', 0, 0
    FROM made JOIN (VALUES {_STEPS}) AS step (state, nth, source, target, verb) USING (state)
    ORDER BY id, nth
)
SELECT id, app, key, state FROM made
"""
_WOKEN = [name for name in _OWN if name != "app"]
_GIVEN = f"""
(SELECT id, offset_s, terms.*
 FROM unnest(%(jobs)s::bigint[], %(terms)s::int[], %(offsets_s)s::float8[]) AS named (id, term, offset_s)
 JOIN {_TERMS_GIVEN} USING (term)) AS given
"""
_WANT_EXPECTED = move(
    WANT,
    By.PLANNER,
    given=_GIVEN,
    sets=", ".join(f"{name} = {_value(name, 'given.')}" for name in _WOKEN),
)
# A job that begins anew was revived by this very transaction, so its row is held. What the submission says goes, and
# what the definition says now; but what an earlier submission said stands where this one says nothing, or a
# job that is only retried would forget its arguments. A deadline that has passed is not kept.
_KEPT = "job.overrides ? '{word}' AND NOT coalesce(given.overrides::jsonb ? '{word}', false)"
_ANEW = {
    column: f"CASE WHEN {_KEPT.format(word=word)} THEN job.{column} ELSE {_value(column, 'given.')} END"
    for column, word in {
        "priority": "priority",
        "max_fails": "max_fails",
        "max_timeouts": "max_timeouts",
        "max_losses": "max_losses",
        "timeout_s": "timeout",
        "retry": "retry",
        "not_before": "start_after",
        "bisect": "on_failure",
        "collect": "archive",
        "pool_limit": "concurrency",
    }.items()
} | {
    "end_before": f"CASE WHEN {_KEPT.format(word='end_before')} AND job.end_before > {NOW}"
    " THEN job.end_before ELSE given.end_before END",
    # Without kwargs it keeps its own, and so the pool that these have led to.
    "pool": f"CASE WHEN {_KEPT.format(word='concurrency')} OR given.kwargs IS NULL AND job.kwargs IS NOT NULL"
    " AND starts_with(job.pool, job.app || ':') AND starts_with(given.pool, job.app || ':')"
    " THEN job.pool ELSE given.pool END",
    "overrides": "nullif(coalesce(job.overrides, '{}') || coalesce(given.overrides::jsonb, '{}'), '{}')",
    # A flight that goes on has been told its own.
    "kwargs": "CASE WHEN job.flying THEN job.kwargs ELSE coalesce(given.kwargs::jsonb, job.kwargs) END",
}
_RENEW = f"""
UPDATE job SET {", ".join(f"{column} = {value}" for column, value in _ANEW.items())}
FROM {_GIVEN}
WHERE job.id = given.id
"""
_WAITS = f"CASE WHEN job.state = '{State.WAITING}' THEN true END"
_REJOIN = f"""
WITH held AS MATERIALIZED (
    SELECT job.id, {_ANEW["pool"]} AS pool, {_ANEW["pool_limit"]} AS pool_limit
    FROM job JOIN (SELECT id, terms.* FROM unnest(%(jobs)s::bigint[], %(terms)s::int[]) AS asked (id, term)
                   JOIN {_TERMS_GIVEN} USING (term)) AS given USING (id)
    WHERE {_WAITS} AND (job.pool, job.pool_limit) IS DISTINCT FROM ({_ANEW["pool"]}, {_ANEW["pool_limit"]})
    ORDER BY job.id FOR UPDATE OF job
)
UPDATE job SET pool = held.pool, pool_limit = held.pool_limit,
    queued = job.queued AND job.pool IS NOT DISTINCT FROM held.pool
FROM held WHERE job.id = held.id AND {_WAITS}
RETURNING job.id, job.pool
"""
_SKIP_EXPECTED = move(SKIP, By.PLANNER, condition=f"job.state = '{State.EXPECTED}'")


class Made(NamedTuple):
    """The jobs that were not there before, and those of them that are ready."""

    ids: dict[JobName, int]
    ready: list[int]


def insert(tx: Tx, jobs: Sequence[PlannedJob], *, begin: bool = False) -> Made:
    """Insert what is not there yet: what this very transaction made. Where they may ``begin``, those that wait for
    nobody and stand in no line are ready by that; whoever asked sends the word."""
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
    """Wake those of the jobs that were only expected; they get the terms of whoever asked first."""
    if not jobs:
        return set()
    return set(tx.column(_WANT_EXPECTED, jobs=[ids[job.name] for job in jobs], **_terms(tx, jobs)))


def renew(tx: Tx, jobs: Sequence[PlannedJob], ids: Mapping[JobName, int]) -> None:
    """Give these revived jobs the terms that they are planned with now, where these say anything."""
    if jobs:
        tx.write(_RENEW, jobs=[ids[job.name] for job in jobs], **_terms(tx, jobs))


def rejoin(tx: Tx, jobs: Sequence[PlannedJob], ids: Mapping[JobName, int]) -> list[int]:
    """Those of the jobs that wait and have another pool or limit now, by what they are planned with; whoever stood in
    the line of another pool is still to be released."""
    rows = tx.rows(_REJOIN, jobs=[ids[job.name] for job in jobs], **_terms(tx, jobs)) if jobs else []
    tx.pools.update(pool for _, pool in rows if pool is not None)
    return [id for id, _ in rows]


def skip(tx: Tx, jobs: list[int]) -> None:
    """Skip those of the jobs that were only expected."""
    if jobs:
        tx.rows(_SKIP_EXPECTED, jobs=jobs)


def is_open(job: PlannedJob) -> bool:
    """Whether nothing keeps it waiting, whatever its parents are in."""
    wanted = job.standing is Standing.WANTED
    return wanted and (not job.gates or any(not gate.needs for gate in job.gates))


def _terms(tx: Tx, jobs: Iterable[PlannedJob], *, begin: bool = False) -> dict[str, list[object]]:
    """The distinct terms as columns, for each job which of them are its own, counted from 1, and what it is put off.
    Kwargs that jobs refer to are stored by then."""
    jobs = [*jobs]
    places: dict[tuple[object, ...], int] = {}
    rows: list[tuple[object, ...]] = []
    terms: list[object] = []
    shared: dict[str, str] = {}
    for job in jobs:
        # Policies and words are shared by the jobs of one walk, so they are told apart by identity.
        mark = (
            job.name.app,
            job.standing,
            is_open(job),
            job.digest,
            id(job.policy),
            id(job.overrides),
            id(job.kwargs),
            job.mark,
            job.place,
            job.pool,
        )
        if mark not in places:
            rows.append(_row(job, shared, begin=begin))
            places[mark] = len(rows)
        terms.append(places[mark])
    shared_kwargs.keep(tx, shared)
    return {"terms": terms, "offsets_s": [job.offset_s for job in jobs], **arrays(rows, *_TERMS)}


def _row(job: PlannedJob, shared: dict[str, str], *, begin: bool) -> tuple[object, ...]:
    policy = job.policy
    return (
        job.name.app,
        job.standing.verb.target,
        is_open(job),
        begin and is_open(job) and job.pool is None,
        job.digest,
        policy.priority,
        policy.max_fails,
        policy.max_timeouts,
        policy.max_losses,
        policy.timeout_s,
        msgspec.json.encode(policy.retry).decode(),
        _json(job.overrides),
        shared_kwargs.stored(job.kwargs, shared),
        policy.start_after,
        policy.end_before,
        job.mark,
        job.place,
        policy.on_failure == "bisect",
        policy.archive == "manual",
        job.pool,
        policy.concurrency.limit if policy.concurrency and job.pool else None,
    )


def _json(words: object) -> str | None:
    return msgspec.json.encode(words).decode() if words else None
