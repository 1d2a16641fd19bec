"""What the ledger holds of work by chunk, in the notation of ``chunk_notation``; and what it is made to remember."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sluice.jobs.states import State
from sluice.jobs.submission import SubmissionState
from sluice.jobs.work_ids import WorkId, ids_of
from sluice.ledger.connection import Tx
from tests.acceptance.chunk_notation import Chunk, Graph, Job, numbered
from tests.world import World

_JOBS = """
SELECT job.id, app, key, state, kwargs, work_ids, array_remove(array_agg(need.parent), NULL)
FROM job LEFT JOIN need ON need.child = job.id GROUP BY job.id ORDER BY job.id
"""
_FRESHNESS = "SELECT app, mark, work_id, at FROM freshness ORDER BY app, mark, work_id"
_MAKE_FRESH = "INSERT INTO freshness (app, mark, work_id, at) VALUES (%(app)s, '', %(work_id)s, %(at)s)"
_HAVE_RUN = f"""
INSERT INTO submission (id, app, state, request, push, received_at, planned_at, ended_at)
VALUES (%(id)s, %(app)s, '{SubmissionState.SUCCEEDED}', jsonb_build_object('app', %(app)s::text), true,
        %(at)s, %(at)s, %(at)s)
"""


class Recorded(NamedTuple):
    """A chunk as it stands in the ledger."""

    id: int
    key: str
    state: State
    kwargs: Mapping[str, Any]
    needs: tuple[int, ...]


def recorded(world: World) -> dict[Chunk, Recorded]:
    """All chunks, in the order in which they were made."""
    rows = world.ledger.transact(lambda tx: tx.rows(_JOBS))
    names = numbered((app, tuple(ids_of(parts))) for _, app, _, _, _, parts, _ in rows)
    return {
        name: Recorded(id, key, State(state), kwargs or {}, tuple(needs))
        for name, (id, _, key, state, kwargs, _, needs) in zip(names, rows, strict=True)
    }


def planned(world: World) -> Graph:
    """What there is as a plan. Whoever is needed was made before."""
    found = recorded(world)
    names = {job.id: name for name, job in found.items()}
    assert all(need < job.id for job in found.values() for need in job.needs)
    return {
        name: Job(frozenset(names[need] for need in job.needs), job.kwargs) for name, job in found.items()
    }


def remember(
    world: World, fresh: Mapping[str, Mapping[WorkId, timedelta]], runs: Mapping[str, timedelta]
) -> None:
    """Have it as if apps had succeeded so long ago on these IDs, and for whoever asked for them by name."""

    def work(tx: Tx) -> None:
        for app, ages in fresh.items():
            for work_id, age in ages.items():
                tx.write(_MAKE_FRESH, app=app, work_id=str(work_id), at=world.now - age)
        for app, age in runs.items():
            tx.write(_HAVE_RUN, id=f"the run of {app}", app=app, at=world.now - age)

    world.ledger.transact(work)


def freshness(world: World) -> dict[tuple[str, str, str], datetime]:
    """When it was that each app succeeded, by its mark and by work ID."""
    rows = world.ledger.transact(lambda tx: tx.rows(_FRESHNESS))
    return {(app, mark, work_id): at for app, mark, work_id, at in rows}
