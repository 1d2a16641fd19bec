"""What a run began for: the submission that had it planned, out of all that want the job.

It is the first of those that had been planned and were not over when the run began. So whoever asks, and whenever, is
told the same, as long as the history is kept: the worker that runs, the planner that judges, and who finds it lost.
"""

from collections.abc import Iterable
from datetime import datetime

from msgspec import Struct

from jobs.ref import Claim
from ledger.connection import Tx, arrays

_ORIGINS = """
SELECT given.job, given.claim, origin.id AS submission, origin.received_at, origin.traceparent
FROM unnest(%(jobs)s::bigint[], %(claims)s::bigint[]) AS given (job, claim)
JOIN round ON round.job = given.job AND round.claim = given.claim
JOIN LATERAL (
    SELECT submission.id, submission.received_at, submission.request->>'traceparent' AS traceparent
    FROM wants JOIN submission ON submission.number = wants.submission
    WHERE wants.job = given.job AND submission.planned_at <= round.running_at
      AND (submission.ended_at IS NULL OR submission.ended_at >= round.running_at)
    ORDER BY wants.submission LIMIT 1
) origin ON true
"""


class Origin(Struct, frozen=True):
    """The submission that a run began for. ``traceparent`` is of whoever submitted, where he told."""

    submission: str
    received_at: datetime
    traceparent: str | None = None


class _OfRun(Origin, frozen=True, kw_only=True):
    job: int
    claim: int


def origins(tx: Tx, claims: Iterable[Claim]) -> dict[Claim, Origin]:
    """Those of these runs; one whose job nobody wants any more has none."""
    found = tx.structs(_OfRun, _ORIGINS, **arrays([*claims], "jobs", "claims"))
    return {
        Claim(each.job, each.claim): Origin(each.submission, each.received_at, each.traceparent)
        for each in found
    }
