"""Schedules: the position of each schedule, and the outcome of each due time.

A due time of a schedule is one row of ``firing``; the first transaction to insert it wins. The same transaction creates
its submission, with an id derived from schedule and due time, and advances ``next_due``. So a due time has at most one
submission, whatever leads, runs twice or crashes. A due time without an outcome is still found, as the ``next_due`` of
its schedule.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.schedules.schedule import Firing, FiringOutcome, OpenRuns, StoredSchedule
from sluice.ledger.database.connection import Tx, arrays
from sluice.ledger.database.transitions import NOW

_COLUMNS = """
id, app, source, digest, rule, timezone, next_due, fire_at, paused_at, resumed_at, retired_at
"""
_KNOWN = "unnest(%(ids)s::text[], %(sources)s::text[], %(digests)s::text[]) AS known (id, source, digest)"
# Each half has its own partial index, which a single condition for both states would not use.
_OPEN = f"""
(SELECT id, app FROM submission WHERE state = '{SubmissionState.RECEIVED}'
 UNION ALL SELECT id, app FROM submission WHERE state = '{SubmissionState.ACTIVE}') AS opened
"""

# A schedule from a source that this process does not load is handled by other processes.
_GONE = """
SELECT id FROM schedule
WHERE retired_at IS NULL AND source = ANY(%(loaded)s::text[]) AND id <> ALL(%(ids)s::text[])
"""
_STIRRING = f"""
SELECT known.id FROM {_KNOWN} LEFT JOIN schedule USING (id)
WHERE schedule.id IS NULL OR retired_at IS NOT NULL OR fire_at <= {NOW}
   OR schedule.source <> known.source OR schedule.digest <> known.digest
UNION
SELECT firing.schedule FROM firing JOIN schedule ON schedule.id = firing.schedule
WHERE firing.outcome = '{FiringOutcome.QUEUED}' AND firing.schedule = ANY(%(ids)s::text[]) AND paused_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM firing earlier JOIN {_OPEN} ON opened.id = earlier.submission
                  WHERE earlier.schedule = firing.schedule)
"""
_LOOK = f"""
SELECT id, false FROM ({_GONE}) gone
UNION ALL (SELECT id, true FROM ({_STIRRING}) stirring ORDER BY id LIMIT %(limit)s)
"""
#: Query for whether any schedule is due. Sources that this process does not load are included.
ANY_DUE = f"""
SELECT EXISTS (SELECT 1 FROM schedule WHERE fire_at <= {NOW} AND retired_at IS NULL)
    OR EXISTS (SELECT 1 FROM firing WHERE outcome = '{FiringOutcome.QUEUED}')
"""

_RETIRE = f"UPDATE schedule SET retired_at = {NOW} WHERE id IN ({_GONE})"
_HOLD = f"""
SELECT {_COLUMNS} FROM schedule WHERE id = ANY(%(ids)s::text[]) OR app = ANY(%(apps)s::text[])
ORDER BY id FOR UPDATE
"""
# Open submissions may be very numerous, so they are not read for schedules that ignore them.
_BUSY = f"""
WITH opened AS MATERIALIZED (
    SELECT id, app FROM {_OPEN} WHERE true = ANY(%(cares)s::bool[])
), own AS (
    SELECT firing.schedule, array_agg(opened.id ORDER BY firing.number) AS submissions
    FROM opened JOIN firing ON firing.submission = opened.id
    WHERE firing.schedule = ANY(%(ids)s::text[]) GROUP BY firing.schedule
), waiting AS (
    SELECT schedule, array_agg(due ORDER BY due) AS due FROM firing
    WHERE outcome = '{FiringOutcome.QUEUED}' AND schedule = ANY(%(ids)s::text[]) GROUP BY schedule
)
SELECT asked.id, own.submissions, asked.app IN (SELECT app FROM opened), waiting.due
FROM unnest(%(ids)s::text[], %(apps)s::text[]) AS asked (id, app)
LEFT JOIN own ON own.schedule = asked.id LEFT JOIN waiting ON waiting.schedule = asked.id
"""
_GIVEN = """
unnest(%(ids)s::text[], %(apps)s::text[], %(sources)s::text[], %(digests)s::text[], %(rules)s::text[],
       %(timezones)s::text[], %(due)s::timestamptz[], %(fire_at)s::timestamptz[], %(was)s::timestamptz[])
AS given (id, app, source, digest, rule, timezone, next_due, fire_at, was)
"""
_ENTER = f"""
INSERT INTO schedule (id, app, source, digest, rule, timezone, next_due, fire_at, created_at, changed_at)
SELECT id, app, source, digest, rule, timezone, next_due, fire_at, {NOW}, {NOW} FROM {_GIVEN} ORDER BY id
ON CONFLICT (id) DO NOTHING
"""
# If ``next_due`` differs from the value that was read, another transaction has handled the due time already.
_MOVE = f"""
UPDATE schedule SET app = given.app, source = given.source, rule = given.rule, timezone = given.timezone,
    changed_at = CASE WHEN schedule.digest = given.digest THEN changed_at ELSE {NOW} END, digest = given.digest,
    next_due = given.next_due, fire_at = given.fire_at, retired_at = NULL
FROM {_GIVEN} WHERE schedule.id = given.id AND schedule.next_due IS NOT DISTINCT FROM given.was
"""
_RECORD = f"""
INSERT INTO firing AS known (schedule, due, outcome, submission, note, at)
SELECT schedule, due, outcome, submission, note, {NOW}
FROM unnest(%(schedules)s::text[], %(due)s::timestamptz[], %(outcomes)s::text[], %(submissions)s::text[],
            %(notes)s::text[]) AS given (schedule, due, outcome, submission, note)
