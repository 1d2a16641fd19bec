"""What could be run again, and by which code it ran the last time."""

from msgspec import Struct

from jobs.plan import Wish
from jobs.ref import JobName
from jobs.states import DEAD, State, sql_list
from jobs.submission import SAGA, SubmissionState
from ledger.connection import Tx
from ledger.requests import BODY

#: What did not come to a good end. What was skipped did, and of what was split the halves are asked.
_BAD = sql_list(*sorted(DEAD - {State.SKIPPED, State.SPLIT}))

_LAST_RUN = """
LEFT JOIN LATERAL (
    SELECT round.digest, worker.code FROM round LEFT JOIN worker ON worker.id = round.worker
    WHERE round.job = job.id ORDER BY round.claim DESC LIMIT 1) last ON true
"""
_OF_SUBMISSION = f"""
SELECT job.app, job.key, job.state, wants.wish <> {Wish.PULLED:d} AS asked, last.digest, last.code,
       job.place IS NOT NULL AS is_step, job.pruned_at IS NOT NULL AND last.digest IS NULL AS is_pruned
FROM submission JOIN wants ON wants.submission = submission.number JOIN job ON job.id = wants.job {_LAST_RUN}
WHERE submission.id = %(id)s AND job.state IN ({_BAD}) ORDER BY job.id
"""
_OF_JOB = f"""
SELECT job.app, job.key, job.state, true AS asked, last.digest, last.code, job.place IS NOT NULL AS is_step,
       job.pruned_at IS NOT NULL AND last.digest IS NULL AS is_pruned
FROM job {_LAST_RUN}
WHERE job.app = %(app)s AND job.key = %(key)s
"""


# What makes partitions is told by its jobs, or where there are none by the words of the request.
_ASKED = f"""
SELECT {BODY} AS body, request ->> 'mode' = '{SAGA}' AS is_saga, state, request ? 'start' OR EXISTS (
    SELECT 1 FROM wants JOIN job ON job.id = wants.job WHERE wants.submission = submission.number AND place IS NOT NULL
) AS of_partitions
FROM submission WHERE id = %(id)s
"""


class Asked(Struct, frozen=True):
    """A submission, with its request as text (``requests.read``); whether it is about partitions."""

    body: str | None
    is_saga: bool | None
    state: SubmissionState
    of_partitions: bool

    @property
    def mode(self) -> str | None:
        """That in which the same is asked for again: of a saga, what it does is undone again where it fails."""
        return SAGA if self.is_saga else None

    @property
    def is_open(self) -> bool:
        return self.state in (SubmissionState.RECEIVED, SubmissionState.ACTIVE)


class Ran(Struct, frozen=True):
    """A job; ``digest`` of the definition and ``code`` of the worker that it ran by last, None for one that never did.

    ``asked`` for by name, or pushed; others were pulled, and run again with those that wait for them. A step makes
    partitions. Of one that is pruned nobody knows any more by what it ran.
    """

    app: str
    key: str
    state: State
    asked: bool
    digest: str | None
    code: str | None
    is_step: bool
    is_pruned: bool = False

    @property
    def name(self) -> JobName:
        return JobName(self.app, self.key)


def asked(tx: Tx, id: str) -> Asked | None:
    found = tx.structs(Asked, _ASKED, id=id)
    return found[0] if found else None


def of_job(tx: Tx, name: JobName) -> Ran | None:
    found = tx.structs(Ran, _OF_JOB, app=name.app, key=name.key)
    return found[0] if found else None


def of_submission(tx: Tx, id: str) -> list[Ran]:
    """What of it did not end well."""
    return tx.structs(Ran, _OF_SUBMISSION, id=id)
