"""Progress of one submission: jobs by app and state, running jobs, errors, and the time that the work took."""

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

from sluice.jobs.states import State, sql_list
from sluice.ledger.connection import Tx
from sluice.ledger.reads import fleet
from sluice.ledger.reads.progress import Status, status

_TALLY = """
SELECT job.app, job.state, count(*) FROM wants JOIN job ON job.id = wants.job
WHERE wants.submission = %(number)s GROUP BY job.app, job.state ORDER BY job.app, job.state
"""
_RUNNING = f"""
SELECT job.app, job.key, job.round, job.changed_at AS since FROM wants JOIN job ON job.id = wants.job
WHERE wants.submission = %(number)s AND job.state = '{State.RUNNING}'
ORDER BY job.changed_at, job.id LIMIT %(limit)s
"""
_LAST_ERROR = """
LEFT JOIN LATERAL (
    SELECT error FROM round WHERE round.job = job.id AND error IS NOT NULL ORDER BY claim DESC LIMIT 1) last ON true
"""
_RETRYING = f"""
SELECT job.app, job.key, job.state, job.round, last.error
FROM wants JOIN job ON job.id = wants.job {_LAST_ERROR}
WHERE wants.submission = %(number)s AND job.state = '{State.WAITING}' AND job.round > 0
ORDER BY job.changed_at, job.id LIMIT %(limit)s
"""
# Jobs that ended because of a parent come last. Usually that parent is listed too, and its error explains more.
_TROUBLES = f"""
SELECT job.app, job.key, job.state, job.round, last.error
FROM wants JOIN job ON job.id = wants.job {_LAST_ERROR}
WHERE wants.submission = %(number)s AND job.state IN (
    {sql_list(State.FAILED, State.FATAL, State.TIMED_OUT, State.EXPIRED, State.UPSTREAM_FAILED)})
ORDER BY job.state = '{State.UPSTREAM_FAILED}', job.changed_at, job.id LIMIT %(limit)s
"""
# A job that existed before belongs to the submission too, but its earlier rounds belong to other submissions.
_WORK = """
SELECT job.app, count(*) AS runs, min(round.running_at) AS began_at, max(round.executed_at) AS ended_at,
       coalesce(sum(coalesce(round.took_s, extract(epoch FROM round.executed_at - round.running_at))), 0)::float8
       AS work_s
FROM wants JOIN submission ON submission.number = wants.submission JOIN job ON job.id = wants.job
     JOIN round ON round.job = job.id AND round.running_at >= submission.received_at
WHERE wants.submission = %(number)s GROUP BY job.app ORDER BY min(round.running_at)
"""
#: Maximum number of jobs that are listed of each kind.
TOLD_MAX = 10


class Run(Struct, frozen=True):
    """Running job."""

    app: str
    key: str
    round: int
    since: datetime


class Trouble(Struct, frozen=True):
    """Job that ended badly or will be retried, with the last error of its rounds."""

    app: str
    key: str
    state: State
    round: int
    error: str | None


class Work(Struct, frozen=True):
    """Time that the jobs of one app took: from the first start to the last end, and the sum of all runs
    (``work_s``)."""

    app: str
    runs: int
    began_at: datetime
    ended_at: datetime | None
    work_s: float


class Course(Struct, frozen=True, kw_only=True):
    """Progress of a submission. ``tally`` counts its jobs by app and state. ``running``, ``retrying`` and ``troubles``
    are the first jobs of each kind. ``planners`` is the number of living workers that can plan it."""

    status: Status
    now: datetime
    planners: int
    tally: Mapping[str, Mapping[State, int]]
    running: list[Run]
    retrying: list[Trouble]
    troubles: list[Trouble]

    @property
    def counts(self) -> dict[State, int]:
        """Number of jobs by state, over all apps."""
        counts: dict[State, int] = {}
        for states in self.tally.values():
            for state, count in states.items():
                counts[state] = counts.get(state, 0) + count
        return counts


def course(tx: Tx, id: str, *, planner_queue: str) -> Course | None:
    """Return the progress of a submission; None if it does not exist."""
    found = status(tx, id)
    if found is None:
        return None
    tally: dict[str, dict[State, int]] = {}
    for app, state, count in tx.rows(_TALLY, number=found.number):
        tally.setdefault(app, {})[State(state)] = count
    return Course(
        status=found,
        now=tx.instant(),
        planners=fleet.servers(tx, planner_queue),
        tally=tally,
        running=tx.structs(Run, _RUNNING, number=found.number, limit=TOLD_MAX),
        retrying=tx.structs(Trouble, _RETRYING, number=found.number, limit=TOLD_MAX),
        troubles=tx.structs(Trouble, _TROUBLES, number=found.number, limit=TOLD_MAX),
    )


def work(tx: Tx, number: int) -> list[Work]:
    """Return the work by app, in the order of the first start. An app without runs is left out."""
    return tx.structs(Work, _WORK, number=number)
