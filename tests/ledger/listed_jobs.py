"""Jobs that exist only for a listing: inserted in their final state, and rolled back afterwards."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import msgspec
from msgspec import Struct

from sluice.jobs.states import State
from sluice.ledger.database.connection import Tx, arrays
from tests.world import World

DAY = datetime(2026, 1, 1, tzinfo=UTC)

_INSERT = """
INSERT INTO job (app, key, state, round, fails, unblocked, worker, priority, kwargs, created_at, changed_at)
SELECT app, key, state, round, round, true, CASE WHEN state = %(running)s THEN %(worker)s::uuid END, priority,
       kwargs::jsonb, created_at, changed_at
FROM unnest(%(app)s::text[], %(key)s::text[], %(state)s::text[], %(round)s::int[], %(priority)s::int[],
            %(kwargs)s::text[], %(created_at)s::timestamptz[], %(changed_at)s::timestamptz[])
     AS new (app, key, state, round, priority, kwargs, created_at, changed_at)
"""
# A search knows from the counts which apps have jobs in which states.
_COUNT = "INSERT INTO state_count (app, state, jobs, entered) SELECT app, state, count(*), 1 FROM job GROUP BY 1, 2"
_COLUMNS = ("app", "key", "state", "round", "priority", "kwargs", "created_at", "changed_at")


class There(Struct, frozen=True, kw_only=True):
    """Job with the values that its row in the ledger gets."""

    app: str = "task"
    key: str
    state: State = State.SUCCEEDED
    round: int = 0
    priority: int = 0
    kwargs: Mapping[str, Any] | None = None
    created_at: datetime = DAY
    changed_at: datetime = DAY


@contextmanager
def there(world: World, jobs: Iterable[There]) -> Iterator[Tx]:
    """Open a transaction in which these jobs exist, in this order. It is never committed."""
    rows = [
        tuple(
            _written(getattr(job, column)) if column == "kwargs" else getattr(job, column)
            for column in _COLUMNS
        )
        for job in jobs
    ]
    with world.ledger.begin() as tx, tx.connection.transaction(force_rollback=True):
        tx.write(_INSERT, **arrays(rows, *_COLUMNS), running=str(State.RUNNING), worker=uuid4())
        tx.write(_COUNT)
        yield tx


def _written(kwargs: Mapping[str, Any] | None) -> str | None:
    return None if kwargs is None else msgspec.json.encode(kwargs).decode()
