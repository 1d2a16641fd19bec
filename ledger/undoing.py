"""What a compensation that has succeeded undoes: the job it is for leaves ``succeeded``.

It is part of the compensation's judgement, in the same transaction. The job may have been run again since it was to be
undone: then it has another claim, and its success stands. Its children have had what they needed of it. So nobody tells
them that it was cancelled; but who waits for others too does not begin with what is undone. Who may begin, or has
begun, goes on; run again, he needs it made anew.
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
    """What these have undone is so in the ledger too. Those whom that leaves without a way to begin, each with its app:
    they have ended, and owe their children the news."""
    undone = tx.column(_UNDO, jobs=compensations) if compensations else []
    if not undone:
        return {}
    freshness.withdraw(tx, undone)
    partitions.withdraw(tx, undone)
    waiting = counts.waiting(tx, tx.column(_CHILDREN, jobs=undone))
    counts.recount(tx, waiting)
    return strand(tx, waiting)
