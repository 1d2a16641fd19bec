"""Flights of sagas: those in progress, and each with its journal.

``flight`` returns how the last flight of a saga got to its present state, and the results of the earlier ones.
``open_sagas`` lists the sagas that are under way or could not be undone, the newest first, along the index
``job_open_or_late``.

The lists of entries and events are bounded, however long a flight is, because a step that runs repeatedly leaves an
entry each time.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from msgspec import Struct

from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import JSON
from sluice.jobs.sagas.journal import Await, Direction, EntryResult, Failure, JournalEntry
from sluice.jobs.states import LIVE, State, sql_list
from sluice.ledger.database.connection import Tx
from sluice.ledger.database.transitions import LONGEST_S
from sluice.ledger.sagas import journals

#: Maximum number of entries, and of events, that are read of the last flight, counted from the last.
LINES_MAX = 1000
#: Maximum number of earlier flights that are listed.
EARLIER_MAX = 20

_FAILURE = f"""
(SELECT began.failure FROM saga_journal began
 WHERE began.job = {{job}} AND began.flight = {{flight}} AND began.direction = '{Direction.SWITCH}'
 ORDER BY began.seq DESC LIMIT 1) AS failure
"""
_JOB = f"""
SELECT flight, saga_open, abort_reason, {journals.CRASHES} AS crashes,
    {_FAILURE.format(job="job.id", flight="job.flight")}
FROM job WHERE id = %(job)s
"""
_LINES = """
SELECT seq, at, claim, step, name, steps, direction, result, awaits, event, failure, note
FROM saga_journal WHERE job = %(job)s AND flight = %(flight)s ORDER BY seq DESC LIMIT %(limit)s
"""
_SAID = """
SELECT saga_signal.id, saga_signal.name, saga_signal.payload, saga_signal.by, saga_signal.at,
    saga_journal.step AS taken_by, saga_journal.seq AS taken_at
FROM saga_signal LEFT JOIN saga_journal ON saga_journal.event = saga_signal.id
WHERE saga_signal.job = %(job)s AND saga_signal.flight = %(flight)s ORDER BY saga_signal.id DESC LIMIT %(limit)s
"""
_METERS = """
SELECT name, done, total, at FROM saga_progress WHERE job = %(job)s AND flight = %(flight)s ORDER BY at, name
"""
_EARLIER = f"""
SELECT flight AS number, count(*) AS entries, min(at) AS began_at, max(at) AS ended_at,
       {_FAILURE.format(job="saga_journal.job", flight="saga_journal.flight")}
FROM saga_journal WHERE job = %(job)s AND flight < %(flight)s
GROUP BY job, flight ORDER BY flight DESC LIMIT %(limit)s
"""
_CALLED_OFF = """
SELECT count(*) FROM submission_job JOIN submission ON submission.number = submission_job.submission
    JOIN job ON job.id = submission_job.job
WHERE submission.id = %(submission)s AND job.saga_open AND job.abort_reason IS NOT NULL
"""
_ABORTING = f"""
SELECT id FROM job WHERE id = ANY(%(jobs)s) AND abort_reason IS NOT NULL AND state IN ({sql_list(*sorted(LIVE))})
"""
_IS_CALLED_OFF = f"""
SELECT 1 FROM job WHERE app = %(app)s AND key = %(key)s AND abort_reason IS NOT NULL
  AND state IN ({sql_list(*sorted(LIVE))})
