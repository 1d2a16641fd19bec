"""Runs as observers (telemetry) see them: the submission that a run began for, its parents' runs, and its verdict or
loss.

Among all submissions that want its job, a run began for the first that had been planned and was not over at that
moment. So each component gets the same answer at any time, as long as the history is kept: the worker that runs the
job, the planner that judges it, and the groomer that finds it lost.

All queries are bounded by the runs that are named, and none is made without an observer.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime

from msgspec import Struct

from sluice.jobs.model.history import Lost
from sluice.jobs.model.names import Claim
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from sluice.ledger.database.connection import Tx, arrays

#: Maximum number of parents that are returned for a job. A job may have a thousand times as many.
PARENTS_MAX = 32
#: Maximum number of characters of an error.
ERROR_MAX = 4000

_ORIGINS = """
SELECT given.job, given.claim, origin.id AS submission, origin.app, origin.received_at, origin.traceparent
FROM unnest(%(jobs)s::bigint[], %(claims)s::bigint[]) AS given (job, claim)
JOIN round ON round.job = given.job AND round.claim = given.claim
JOIN LATERAL (
    SELECT submission.id, submission.app, submission.received_at, submission.request->>'traceparent' AS traceparent
    FROM submission_job JOIN submission ON submission.number = submission_job.submission
    WHERE submission_job.job = given.job AND submission.planned_at <= round.running_at
      AND (submission.ended_at IS NULL OR submission.ended_at >= round.running_at)
    ORDER BY submission_job.submission LIMIT 1
) origin ON true
"""
_PARENTS = f"""
SELECT given.id, parent.id, parent.claim FROM unnest(%(jobs)s::bigint[]) AS given (id)
JOIN LATERAL (
    SELECT job.id, job.claim FROM need JOIN job ON job.id = need.parent
    WHERE need.child = given.id AND need.met AND job.claim > 0 ORDER BY job.id LIMIT {PARENTS_MAX}
) parent ON true
"""
_ENDED = f"""
SELECT round.job, round.claim, round.round, job.app, job.key, round.running_at AS began_at,
       round.executed_at AS ended_at, round.ending, job.output_table, left(round.error, {ERROR_MAX}) AS error
FROM unnest(%(jobs)s::bigint[], %(claims)s::bigint[]) AS given (job, claim)
JOIN round ON round.job = given.job AND round.claim = given.claim JOIN job ON job.id = round.job
"""
_LOST = f"{_ENDED} WHERE round.ending = '{Lost.LEASE_LOST}'"
# Claim numbers grow, but not always by one (``ledger.recovery.restoration``).
_BEFORE = """
SELECT given.job, before.claim FROM unnest(%(jobs)s::bigint[], %(claims)s::bigint[]) AS given (job, claim)
JOIN LATERAL (
    SELECT claim FROM round WHERE round.job = given.job AND round.claim < given.claim ORDER BY claim DESC LIMIT 1
) before ON true
"""
_LAST = "SELECT id, claim FROM job WHERE id = ANY(%(jobs)s)"
_VERDICTS = f"""
SELECT DISTINCT ON (transition.job) transition.job, transition.claim, transition.round, job.app, job.key,
       round.executed_at AS began_at, transition.at AS ended_at, transition.target AS ending, job.output_table,
       left(round.error, {ERROR_MAX}) AS error
FROM transition JOIN job ON job.id = transition.job
JOIN round ON round.job = transition.job AND round.claim = transition.claim
WHERE transition.job = ANY(%(jobs)s) AND transition.source = '{State.EXECUTED}' AND round.executed_at IS NOT NULL
ORDER BY transition.job, transition.id DESC
"""
_PLANNED = f"""
SELECT id AS submission, received_at, app, request->>'traceparent' AS traceparent, reason,
       coalesce(planned_at, ended_at) AS planned_at
FROM submission WHERE id = ANY(%(ids)s) AND (planned_at IS NOT NULL OR state = '{SubmissionState.REFUSED}')
"""


class RunOrigin(Struct, frozen=True):
    """Submission that a run began for. ``traceparent`` is the trace context of the submitter, if it was sent."""

    submission: str
    app: str
    received_at: datetime
    traceparent: str | None = None


class PlannedSubmission(RunOrigin, frozen=True, kw_only=True):
    """Submission that has been planned, or that was refused with a ``reason``."""

    planned_at: datetime
    reason: str | None = None


class LifeStretch(Struct, frozen=True, kw_only=True):
    """Part of a job's life: a run that was lost, or the time from the record to the verdict.

    ``ending`` is how it ended, and ``error`` is the error, if any. ``output_table`` is the table of a job that makes
    partitions.
    """

    job: int
    claim: int
    round: int
    app: str
    key: str
    began_at: datetime
    ended_at: datetime
    ending: str
    output_table: str | None = None
    error: str | None = None

    @property
    def right(self) -> Claim:
        return Claim(self.job, self.claim)


class _OfRun(RunOrigin, frozen=True, kw_only=True):
    job: int
    claim: int


def origins(tx: Tx, claims: Iterable[Claim]) -> dict[Claim, RunOrigin]:
    """Return the origins of these runs. A run has none if no planned and open submission wanted its job when it
    began."""
    found = tx.structs(_OfRun, _ORIGINS, **_columns(claims))
    return {
        Claim(each.job, each.claim): RunOrigin(each.submission, each.app, each.received_at, each.traceparent)
        for each in found
    }


def parents(tx: Tx, jobs: Iterable[int]) -> Mapping[int, list[Claim]]:
    """Return, for each job, the last runs of the parents that it has waited for."""
    found: dict[int, list[Claim]] = {}
    for child, parent, claim in tx.rows(_PARENTS, jobs=[*jobs]):
        found.setdefault(child, []).append(Claim(parent, claim))
    return found


def lost(tx: Tx, claims: Iterable[Claim]) -> list[LifeStretch]:
    """Return the runs of which the worker was lost. That worker does not report them itself."""
    return tx.structs(LifeStretch, _LOST, **_columns(claims))


def claims_before(tx: Tx, claims: Iterable[Claim]) -> list[Claim]:
    """Return the run before each of these runs, if its job has run before."""
    return [Claim(*row) for row in tx.rows(_BEFORE, **_columns(claims))]


def last_claims(tx: Tx, jobs: Iterable[int]) -> list[Claim]:
    return [Claim(*row) for row in tx.rows(_LAST, jobs=[*jobs])]


def verdicts(tx: Tx, jobs: Iterable[int]) -> list[LifeStretch]:
    """Return the last judgement of each job that has been judged: from the record to the verdict, with the resulting
    state."""
    return tx.structs(LifeStretch, _VERDICTS, jobs=[*jobs])


def planned(tx: Tx, ids: Iterable[str]) -> list[PlannedSubmission]:
    """Return the submissions that have been planned or refused."""
    return tx.structs(PlannedSubmission, _PLANNED, ids=[*ids])


def _columns(claims: Iterable[Claim]) -> dict[str, list[object]]:
    return arrays([*claims], "jobs", "claims")
