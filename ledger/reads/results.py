"""Results of jobs: the values that their functions returned.

A result is stored in the row of the round of the claim that succeeded. So a rerun replaces it, and retention removes it
with the round. The row of a job, which every transition writes, stays small.
"""

from msgspec import Struct

from sluice.jobs.model.names import JobName
from sluice.jobs.states import State
from sluice.ledger.database.connection import Tx
from sluice.ledger.database.transitions import NOW

# Only a success has a result, although a run that was judged otherwise may have returned a value.
_COLUMNS = f"""
job.app, job.key, job.state, round.result, round.result_blob,
round.job IS NULL AND job.pruned_at IS NOT NULL AS is_removed, coalesce(round.result_pending, false) AS is_pending,
EXISTS (SELECT 1 FROM worker WHERE worker.id = round.worker AND worker.left_at IS NULL AND worker.lease_until > {NOW})
    AS has_worker
"""
_FROM = f"""
FROM job LEFT JOIN round ON round.job = job.id AND round.claim = job.claim AND job.state = '{State.SUCCEEDED}'
"""
_RESULT = f"SELECT {_COLUMNS} {_FROM} WHERE job.app = %(app)s AND job.key = %(key)s"
_NEEDED = f"""
SELECT {_COLUMNS} {_FROM}
WHERE job.id IN (SELECT parent FROM need WHERE child = %(job)s AND met) AND job.app = %(app)s
ORDER BY job.key
"""


class StoredResult(Struct, frozen=True):
    """Result of a job as JSON, or the name of the blob with it. Both are None if the job has no result.

    ``is_removed``: retention has removed it. ``is_pending``: the run committed its success, and its function has not
    returned. If such a run ``has_worker``, it may still return; otherwise its result is lost.
    """

    app: str
    key: str
    state: State
    result: str | None
    result_blob: str | None
    is_removed: bool
    is_pending: bool
    has_worker: bool

    @property
    def name(self) -> JobName:
        return JobName(self.app, self.key)

    @property
    def missing(self) -> str | None:
        """Reason why the job has no result. None if it has one, or has returned None."""
        if self.state is not State.SUCCEEDED:
            return f"it is {self.state}"
        if self.is_removed:
            return "its history was removed because of its age"
        return self.pending

    @property
    def pending(self) -> str | None:
        """Reason why the job has succeeded in a transaction of its run and has no result. None if it has not."""
        if not self.is_pending:
            return None
        if self.has_worker:
            return "it committed its success, and its function has not returned yet"
        return "its worker died between the commit of its success and the end of its function"


def result(tx: Tx, name: JobName) -> StoredResult | None:
    """Return the result of a job, or None if the ledger does not have the job."""
    found = tx.structs(StoredResult, _RESULT, app=name.app, key=name.key)
    return found[0] if found else None


def results_of_needed(tx: Tx, job: int, app: str) -> list[StoredResult]:
    """Return the results of all jobs of an app that the dependencies of this job are met by."""
    return tx.structs(StoredResult, _NEEDED, job=job, app=app)