ORDER BY schedule, due
ON CONFLICT (schedule, due) DO UPDATE
SET outcome = excluded.outcome, submission = excluded.submission, note = excluded.note, at = excluded.at
WHERE {{guard}}
RETURNING submission
"""
# A queued due time is fired at most once. Any other outcome of a due time changes only by hand.
_RECORD_ALONE = _RECORD.format(
    guard=f"known.outcome = '{FiringOutcome.QUEUED}' AND excluded.outcome <> '{FiringOutcome.QUEUED}'"
)
_RECORD_BY_HAND = _RECORD.format(guard=f"known.outcome <> '{FiringOutcome.FIRED}'")

# A schedule that is already paused keeps the time of its pause.
_PAUSE = f"""
UPDATE schedule SET paused_at = {NOW} WHERE id = ANY(%(ids)s::text[]) AND paused_at IS NULL RETURNING id
"""
_RESUME = f"""
UPDATE schedule SET paused_at = NULL, resumed_at = {NOW}
WHERE id = ANY(%(ids)s::text[]) AND paused_at IS NOT NULL RETURNING id
"""


class DefinedSchedule(NamedTuple):
    """A schedule as this process has it defined."""

    id: str
    source: str
    digest: str


class OverlapQuery(NamedTuple):
    """A schedule, its app, and whether open submissions matter to it."""

    id: str
    app: str
    cares: bool


class ScheduleChanges(NamedTuple):
    """Schedules that need work. ``gone`` have left their source. ``stirring`` have a due time or a queued one, or a
    definition that differs from the ledger's."""

    gone: list[str]
    stirring: list[str]


def find_due(
    tx: Tx, *, known: Sequence[DefinedSchedule], loaded: Sequence[str], limit: int
) -> ScheduleChanges:
    """Return the schedules that need work, by one statement. ``loaded`` are the sources that this process loads."""
    rows = tx.rows(_LOOK, loaded=list(loaded), limit=limit, **arrays(known, "ids", "sources", "digests"))
    return ScheduleChanges([id_ for id_, stirs in rows if not stirs], [id_ for id_, stirs in rows if stirs])


def any_due(tx: Tx) -> bool:
    """Return whether any schedule is due or has a queued due time. Sources that this process does not load are
    included."""
    return bool(tx.column(ANY_DUE)[0])


def retire(tx: Tx, *, known: Sequence[DefinedSchedule], loaded: Sequence[str]) -> None:
    """Retire the schedules that have left their source. They fire no more, and remain for inspection."""
    tx.write(_RETIRE, ids=[each.id for each in known], loaded=list(loaded))


def lock(tx: Tx, ids: Sequence[str], apps: Sequence[str] = ()) -> dict[str, StoredSchedule]:
    """Lock and return these schedules and all schedules of these apps."""
    return {each.id: each for each in tx.structs(StoredSchedule, _HOLD, ids=list(ids), apps=list(apps))}


def open_work(tx: Tx, asked: Sequence[OverlapQuery]) -> dict[str, OpenRuns]:
    """Return the open work of each of these schedules. Open submissions are only read if any of the schedules cares."""
    rows = tx.rows(_BUSY, **arrays(asked, "ids", "apps", "cares"))
    return {
        id_: OpenRuns(own=tuple(own or ()), app=app, waiting=tuple(waiting or ()))
        for id_, own, app, waiting in rows
    }


def move(tx: Tx, standings: Sequence[StoredSchedule], before: Mapping[str, StoredSchedule]) -> None:
    """Store the new positions. ``before`` has the locked schedules; the others are new."""
    new = [(*_row(each), None) for each in standings if each.id not in before]
    moved = [each for each in standings if each != before.get(each.id, each)]
    old = [(*_row(each), before[each.id].next_due) for each in moved]
    for statement, rows in ((_ENTER, new), (_MOVE, old)):
        if rows:
            tx.write(statement, **arrays(rows, *_ROW, "was"))


def record(tx: Tx, firings: Sequence[Firing], *, by_hand: bool = False) -> set[str]:
    """Record outcomes of due times, each at most once. Return the ids of the submissions that the caller must
    create."""
    if not firings:
        return set()
    rows = [
        (each.schedule, each.due, str(each.outcome), each.submission and each.submission.id, each.note)
        for each in firings
    ]
    written = tx.column(
        _RECORD_BY_HAND if by_hand else _RECORD_ALONE,
        **arrays(rows, "schedules", "due", "outcomes", "submissions", "notes"),
    )
    return {id_ for id_ in written if id_ is not None}


def pause(tx: Tx, ids: Sequence[str]) -> list[str]:
    """Pause these schedules: from now on their due times are passed over. Return the schedules that were not paused
    before."""
    return tx.column(_PAUSE, ids=list(ids))


def resume(tx: Tx, ids: Sequence[str]) -> list[str]:
    """Resume these schedules with the due times after now. Return the schedules that were paused."""
    return tx.column(_RESUME, ids=list(ids))


_ROW = ("ids", "apps", "sources", "digests", "rules", "timezones", "due", "fire_at")


def _row(each: StoredSchedule) -> tuple[str | datetime | None, ...]:
    return (
        each.id,
        each.app,
        each.source,
        each.digest,
        each.rule,
        each.timezone,
        each.next_due,
        each.fire_at,
    )
