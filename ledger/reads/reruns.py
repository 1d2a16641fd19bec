"""What could be run again, and by which code it ran the last time."""

from msgspec import Struct

from jobs.plan import Wish
from jobs.ref import JobName
from jobs.states import DEAD, State, sql_list
from ledger.connection import Tx

#: What did not come to a good end. What was skipped did, and of what was split the halves are asked.
_BAD = sql_list(*sorted(DEAD - {State.SKIPPED, State.SPLIT}))

_LAST_RUN = """
LEFT JOIN LATERAL (
    SELECT round.digest, worker.code FROM round LEFT JOIN worker ON worker.id = round.worker
    WHERE round.job = job.id ORDER BY round.claim DESC LIMIT 1) last ON true
"""
_OF_SUBMISSION = f"""
SELECT job.app, job.key, job.state, wants.wish <> {Wish.PULLED:d} AS asked, last.digest, last.code
FROM submission JOIN wants ON wants.submission = submission.number JOIN job ON job.id = wants.job {_LAST_RUN}
WHERE submission.id = %(id)s AND job.state IN ({_BAD}) ORDER BY job.id
"""
_OF_JOB = f"""
SELECT job.app, job.key, job.state, true AS asked, last.digest, last.code FROM job {_LAST_RUN}
WHERE job.app = %(app)s AND job.key = %(key)s
"""


class Ran(Struct, frozen=True):
    """A job; ``digest`` of the definition and ``code`` of the worker that it ran by last, None for one that never did.

    ``asked`` for by name, or pushed; others were pulled, and run again with those that wait for them.
    """

    app: str
    key: str
    state: State
    asked: bool
    digest: str | None
    code: str | None

    @property
    def name(self) -> JobName:
        return JobName(self.app, self.key)


def of_job(tx: Tx, name: JobName) -> Ran | None:
    found = tx.structs(Ran, _OF_JOB, app=name.app, key=name.key)
    return found[0] if found else None


def of_submission(tx: Tx, id: str) -> list[Ran]:
    """What of it did not end well."""
    return tx.structs(Ran, _OF_SUBMISSION, id=id)
