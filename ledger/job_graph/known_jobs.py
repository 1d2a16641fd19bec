"""Look-up of jobs by name, for walks and plans. Nothing is locked, so no write may rely on the result."""

from collections.abc import Collection, Iterable, Sequence

from sluice.jobs.model.dependency import Need, When
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import KnownJob
from sluice.jobs.states import State
from sluice.ledger.database.connection import Tx, arrays
from sluice.ledger.job_graph.dependencies import OUTLIVED

_NAMED = """
FROM job JOIN unnest(%(app)s::text[], %(key)s::text[]) AS named (app, key) USING (app, key)
"""
# Few jobs have needs that another job has added, and their index holds no others.
_ADDED = """
ARRAY(SELECT ARRAY[parent.app, parent.key, min(need.condition)] FROM need JOIN job parent ON parent.id = need.parent
      WHERE need.child = job.id AND need.added GROUP BY parent.id ORDER BY parent.id) AS added
"""
_FIND = f"SELECT job.id, job.app, job.key, job.state, job.paused, {_ADDED} {_NAMED}"
# Few walks depend on the age of inputs. The other walks use ``_FIND``, which reads neither times nor needs.
_LOOK = f"""
SELECT job.id, job.app, job.key, job.state, job.paused, {_ADDED}, job.changed_at, job.claim,
       CASE WHEN job.state = '{State.WAITING}' THEN ARRAY(
           SELECT ARRAY[parent.app, parent.key, need.stale_claim::text]
           FROM need JOIN job parent ON parent.id = need.parent
           WHERE need.child = job.id AND {OUTLIVED}) END
{_NAMED}
"""


def find(tx: Tx, names: Collection[JobName]) -> dict[JobName, KnownJob]:
    """Return these jobs as far as they are in the ledger."""
    if not names:
        return {}
    rows = tx.rows(_FIND, **arrays(list(names), "app", "key"))
    known = (
        KnownJob(id, app, key, State(state), added=_needs(added), is_paused=paused)
        for id, app, key, state, paused, added in rows
    )
    return _seen(tx, known)


def find_with_ages(tx: Tx, names: Collection[JobName]) -> dict[JobName, KnownJob]:
    """Return these jobs as far as they are in the ledger, with the data by which a walk judges the age of inputs. These
    are the time and claim of each job, and the outdated parents that a waiting job lacks."""
    if not names:
        return {}
    rows = tx.rows(_LOOK, **arrays(list(names), "app", "key"))
    known = (
        KnownJob(
            id, app, key, State(state), since, claim, _lacks(parents or ()), _needs(added), is_paused=paused
        )
        for id, app, key, state, paused, added, since, claim, parents in rows
    )
    return _seen(tx, known)


def _seen(tx: Tx, known: Iterable[KnownJob]) -> dict[JobName, KnownJob]:
    """Return the jobs by name. The transaction remembers them, to notice if one is removed before it is locked."""
    found = {job.name: job for job in known}
    tx.seen_jobs.update(found)
    return found


def _needs(added: Iterable[tuple[str, str, When]]) -> tuple[Need, ...]:
    return tuple(Need(JobName(app, key), when, added=True) for app, key, when in added)


def _lacks(parents: Iterable[Sequence[str]]) -> tuple[tuple[JobName, int], ...]:
    return tuple((JobName(app, key), int(claim)) for app, key, claim in parents)
