"""Random pauses of submissions, and the check that no job begins meanwhile."""

import random
from collections.abc import Iterator, Sequence

from sluice.broker.messages import Message, Pause, Resume
from sluice.jobs.states import LIVE, State, sql_list
from sluice.ledger.database.connection import Tx
from sluice.ledger.job_graph.demand import STILL_WANTS

_HELD_BACK = f"""
SELECT job.id FROM job JOIN submission_job ON submission_job.job = job.id
    JOIN submission ON submission.number = submission_job.submission
WHERE job.state IN ({sql_list(*sorted(LIVE))}) AND {STILL_WANTS}
GROUP BY job.id HAVING bool_and(submission.paused_at IS NOT NULL)
"""
_BEGUN = f"SELECT job FROM transition WHERE id > %(since)s AND target = '{State.RUNNING}'"


def drawn_pauses(
    rng: random.Random, submissions: Sequence[str], within_s: float
) -> Iterator[tuple[float, Message]]:
    """Draw pauses and resumptions. Some submissions are paused twice, and some are never resumed here."""
    for _ in range(rng.choice((0, 0, 1, 3)) if submissions else 0):
        id_, at_s = rng.choice(submissions), rng.random() * within_s
        yield at_s, Pause(submission=id_)
        if rng.random() < 0.6:
            yield at_s + rng.random() * within_s / 2, Resume(submission=id_)


def held_back(tx: Tx) -> set[int]:
    """Return the jobs that only paused submissions request."""
    return set(tx.column(_HELD_BACK))


def begun(tx: Tx, since: int) -> set[int]:
    """Return the jobs that were claimed after this transition."""
    return set(tx.column(_BEGUN, since=since))
