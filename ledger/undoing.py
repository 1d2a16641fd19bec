"""Undoing: a compensation has succeeded, so the job that it is for leaves ``succeeded``.

This is part of the compensation's judgement, in the same transaction. If the job has been run again since its
compensation was planned, it has another claim, and its success stands. Its children have used its result, so its
cancellation is not propagated to them. But a child that still waits for other parents does not start with the undone
result. A child that may start, or has started, continues; if run again, it needs the result to be made again.
"""

from collections.abc import Mapping

from sluice.jobs.states import UNDO, By
from sluice.ledger import counts, freshness, partitions
from sluice.ledger.connection import Tx
from sluice.ledger.release import strand
from sluice.ledger.sql import move

_UNDO = move(
    UNDO,
    By.PLANNER,
    given="(SELECT undoes AS id, undoes_claim FROM job WHERE id = ANY(%(jobs)s) AND undoes IS NOT NULL) AS given",
    condition="job.claim = given.undoes_claim",
    note="(SELECT 'undone by ' || undo.app || '/' || undo.key FROM job undo"
    " WHERE undo.undoes = moved.id AND undo.id = ANY(%(jobs)s) LIMIT 1)",
)
_CHILDREN = "SELECT DISTINCT child FROM need WHERE parent = ANY(%(jobs)s) ORDER BY child"


def undo(tx: Tx, compensations: list[int]) -> Mapping[int, str]:
    """Cancel the jobs that these compensations have undone.

    Return the children that can no longer start, each with its app. They have ended, and their ends must be propagated.
    """
    undone = tx.column(_UNDO, jobs=compensations) if compensations else []
    if not undone:
        return {}
    freshness.withdraw(tx, undone)
    partitions.withdraw(tx, undone)
    waiting = counts.waiting(tx, tx.column(_CHILDREN, jobs=undone))
    counts.recount(tx, waiting)
    return strand(tx, waiting)
