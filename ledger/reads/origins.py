"""What became of runs, for who looks on: what they began for, what they came after, how they were judged or lost.

A run began for one submission out of all that want its job: the first of those that had been planned and were not over
at that moment. So whoever asks, and whenever, is told the same, as long as the history is kept: the worker that runs,
the planner that judges, and who finds it lost.

All are bounded by the runs that are named; nothing here is asked unless somebody looks on.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime

from msgspec import Struct

from sluice.jobs.history import Lost
from sluice.jobs.ref import Claim
from sluice.jobs.states import State
from sluice.jobs.submission import SubmissionState
from sluice.ledger.connection import Tx, arrays

#: Of more parents than these nothing is told; a job may have a thousand times as many.
PARENTS_MAX = 32
#: Of what was wrong, so many characters.
ERROR_MAX = 4000

_ORIGINS = """
SELECT given.job, given.claim, origin.id AS submission, origin.app, origin.received_at, origin.traceparent
FROM unnest(%(jobs)s::bigint[], %(claims)s::bigint[]) AS given (job, claim)
JOIN round ON round.job = given.job AND round.claim = given.claim
JOIN LATERAL (
    SELECT submission.id, submission.app, submission.received_at, submission.request->>'traceparent' AS traceparent
    FROM wants JOIN submission ON submission.number = wants.submission
    WHERE wants.job = given.job AND submission.planned_at <= round.running_at
      AND (submission.ended_at IS NULL OR submission.ended_at >= round.running_at)
    ORDER BY wants.submission LIMIT 1
) origin ON true
"""
_PARENTS = f"""
SELECT given.id, parent.id, parent.claim FROM unnest(%(jobs)s::bigint[]) AS given (id)
JOIN LATERAL (
    SELECT job.id, job.claim FROM need JOIN job ON job.id = need.parent
    WHERE need.child = given.id AND need.settled AND job.claim > 0 ORDER BY job.id LIMIT {PARENTS_MAX}
) parent ON true
"""
_ENDED = f"""
SELECT round.job, round.claim, round.round, job.app, job.key, round.running_at AS began_at,
       round.executed_at AS ended_at, round.ending, job.place, left(round.error, {ERROR_MAX}) AS error
FROM unnest(%(jobs)s::bigint[], %(claims)s::bigint[]) AS given (job, claim)
JOIN round ON round.job = given.job AND round.claim = given.claim JOIN job ON job.id = round.job
"""
_LOST = f"{_ENDED} WHERE round.ending = '{Lost.LEASE_LOST}'"
# Numbers of claims grow, and not always by one (``ledger.restoring``).
_BEFORE = """
SELECT given.job, before.claim FROM unnest(%(jobs)s::bigint[], %(claims)s::bigint[]) AS given (job, claim)
JOIN LATERAL (
    SELECT claim FROM round WHERE round.job = given.job AND round.claim < given.claim ORDER BY claim DESC LIMIT 1
) before ON true
"""
_LAST = "SELECT id, claim FROM job WHERE id = ANY(%(jobs)s)"
_VERDICTS = f"""
SELECT DISTINCT ON (transition.job) transition.job, transition.claim, transition.round, job.app, job.key,
       round.executed_at AS began_at, transition.at AS ended_at, transition.target AS ending, job.place,
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


class Origin(Struct, frozen=True):
    """The submission that a run began for. ``traceparent`` is of whoever submitted, where he told."""

    submission: str
    app: str
    received_at: datetime
    traceparent: str | None = None


class Planned(Origin, frozen=True, kw_only=True):
    """A submission that has been planned, or was refused for a ``reason``."""

    planned_at: datetime
    reason: str | None = None


class Stretch(Struct, frozen=True, kw_only=True):
    """A part of a job's life: a run that was lost, or the time from its record to the verdict. ``ending`` is what it
    came to, and ``error`` what was wrong. Of one that makes partitions, ``place`` is their table."""

    job: int
    claim: int
    round: int
    app: str
    key: str
    began_at: datetime
    ended_at: datetime
    ending: str
    place: str | None = None
    error: str | None = None

    @property
    def right(self) -> Claim:
        return Claim(self.job, self.claim)


class _OfRun(Origin, frozen=True, kw_only=True):
    job: int
    claim: int


def origins(tx: Tx, claims: Iterable[Claim]) -> dict[Claim, Origin]:
    """Those of these runs; one whose job nobody wants any more has none."""
    found = tx.structs(_OfRun, _ORIGINS, **_columns(claims))
    return {
        Claim(each.job, each.claim): Origin(each.submission, each.app, each.received_at, each.traceparent)
        for each in found
    }


def parents(tx: Tx, jobs: Iterable[int]) -> Mapping[int, list[Claim]]:
    """The last runs of what these jobs have waited for."""
    found: dict[int, list[Claim]] = {}
    for child, parent, claim in tx.rows(_PARENTS, jobs=[*jobs]):
        found.setdefault(child, []).append(Claim(parent, claim))
    return found


def lost(tx: Tx, claims: Iterable[Claim]) -> list[Stretch]:
    """Those of these runs whose worker was lost: it tells nothing of them."""
    return tx.structs(Stretch, _LOST, **_columns(claims))


def claims_before(tx: Tx, claims: Iterable[Claim]) -> list[Claim]:
    """Of each of these runs whose job has run before, the one before it."""
    return [Claim(*row) for row in tx.rows(_BEFORE, **_columns(claims))]


def last_claims(tx: Tx, jobs: Iterable[int]) -> list[Claim]:
    return [Claim(*row) for row in tx.rows(_LAST, jobs=[*jobs])]


def verdicts(tx: Tx, jobs: Iterable[int]) -> list[Stretch]:
    """The last judgement of each of these jobs that have been judged: from the record to the verdict, which is the
    state that the job came to."""
    return tx.structs(Stretch, _VERDICTS, jobs=[*jobs])


def planned(tx: Tx, ids: Iterable[str]) -> list[Planned]:
    """Those of these submissions that have been seen to."""
    return tx.structs(Planned, _PLANNED, ids=[*ids])


def _columns(claims: Iterable[Claim]) -> dict[str, list[object]]:
    return arrays([*claims], "jobs", "claims")
