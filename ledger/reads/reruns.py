"""Jobs that can be run again, and the code of their last runs."""

from msgspec import Struct

from sluice.jobs.ref import JobName
from sluice.jobs.states import UNSUCCESSFUL, State, sql_list
from sluice.ledger.connection import Tx

_UNSUCCESSFUL = sql_list(*sorted(UNSUCCESSFUL))

_LAST_RUN = """
LEFT JOIN LATERAL (
    SELECT round.digest, worker.code FROM round LEFT JOIN worker ON worker.id = round.worker
    WHERE round.job = job.id ORDER BY round.claim DESC LIMIT 1) last ON true
"""
_OF_SUBMISSION = f"""
SELECT job.app, job.key, job.state, last.digest, last.code,
       job.place IS NOT NULL AS is_step, job.pruned_at IS NOT NULL AND last.digest IS NULL AS is_pruned
FROM submission JOIN wants ON wants.submission = submission.number JOIN job ON job.id = wants.job {_LAST_RUN}
WHERE submission.id = %(id)s AND job.state IN ({_UNSUCCESSFUL}) ORDER BY job.id
"""
_OF_JOB = f"""
SELECT job.app, job.key, job.state, last.digest, last.code, job.place IS NOT NULL AS is_step,
       job.pruned_at IS NOT NULL AND last.digest IS NULL AS is_pruned
FROM job {_LAST_RUN}
WHERE job.app = %(app)s AND job.key = %(key)s
"""


class Ran(Struct, frozen=True):
    """Job with its last run. ``digest`` is of the definition that it ran by and ``code`` is the version of the worker's
    code; None if it never ran.

    ``is_step``: it makes partitions. ``is_pruned``: its history was removed, so the definition of its last run is
    unknown.
    """

    app: str
    key: str
    state: State
    digest: str | None
    code: str | None
    is_step: bool
    is_pruned: bool = False

    @property
    def name(self) -> JobName:
        return JobName(self.app, self.key)


def of_job(tx: Tx, name: JobName) -> Ran | None:
    found = tx.structs(Ran, _OF_JOB, app=name.app, key=name.key)
    return found[0] if found else None


def of_submission(tx: Tx, id: str) -> list[Ran]:
    """Return the unsuccessful jobs of a submission."""
    return tx.structs(Ran, _OF_SUBMISSION, id=id)
