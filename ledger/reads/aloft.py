"""Sagas that are under way or could not be undone, the newest first, along the index ``job_flights``."""

from datetime import datetime

from msgspec import Struct

from sluice.jobs.sagas.entry import Direction, Mark
from sluice.jobs.states import State
from sluice.ledger.connection import Tx

_ALOFT = """
SELECT job.id, job.app, job.key, job.state, last.direction, last.step, last.steps, last.name, last.mark, job.event,
       job.changed_at AS since, job.not_before AS until, job.turn_back
FROM job LEFT JOIN LATERAL (
    SELECT direction, step, steps, name, mark FROM step
    WHERE step.job = job.id AND step.flight = job.flight ORDER BY seq DESC LIMIT 1) last ON true
WHERE job.flying AND job.id < %(before)s ORDER BY job.id DESC LIMIT %(limit)s
"""
_MAX = 2**63 - 1


class Saga(Struct, frozen=True, kw_only=True):
    """Saga in a list.

    ``step`` (of ``steps``), ``name``, ``direction`` and ``mark`` are from the last entry of its journal; None before
    the first entry. It waits for ``event``, at most ``until`` if that is set.
    """

    app: str
    key: str
    state: State
    direction: Direction | None
    step: int | None
    steps: int | None
    name: str | None
    mark: Mark | None
    event: str | None
    since: datetime
    until: datetime | None
    turn_back: str | None


class Aloft(Saga, frozen=True, kw_only=True):
    """Saga with the ``id`` of its job in the ledger."""

    id: int


def aloft(tx: Tx, *, before: int | None, limit: int) -> list[Aloft]:
    return tx.structs(Aloft, _ALOFT, before=_MAX if before is None else before, limit=limit)
