"""Jobs by what they have in common."""

from datetime import datetime

from msgspec import Struct

from jobs.partition_key import ends_of
from jobs.states import State
from ledger.collecting import UNCOLLECTED
from ledger.connection import Tx

# A parameter that is null leaves its matter open; the planner drops the condition then.
_JOBS = f"""
SELECT app, key, state, round, priority, changed_at, not_before, paused AND state = '{State.WAITING}' AS paused, place,
       {UNCOLLECTED} AS uncollected, archived_at
FROM job
WHERE (%(app)s::text IS NULL OR app = %(app)s)
  AND (%(states)s::text[] IS NULL OR state = ANY(%(states)s))
  AND (%(since)s::timestamptz IS NULL OR changed_at >= %(since)s)
  AND (%(submission)s::text IS NULL OR id IN (
      SELECT wants.job FROM wants JOIN submission ON submission.number = wants.submission
      WHERE submission.id = %(submission)s))
  AND (NOT %(uncollected)s OR {UNCOLLECTED})
ORDER BY changed_at DESC, id DESC LIMIT %(limit)s
"""


class Listed(Struct, frozen=True, kw_only=True):
    """One line of a listing."""

    app: str
    key: str
    state: State
    round: int
    priority: int
    changed_at: datetime
    not_before: datetime | None
    paused: bool
    place: str | None
    uncollected: bool
    archived_at: datetime | None

    @property
    def span(self) -> tuple[str, str] | None:
        """Of a step, the first and the last of its partitions."""
        return ends_of(self.key) if self.place is not None else None


class Filter(Struct, frozen=True, kw_only=True):
    """Which jobs to list; None, or no states, leaves a matter open."""

    app: str | None = None
    states: tuple[State, ...] = ()
    submission: str | None = None
    since: datetime | None = None
    uncollected: bool = False
    limit: int = 100


def jobs(tx: Tx, wanted: Filter) -> list[Listed]:
    """The last changed first."""
    return tx.structs(
        Listed,
        _JOBS,
        app=wanted.app,
        states=[str(state) for state in wanted.states] or None,
        submission=wanted.submission,
        since=wanted.since,
        uncollected=wanted.uncollected,
        limit=wanted.limit,
    )
