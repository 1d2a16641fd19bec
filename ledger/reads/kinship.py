"""One job's relatives to any depth, for drawing."""

from msgspec import Struct

from jobs.ref import JobName
from jobs.states import State
from ledger.connection import Tx
from ledger.reads import dossier

#: A picture of more than this helps nobody.
JOBS_MAX = 2000

# The job itself comes first, so that it is among what is drawn whatever is left out.
_KIN = """
WITH RECURSIVE up (id) AS (
    SELECT %(job)s::bigint UNION SELECT need.parent FROM up JOIN need ON need.child = up.id
), down (id) AS (
    SELECT %(job)s::bigint UNION SELECT need.child FROM down JOIN need ON need.parent = down.id
)
SELECT job.id, job.app, job.key, job.state, count(*) OVER () AS total FROM job
WHERE id IN (SELECT id FROM up UNION SELECT id FROM down)
ORDER BY job.id <> %(job)s, job.app, job.key LIMIT %(limit)s
"""
_NEEDS = """
SELECT need.parent, need.child, min(gate.name) FILTER (WHERE other.child IS NOT NULL)
FROM need JOIN gate USING (child, gate)
LEFT JOIN gate other ON other.child = gate.child AND other.gate <> gate.gate
WHERE need.parent = ANY(%(jobs)s) AND need.child = ANY(%(jobs)s)
GROUP BY need.parent, need.child, need.gate
"""


class Kin(Struct, frozen=True):
    """``total`` is how many there are of them all."""

    id: int
    app: str
    key: str
    state: State
    total: int

    @property
    def name(self) -> JobName:
        return JobName(self.app, self.key)


class Bond(Struct, frozen=True):
    """``group`` is the alternative it belongs to, where the child has more than one."""

    parent: JobName
    child: JobName
    group: str


class Kinship(Struct, frozen=True):
    """``left_out`` is how many relatives there are beyond ``JOBS_MAX``."""

    jobs: list[Kin]
    needs: list[Bond]
    left_out: int


def kinship(tx: Tx, name: JobName) -> Kinship | None:
    """None where the ledger has no such job."""
    job = dossier.job(tx, name)
    if job is None:
        return None
    jobs = tx.structs(Kin, _KIN, job=job.id, limit=JOBS_MAX)
    names = {kin.id: kin.name for kin in jobs}
    rows = tx.rows(_NEEDS, jobs=list(names))
    bonds = [Bond(names[parent], names[child], group or "") for parent, child, group in rows]
    return Kinship(sorted(jobs, key=lambda kin: kin.name), bonds, jobs[0].total - len(jobs))
