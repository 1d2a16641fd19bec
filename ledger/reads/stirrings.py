"""Present states of several jobs and submissions, for clients that watch them: a look-up by key for each, in one
statement."""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from sluice.jobs.ref import JobName
from sluice.jobs.states import State
from sluice.jobs.submission import SubmissionState
from sluice.ledger.connection import Tx, arrays
from sluice.ledger.reads.shares import Share, shares

_JOBS = f"""
SELECT job.app, job.key, job.state, job.round, job.changed_at,
       job.paused AND job.state = '{State.WAITING}' AS paused
FROM unnest(%(apps)s::text[], %(keys)s::text[]) AS asked (app, key)
     CROSS JOIN LATERAL (SELECT * FROM job WHERE job.app = asked.app AND job.key = asked.key LIMIT 1) job
"""
_SUBMISSIONS = """
SELECT number, id, state, paused_at, ended_at, reason FROM submission WHERE id = ANY(%(ids)s)
"""


class JobStanding(Struct, frozen=True, kw_only=True):
    app: str
    key: str
    state: State
    round: int
    changed_at: datetime
    paused: bool


class Progress(Struct, frozen=True, kw_only=True):
    """Number of jobs, number of ended jobs, and number of failed jobs among these. ``about``: the numbers are
    estimates."""

    total: int
    ended: int
    failed: int
    about: bool


class SubmissionStanding(Struct, frozen=True, kw_only=True):
    id: str
    state: SubmissionState
    paused_at: datetime | None
    ended_at: datetime | None
    reason: str | None
    progress: Progress


class _Row(Struct, frozen=True):
    number: int
    id: str
    state: SubmissionState
    paused_at: datetime | None
    ended_at: datetime | None
    reason: str | None


def job_standings(tx: Tx, names: Sequence[JobName]) -> list[JobStanding]:
    """Return the present states of the jobs that exist."""
    return tx.structs(JobStanding, _JOBS, **arrays(names, "apps", "keys")) if names else []


def submission_standings(
    tx: Tx, ids: Sequence[str], *, exact_max: int, probes: int
) -> list[SubmissionStanding]:
    """Return the present states of the submissions that exist. For ``exact_max`` and ``probes`` see ``shares``."""
    found = tx.structs(_Row, _SUBMISSIONS, ids=[*ids]) if ids else []
    known = shares(tx, [each.number for each in found], exact_max=exact_max, probes=probes)
    return [
        SubmissionStanding(
            id=each.id,
            state=each.state,
            paused_at=each.paused_at,
            ended_at=each.ended_at,
            reason=each.reason,
            progress=progress_of(known[each.number]),
        )
        for each in found
    ]


def progress_of(share: Share) -> Progress:
    return Progress(total=share.total, ended=share.ended, failed=share.failed, about=share.about)
