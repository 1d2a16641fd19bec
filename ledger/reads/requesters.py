"""Submissions that concern one job: submissions that want it, unplanned submissions that may want it later, and refused
ones."""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import RequestReason
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from sluice.ledger.database.connection import Tx
from sluice.ledger.job_graph.demand import STILL_WANTS

#: Maximum number of submissions that are searched, because no index covers the requested jobs.
LOOKED_THROUGH_MAX = 10_000
#: Maximum number of submissions that are returned.
TOLD_MAX = 20

# Until a submission is planned, its key may be in another spelling than the canonical one. Without keys, all jobs are
# requested. The jobs of a range of partitions are not known before planning.
_NAMES_IT = """
CASE WHEN request ? 'key' THEN request->>'key' = ANY(%(keys)s)
     WHEN request ? 'keys' THEN request->'keys' ?| %(keys)s
     WHEN request ? 'start' THEN false END
"""
_UNPLANNED = f"""
SELECT waiting.id, received_at, coalesce({_NAMES_IT}, true) AS asks_for_it, reason, job.app, job.key, job.state,
       paused_at
FROM (
    SELECT * FROM submission WHERE state = '{SubmissionState.RECEIVED}' ORDER BY received_at LIMIT %(looked)s) waiting
LEFT JOIN job ON job.id = waiting.blocking_job
WHERE waiting.app = %(app)s ORDER BY asks_for_it DESC, number LIMIT %(limit)s
"""
_REFUSED = f"""
SELECT id, received_at, reason FROM (
    SELECT * FROM submission
    WHERE state = '{SubmissionState.REFUSED}' AND left(app, 255) = left(%(app)s, 255) AND app = %(app)s
    ORDER BY number DESC LIMIT %(looked)s) latest
WHERE {_NAMES_IT} ORDER BY number DESC LIMIT %(limit)s
"""
_WANTED_BY = f"""
SELECT submission.id, submission.state, submission.ended_at, submission.request->>'user' AS user,
       submission_job.request_reason = {RequestReason.PUSHED:d} AS pushed
FROM submission_job JOIN submission ON submission.number = submission_job.submission
WHERE submission_job.job = %(job)s ORDER BY submission_job.submission DESC LIMIT %(limit)s
"""
_PAUSED_BY = f"""
SELECT submission.id, submission.paused_at, submission.request->>'user' AS user
FROM submission_job JOIN submission ON submission.number = submission_job.submission
WHERE submission_job.job = %(job)s AND {STILL_WANTS} AND submission.paused_at IS NOT NULL
ORDER BY submission.paused_at DESC, submission.number LIMIT %(limit)s
"""


class Pauser(Struct, frozen=True):
    """Paused submission that wants the job."""

    id: str
    paused_at: datetime
    user: str | None


class Unplanned(Struct, frozen=True):
    """Submission that requests jobs of the app and has not been planned yet.

    ``asks_for_it``: it requests this job, or all jobs. If a planner has found that it must wait, ``reason`` is why;
    usually it waits for a job that is under way. A paused submission is not planned at all.
    """

    id: str
    received_at: datetime
    asks_for_it: bool
    reason: str | None = None
    app: str | None = None
    key: str | None = None
    state: State | None = None
    paused_at: datetime | None = None

    @property
    def awaited(self) -> JobName | None:
        return JobName(self.app, self.key) if self.app and self.key else None


class Refused(Struct, frozen=True):
    """Submission that names the job and was refused."""

    id: str
    received_at: datetime
    reason: str


class Wanter(Struct, frozen=True):
    """Submission that wants the job, or wanted it. ``pushed``: not by name, but as a child of a requested job."""

    id: str
    state: SubmissionState
    ended_at: datetime | None
    user: str | None
    pushed: bool


def unplanned(tx: Tx, name: JobName, spellings: Sequence[str]) -> list[Unplanned]:
    """Return the unplanned submissions; submissions that request the job come first. ``spellings`` are other ways to
    write its key."""
    asked = {"app": name.app, "keys": [name.key, *spellings]}
    return tx.structs(Unplanned, _UNPLANNED, **asked, looked=LOOKED_THROUGH_MAX, limit=TOLD_MAX)


def refused(tx: Tx, name: JobName, spellings: Sequence[str]) -> list[Refused]:
    """Return the refused submissions, the latest first, as far as they are among the latest refused of the app."""
    asked = {"app": name.app, "keys": [name.key, *spellings]}
    return tx.structs(Refused, _REFUSED, **asked, looked=LOOKED_THROUGH_MAX, limit=TOLD_MAX)


def wanted_by(tx: Tx, job: int) -> list[Wanter]:
    """Return the submissions that want the job, the latest first."""
    return tx.structs(Wanter, _WANTED_BY, job=job, limit=TOLD_MAX)


def paused_by(tx: Tx, job: int) -> list[Pauser]:
    """Return the paused submissions that want the job, the latest pause first."""
    return tx.structs(Pauser, _PAUSED_BY, job=job, limit=TOLD_MAX)