"""


class JournalLine(Struct, frozen=True):
    """Entry of the journal, with its time and claim. The working map is read from the last entry alone
    (``FlightRecord.last``)."""

    seq: int
    at: datetime
    claim: int
    step: int
    name: str
    steps: int
    direction: Direction
    result: EntryResult
    awaits: Await | None
    event: int | None
    failure: Failure | None
    note: str | None


class SentEvent(Struct, frozen=True):
    """Event that was sent to the saga.

    ``taken_by`` is the step that waited for it, ``taken_at`` the number of the entry that records this. Both are None
    while the event is kept for a future wait.
    """

    id: int
    name: str | None
    payload: JSON
    by: str | None
    at: datetime
    taken_by: int | None
    taken_at: int | None


class StepProgress(Struct, frozen=True):
    name: str
    done: int
    total: int | None
    at: datetime


class EarlierFlight(Struct, frozen=True):
    """Earlier flight. ``failure`` is why it was undone, if it was."""

    number: int
    entries: int
    began_at: datetime
    ended_at: datetime
    failure: Failure | None


class FlightRecord(Struct, frozen=True, kw_only=True):
    """Present flight of a job, or its last one if the job has ended. ``saga_open``: it has begun and not ended.

    ``lines`` are in order. If there are too many, only the last are here, and the first of these shows by its number
    how many are missing. ``failure`` is why the flight is undone, if it is. ``crashes`` is the number of workers lost
    since its last entry. ``earlier`` flights are in order, the last first.
    """

    number: int
    saga_open: bool
    abort_reason: str | None
    crashes: int
    failure: Failure | None
    last: JournalEntry | None
    lines: list[JournalLine]
    events: list[SentEvent]
    meters: list[StepProgress]
    earlier: list[EarlierFlight]

    @property
    def working(self) -> Mapping[str, JSON]:
        return self.last.working if self.last else {}

    @property
    def steps(self) -> int | None:
        """Number of steps; None before the first is done."""
        return self.last.steps if self.last else None

    @property
    def undoing(self) -> bool:
        """True if the flight is being undone, or has been."""
        return self.last is not None and self.last.direction is not Direction.DO

    @property
    def wait(self) -> JournalLine | None:
        """Entry of the wait that the flight is in; None if it does not wait."""
        return self.lines[-1] if self.lines and self.lines[-1].result is EntryResult.AWAITS else None

    @property
    def until(self) -> datetime | None:
        """End of that wait; None if it does not wait, or waits without an end."""
        if self.wait is None or self.wait.awaits is None or self.wait.awaits.within_s is None:
            return None
        return self.wait.at + timedelta(seconds=min(self.wait.awaits.within_s, LONGEST_S))

    @property
    def untaken(self) -> list[SentEvent]:
        """Events that have not ended a wait."""
        return [each for each in self.events if each.taken_at is None]

    @property
    def failed_undo(self) -> JournalLine | None:
        """Entry of the failed undo that the flight stopped at; None if it did not."""
        return self.lines[-1] if self.lines and self.lines[-1].result is EntryResult.UNDO_FAILED else None

    @property
    def is_blank(self) -> bool:
        """True if the ledger has no trace of any flight."""
        return not (self.saga_open or self.lines or self.events or self.earlier)


class _Standing(Struct, frozen=True):
    flight: int
    saga_open: bool
    abort_reason: str | None
    crashes: int
    failure: Failure | None


def flight(tx: Tx, job: int) -> FlightRecord:
    """Return the last flight of a job. It is blank if the job is no saga, or a saga that has never been claimed."""
    standing = tx.structs(_Standing, _JOB, job=job)[0]
    named = {"job": job, "flight": standing.flight, "limit": LINES_MAX}
    return FlightRecord(
        number=standing.flight,
        saga_open=standing.saga_open,
        abort_reason=standing.abort_reason,
        crashes=standing.crashes,
        failure=standing.failure,
        last=journals.last(tx, job),
        lines=tx.structs(JournalLine, _LINES, **named)[::-1],
        events=tx.structs(SentEvent, _SAID, **named)[::-1],
        meters=tx.structs(StepProgress, _METERS, **named),
        earlier=tx.structs(EarlierFlight, _EARLIER, **named | {"limit": EARLIER_MAX}),
    )


def count_aborting(tx: Tx, submission: str) -> int:
    """Return how many jobs of a submission are sagas that are aborted and not undone yet."""
    (count,) = tx.column(_CALLED_OFF, submission=submission)
    return int(count)


def aborting(tx: Tx, jobs: list[int]) -> list[int]:
    """Return the jobs among these that are sagas which are aborted and not undone yet."""
    return tx.column(_ABORTING, jobs=jobs)


def is_aborting(tx: Tx, name: JobName) -> bool:
    """Return whether the job is a saga that is aborted and not undone yet."""
    return bool(tx.rows(_IS_CALLED_OFF, app=name.app, key=name.key))


_ALOFT = """
SELECT job.id, job.app, job.key, job.state, last.direction, last.step, last.steps, last.name, last.result, job.event,
       job.changed_at AS since, job.not_before AS until, job.abort_reason
FROM job LEFT JOIN LATERAL (
    SELECT direction, step, steps, name, result FROM saga_journal
    WHERE saga_journal.job = job.id AND saga_journal.flight = job.flight ORDER BY seq DESC LIMIT 1) last ON true
WHERE job.saga_open AND job.id < %(before)s ORDER BY job.id DESC LIMIT %(limit)s
"""
_MAX = 2**63 - 1


class SagaLine(Struct, frozen=True, kw_only=True):
    """Saga in a list.

    ``step`` (of ``steps``), ``name``, ``direction`` and ``result`` are from the last entry of its journal; None before
    the first entry. It waits for ``event``, at most ``until`` if that is set.
    """

    app: str
    key: str
    state: State
    direction: Direction | None
    step: int | None
    steps: int | None
    name: str | None
    result: EntryResult | None
    event: str | None
    since: datetime
    until: datetime | None
    abort_reason: str | None


class OpenSagas(SagaLine, frozen=True, kw_only=True):
    """Saga with the ``id`` of its job in the ledger."""

    id: int


def open_sagas(tx: Tx, *, before: int | None, limit: int) -> list[OpenSagas]:
    return tx.structs(OpenSagas, _ALOFT, before=_MAX if before is None else before, limit=limit)
