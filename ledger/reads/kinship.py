"""One job's relatives to any depth, for drawing."""

from msgspec import Struct

from jobs.ref import JobName
from ledger.connection import Tx
from ledger.planning import Known
from ledger.reads import dossier

#: A picture of more than this helps nobody.
JOBS_MAX = 2000

_KIN = """
WITH RECURSIVE up (id) AS (
    SELECT %(job)s::bigint UNION SELECT need.parent FROM up JOIN need ON need.child = up.id
), down (id) AS (
    SELECT %(job)s::bigint UNION SELECT need.child FROM down JOIN need ON need.parent = down.id
)
SELECT job.id, job.app, job.key, job.state FROM job
WHERE id IN (SELECT id FROM up UNION SELECT id FROM down) ORDER BY job.app, job.key LIMIT %(limit)s
"""
_NEEDS = """
SELECT DISTINCT parent, child FROM need WHERE parent = ANY(%(jobs)s) AND child = ANY(%(jobs)s)
"""


class Kinship(Struct, frozen=True):
    """``needs`` are pairs of parent and child."""

    jobs: list[Known]
    needs: list[tuple[JobName, JobName]]


def kinship(tx: Tx, name: JobName) -> Kinship | None:
    """None where the ledger has no such job."""
    job = dossier.job(tx, name)
    if job is None:
        return None
    jobs = tx.structs(Known, _KIN, job=job.id, limit=JOBS_MAX)
    names = {kin.id: kin.name for kin in jobs}
    pairs = tx.rows(_NEEDS, jobs=list(names))
    return Kinship(jobs, sorted((names[parent], names[child]) for parent, child in pairs))
