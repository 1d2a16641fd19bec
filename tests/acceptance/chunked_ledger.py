"""Rows of the ledger about work by chunk, in the notation of ``chunk_notation``, and insertion of past successes."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sluice.jobs.keys.work_ids import WorkId, ids_of
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from sluice.ledger.database.connection import Tx
from tests.acceptance.chunk_notation import Chunk, Graph, Job, numbered
from tests.world import World

_JOBS = """
SELECT job.id, app, key, state, kwargs, work_ids, array_remove(array_agg(need.parent), NULL)
FROM job LEFT JOIN need ON need.child = job.id GROUP BY job.id ORDER BY job.id
"""
_FRESHNESS = "SELECT app, freshness_scope, work_id, at FROM freshness ORDER BY app, freshness_scope, work_id"
_MAKE_FRESH = (
    "INSERT INTO freshness (app, freshness_scope, work_id, at) VALUES (%(app)s, '', %(work_id)s, %(at)s)"
)
_HAVE_RUN = f"""
INSERT INTO submission (id, app, state, request, push, received_at, planned_at, ended_at)
VALUES (%(id)s, %(app)s, '{SubmissionState.SUCCEEDED}', jsonb_build_object('app', %(app)s::text), true,
        %(at)s, %(at)s, %(at)s)
"""


class Recorded(NamedTuple):
    """Row of a chunk in the ledger."""

    id: int
    key: str
    state: State
    kwargs: Mapping[str, Any]
    needs: tuple[int, ...]


def recorded(world: World) -> dict[Chunk, Recorded]:
    """Return all chunks in the order in which they were inserted."""
    rows = world.ledger.transact(lambda tx: tx.rows(_JOBS))
    names = numbered((app, tuple(ids_of(parts))) for _, app, _, _, _, parts, _ in rows)
    return {
        name: Recorded(id, key, State(state), kwargs or {}, tuple(needs))
        for name, (id, _, key, state, kwargs, _, needs) in zip(names, rows, strict=True)
    }


def planned(world: World) -> Graph:
    """Return the jobs of the ledger as a plan. Each job was inserted after the jobs that it needs."""
    found = recorded(world)
    names = {job.id: name for name, job in found.items()}
    assert all(need < job.id for job in found.values() for need in job.needs)
    return {
        name: Job(frozenset(names[need] for need in job.needs), job.kwargs) for name, job in found.items()
    }


def remember(
    world: World, fresh: Mapping[str, Mapping[WorkId, timedelta]], runs: Mapping[str, timedelta]
) -> None:
    """Insert successes with these ages: of apps on work IDs, and of submissions that named the app."""

    def work(tx: Tx) -> None:
        for app, ages in fresh.items():
            for work_id, age in ages.items():
                tx.write(_MAKE_FRESH, app=app, work_id=str(work_id), at=world.now - age)
        for app, age in runs.items():
            tx.write(_HAVE_RUN, id=f"the run of {app}", app=app, at=world.now - age)

    world.ledger.transact(work)


def freshness(world: World) -> dict[tuple[str, str, str], datetime]:
    """Return the time of the last success, by app, freshness freshness_scope and work ID."""
    rows = world.ledger.transact(lambda tx: tx.rows(_FRESHNESS))
    return {(app, freshness_scope, work_id): at for app, freshness_scope, work_id, at in rows}
