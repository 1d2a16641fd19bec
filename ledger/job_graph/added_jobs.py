"""Jobs that a job has added (``job.expand``), and the jobs that have added a job.

A dependency that was added leads from the expanding job to each job that it has added, and from each of these to the
job that follows them. See ``ledger.job_graph.expansions``.
"""

from collections import defaultdict
from collections.abc import Mapping

from msgspec import Struct

from sluice.jobs.states import State
from sluice.ledger.database.connection import Tx

#: Maximum number of jobs that are named: those that follow others, and those that have added a job.
NAMED_MAX = 20

# A job that follows has an added need of another job that was added. Other jobs have one of the expanding job alone.
_ADDED = f"""
WITH added AS MATERIALIZED (
    SELECT need.child, EXISTS (
        SELECT 1 FROM need other JOIN need own ON own.child = other.parent AND own.parent = need.parent AND own.added
        WHERE other.child = need.child AND other.added) AS follows
    FROM (SELECT DISTINCT parent, child FROM need WHERE parent = %(job)s AND added) need
)
SELECT job.app, job.state, added.follows, count(*),
       (array_agg(job.key ORDER BY job.key) FILTER (WHERE added.follows))[1:{NAMED_MAX}]
FROM added JOIN job ON job.id = added.child GROUP BY 1, 2, 3 ORDER BY 1, 2
"""
# A job that follows others was added by the job that has added these. Chunks have added no job: a plan determines which
# chunks a job needs.
_ADDED_BY = """
SELECT DISTINCT job.app, job.key, job.state FROM need JOIN job ON job.id = need.parent
WHERE need.child = %(job)s AND need.added AND job.work_ids IS NULL AND NOT EXISTS (
    SELECT 1 FROM need other JOIN need own ON own.parent = other.parent AND own.child = %(job)s AND own.added
    WHERE other.child = need.parent AND other.added)
ORDER BY job.app, job.key LIMIT %(limit)s
"""
# Of each app, the newest jobs that have succeeded. The index on app, state and id has them.
_PAIRS = f"""
SELECT DISTINCT given.app, child.app
FROM unnest(%(apps)s::text[]) AS given (app)
     CROSS JOIN LATERAL (
         SELECT id FROM (
             SELECT id, expansion FROM job WHERE job.app = given.app AND job.state = '{State.SUCCEEDED}'
             ORDER BY job.id + 0 DESC LIMIT %(jobs)s) newest
         WHERE expansion IS NOT NULL LIMIT %(adding)s) adding
     CROSS JOIN LATERAL (SELECT child FROM need WHERE need.parent = adding.id AND need.added LIMIT %(added)s) need
     JOIN job child ON child.id = need.child
ORDER BY 1, 2
"""
#: Jobs of each app that are searched for jobs that have added others, how many of these are read, and how many of the
#: jobs that each of these has added.
_SEARCHED, _ADDING, _ADDED_OF_EACH = 200, 10, 1000


class AddedGroup(Struct, frozen=True):
    """Jobs of one app that a job has added, counted by state."""

    app: str
    states: Mapping[State, int]


class NamedJob(Struct, frozen=True):
    """Job with its state."""

    app: str
    key: str
    state: State


class AddedJobs(Struct, frozen=True):
    """Jobs that a job has added: ``groups`` by app, and the jobs ``then`` that follow them. ``is_planned`` is False
    between the success of the job and the plan of the jobs that it adds."""

    groups: list[AddedGroup]
    then: list[NamedJob]
    is_planned: bool


def added_jobs(tx: Tx, job: int, expansion: str | None) -> AddedJobs | None:
    """Return the jobs that a job has added. ``expansion`` is its column: a job without it has never added any."""
    if expansion is None:
        return None
    states: dict[str, dict[State, int]] = defaultdict(dict)
    then: list[NamedJob] = []
    for app, state, follows, count, keys in tx.rows(_ADDED, job=job):
        if follows:
            then += [NamedJob(app, key, State(state)) for key in keys]
        else:
            states[app][State(state)] = count
    return AddedJobs([AddedGroup(app, found) for app, found in states.items()], then, expansion == "entered")


def added_by(tx: Tx, job: int) -> list[NamedJob]:
    """Return the jobs that have added a job."""
    return tx.structs(NamedJob, _ADDED_BY, job=job, limit=NAMED_MAX)


def adding_apps(tx: Tx, apps: list[str]) -> list[tuple[str, str]]:
    """Return the pairs of an app and an app of which it has added jobs lately."""
    rows = tx.rows(_PAIRS, apps=apps, jobs=_SEARCHED, adding=_ADDING, added=_ADDED_OF_EACH)
    return [(str(adding), str(added)) for adding, added in rows]
