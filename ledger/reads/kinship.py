"""Upstream and downstream jobs of one job, to any depth, for drawing. The number of jobs is bounded, the nearest
first."""

from datetime import datetime

from msgspec import Struct

from sluice.jobs.gate import When
from sluice.jobs.ref import JobName
from sluice.jobs.states import State
from sluice.ledger.connection import Tx
from sluice.ledger.reads import dossier

#: Maximum number of jobs that are read upstream, and downstream. A larger picture helps no reader.
JOBS_MAX = 1000
#: Maximum number of needs between them.
NEEDS_MAX = 20_000

# A recursive query returns its rows level by level, and stops at the limit.
_ABOVE = """
WITH RECURSIVE up (id) AS (
    SELECT %(job)s::bigint UNION SELECT need.parent FROM up JOIN need ON need.child = up.id
)
SELECT id FROM up LIMIT %(limit)s
"""
_BELOW = """
WITH RECURSIVE down (id) AS (
    SELECT %(job)s::bigint UNION SELECT need.child FROM down JOIN need ON need.parent = down.id
)
SELECT id FROM down LIMIT %(limit)s
"""
_JOBS = "SELECT id, app, key, state, changed_at AS since FROM job WHERE id = ANY(%(jobs)s) ORDER BY app, key"
_NEEDS = """
SELECT need.parent, need.child, need.condition, CASE WHEN EXISTS (
    SELECT 1 FROM gate other WHERE other.child = gate.child AND other.gate <> gate.gate) THEN gate.name ELSE '' END
FROM need JOIN gate USING (child, gate)
WHERE need.child = ANY(%(jobs)s) AND need.parent = ANY(%(jobs)s) LIMIT %(limit)s
"""


class Kin(Struct, frozen=True):
    id: int
    app: str
    key: str
    state: State
    since: datetime

    @property
    def name(self) -> JobName:
        return JobName(self.app, self.key)


class Bond(Struct, frozen=True):
    """Need between two jobs. ``group`` is its alternative, if the child has more than one; otherwise it is empty."""

    parent: JobName
    child: JobName
    when: When
    group: str


class Kinship(Struct, frozen=True):
    """Graph around one job. ``cut_above`` and ``cut_below`` are the number of jobs read if there are more, otherwise
    0."""

    name: JobName
    now: datetime
    jobs: list[Kin]
    needs: list[Bond]
    cut_above: int
    cut_below: int


def kinship(tx: Tx, name: JobName) -> Kinship | None:
    """Return the graph around a job; None if the ledger does not contain it."""
    center = dossier.job(tx, name)
    if center is None:
        return None
    # The job itself is the first of both lists. One row more than allowed shows that jobs are left out.
    above = tx.column(_ABOVE, job=center.id, limit=JOBS_MAX + 2)
    below = tx.column(_BELOW, job=center.id, limit=JOBS_MAX + 2)
    drawn = {*above[: JOBS_MAX + 1], *below[: JOBS_MAX + 1]}
    jobs = tx.structs(Kin, _JOBS, jobs=sorted(drawn))
    names = {kin.id: kin.name for kin in jobs}
    rows = tx.rows(_NEEDS, jobs=list(names), limit=NEEDS_MAX)
    return Kinship(
        name=center.name,
        now=tx.instant(),
        jobs=jobs,
        needs=[Bond(names[parent], names[child], when, group) for parent, child, when, group in rows],
        cut_above=JOBS_MAX if len(above) > JOBS_MAX + 1 else 0,
        cut_below=JOBS_MAX if len(below) > JOBS_MAX + 1 else 0,
    )
