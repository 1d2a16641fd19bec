"""Who wants what: the rows that tie submissions to jobs, and those who want more because of what happened."""

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct

from sluice.jobs.gate import MET
from sluice.jobs.plan import Wish
from sluice.jobs.ref import JobName
from sluice.jobs.states import LIVE, UNSUCCESSFUL, State, sql_list
from sluice.jobs.submission import JSON, Submission, SubmissionState, narrowed
from sluice.ledger.connection import Tx, arrays
from sluice.ledger.requests import BODY, read
from sluice.ledger.shared_kwargs import KWARGS
from sluice.ledger.sql import NOW

#: Whether a submission wants a job yet. One that has ended does where it pushed the job, for a pushed job may
#: begin long after whoever pushed it had all that was asked for; one that was cancelled wants nothing.
STILL_WANTS = f"""
(submission.state = '{SubmissionState.ACTIVE}'
 OR wants.wish = {Wish.PUSHED:d} AND submission.state <> '{SubmissionState.CANCELLED}')
"""
#: Whether no submission wants a job any more.
UNWANTED = f"""
NOT EXISTS (SELECT 1 FROM wants JOIN submission ON submission.number = wants.submission
            WHERE wants.job = job.id AND {STILL_WANTS})
"""

_INSERT = """
INSERT INTO wants (submission, job, wish)
SELECT submission, job, min(wish)
FROM unnest(%(submission)s::bigint[], %(job)s::bigint[], %(wish)s::int[]) AS new (submission, job, wish)
GROUP BY submission, job ORDER BY submission, job
ON CONFLICT (submission, job) DO UPDATE SET wish = least(wants.wish, excluded.wish)
"""
_PUSHING = sql_list(*sorted(MET["succeeded"] | MET["failed"]))
_OF_PUSHERS = f"""
FROM job JOIN wants ON wants.job = job.id JOIN submission ON submission.number = wants.submission
WHERE job.id = ANY(%(pushing)s) AND job.state IN ({_PUSHING}) AND {STILL_WANTS} AND submission.push
"""
_PUSHERS = f"""
SELECT job.app, job.key, job.state, {KWARGS} AS kwargs, job.overrides,
       array_agg(submission.number ORDER BY submission.number) AS submissions
{_OF_PUSHERS} GROUP BY job.id ORDER BY job.id
"""
#: A submission that waits for one of these jobs to be planned is to be planned now.
WAKING = f"""
UPDATE submission SET look_at = {NOW} WHERE state = '{SubmissionState.RECEIVED}' AND sentinel = ANY(%(jobs)s)
"""
#: A submission by whom one of these jobs is watched, and the job.
WATCHING = f"""
SELECT number, sentinel FROM submission WHERE state = '{SubmissionState.ACTIVE}' AND sentinel = ANY(%(jobs)s)
"""
_CONCERNED = f"""
WITH woken AS ({WAKING}), watching AS ({WATCHING})
SELECT NULL AS number, job.id AS job {_OF_PUSHERS} UNION SELECT * FROM watching ORDER BY number, job
"""
# Those who asked for a job that waits, or for one that does, and what they asked for it under.
_ASKERS = f"""
SELECT submission.number, {BODY} AS body, job.app, job.key
FROM job JOIN wants ON wants.job = job.id JOIN submission ON submission.number = wants.submission
WHERE job.id = ANY(%(jobs)s) AND wants.wish <> {Wish.PUSHED:d}
  AND job.state = '{State.WAITING}' AND submission.state = '{SubmissionState.ACTIVE}'
ORDER BY job.id, submission.number
"""
_UNSUCCESSFUL = f"""
SELECT job.app, job.key FROM wants JOIN job ON job.id = wants.job
WHERE wants.submission = %(number)s AND job.state IN ({sql_list(*sorted(UNSUCCESSFUL))}) ORDER BY job.id
"""
_LIVE = f"""
SELECT job.id FROM wants JOIN job ON job.id = wants.job
WHERE wants.submission = %(number)s AND job.state IN ({sql_list(*sorted(LIVE))}) ORDER BY job.id
"""
_FORGET_STEPS = f"""
DELETE FROM wants USING job
WHERE wants.submission = %(number)s AND job.id = wants.job AND job.place IS NOT NULL
  AND job.state IN ({sql_list(*sorted(UNSUCCESSFUL))})
"""
_FORGET_ENDED = f"""
DELETE FROM wants USING submission
WHERE wants.job = ANY(%(jobs)s) AND wants.wish = {Wish.PUSHED:d} AND submission.number = wants.submission
  AND submission.state IN ('{SubmissionState.SUCCEEDED}', '{SubmissionState.FAILED}')
"""


class Pusher(Struct, frozen=True):
    """A job that came to something, and the submissions that want those of its children too that wait for this."""

    app: str
    key: str
    state: State
    kwargs: Mapping[str, JSON] | None
    overrides: Mapping[str, JSON] | None
    submissions: list[int]

    @property
    def name(self) -> JobName:
        return JobName(self.app, self.key)


def pushers(tx: Tx, jobs: list[int]) -> list[Pusher]:
    """Those of the jobs whose children are to be planned though nobody asked for them."""
    return tx.structs(Pusher, _PUSHERS, pushing=jobs)


class Concerned(NamedTuple):
    """Whom ends concern: of which jobs others follow, and the submissions by whom the other jobs are watched."""

    pushing: list[int]
    watching: list[int]


def concerned(tx: Tx, ended: list[int], *, may_push: list[int]) -> Concerned:
    """Look before the children of these jobs are told, and see to the submissions after that. Those that wait for one
    of the jobs to be planned are woken."""
    rows = tx.rows(_CONCERNED, jobs=ended, pushing=may_push)
    pushing = [job for number, job in rows if number is None]
    return Concerned(pushing, [number for number, job in rows if number is not None and job not in pushing])


class Asker(NamedTuple):
    """A submission, and what it asks for anew: one job that it wants already."""

    number: int
    submission: Submission


def askers(tx: Tx, jobs: list[int]) -> list[Asker]:
    """Who asked for these waiting jobs. Those that were only pushed have nobody who would ask for their parents, and
    neither does a submission whose request can no longer be read."""
    return [
        Asker(number, narrowed(submission, JobName(app, key)))
        for number, body, app, key in tx.rows(_ASKERS, jobs=jobs)
        if (submission := read(body)[0])
    ]


def unsuccessful(tx: Tx, number: int) -> list[JobName]:
    """Return the jobs of a submission that have ended without success. It locks nothing."""
    return [JobName(app, key) for app, key in tx.rows(_UNSUCCESSFUL, number=number)]


def live(tx: Tx, number: int) -> list[int]:
    """Return the jobs of a submission that have not ended."""
    return tx.column(_LIVE, number=number)


def want(tx: Tx, wants: list[tuple[int, int, Wish]]) -> None:
    """Note which submission wants which job; asked for by name once is asked for by name."""
    if wants:
        tx.write(_INSERT, **arrays(wants, "submission", "job", "wish"))


def forget_ended(tx: Tx, jobs: list[int]) -> None:
    """These jobs begin anew: those who had pushed them and have ended have had what they wanted."""
    tx.write(_FORGET_ENDED, jobs=jobs)


def forget_steps(tx: Tx, number: int) -> None:
    """Remove the dead steps from a submission, because it is about to be planned again and may be cut differently."""
    tx.write(_FORGET_STEPS, number=number)
