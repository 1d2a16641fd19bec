"""What the ledger knows of a saga's flights: how the last one got where it is, and what became of those before.

However long a flight is, what is read of it is bounded: a step that runs again and again leaves an entry each time.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from msgspec import Struct

from sluice.jobs.ref import JobName
from sluice.jobs.sagas.entry import Await, Direction, Entry, Failure, Mark
from sluice.jobs.states import LIVE, sql_list
from sluice.jobs.submission import JSON
from sluice.ledger import journal
from sluice.ledger.connection import Tx
from sluice.ledger.sql import LONGEST_S

#: So many entries of the last flight are read, and so many of its events, the last of each.
LINES_MAX = 1000
#: Of the flights before it, so many are told.
EARLIER_MAX = 20

_FAILURE = f"""
(SELECT began.failure FROM step began
 WHERE began.job = {{job}} AND began.flight = {{flight}} AND began.direction = '{Direction.SWITCH}'
 ORDER BY began.seq DESC LIMIT 1) AS failure
"""
_JOB = f"""
SELECT flight, flying, turn_back, {journal.CRASHES} AS crashes, {_FAILURE.format(job="job.id", flight="job.flight")}
FROM job WHERE id = %(job)s
"""
_LINES = """
SELECT seq, at, claim, step, name, steps, direction, mark, awaits, event, failure, note
FROM step WHERE job = %(job)s AND flight = %(flight)s ORDER BY seq DESC LIMIT %(limit)s
"""
_SAID = """
SELECT event.id, event.name, event.payload, event.by, event.at, step.step AS taken_by, step.seq AS taken_at
FROM event LEFT JOIN step ON step.event = event.id
WHERE event.job = %(job)s AND event.flight = %(flight)s ORDER BY event.id DESC LIMIT %(limit)s
"""
_METERS = """
SELECT name, done, total, at FROM meter WHERE job = %(job)s AND flight = %(flight)s ORDER BY at, name
"""
_EARLIER = f"""
SELECT flight AS number, count(*) AS entries, min(at) AS began_at, max(at) AS ended_at,
       {_FAILURE.format(job="step.job", flight="step.flight")}
FROM step WHERE job = %(job)s AND flight < %(flight)s
GROUP BY job, flight ORDER BY flight DESC LIMIT %(limit)s
"""
_CALLED_OFF = """
SELECT count(*) FROM wants JOIN submission ON submission.number = wants.submission JOIN job ON job.id = wants.job
WHERE submission.id = %(submission)s AND job.flying AND job.turn_back IS NOT NULL
"""
_IS_CALLED_OFF = f"""
SELECT 1 FROM job WHERE app = %(app)s AND key = %(key)s AND turn_back IS NOT NULL
  AND state IN ({sql_list(*sorted(LIVE))})
"""


class Line(Struct, frozen=True):
    """An entry of the journal, when it was written and under which claim. What it says of the working map is read of
    the last one alone."""

    seq: int
    at: datetime
    claim: int
    step: int
    name: str
    steps: int
    direction: Direction
    mark: Mark
    awaits: Await | None
    event: int | None
    failure: Failure | None
    note: str | None


class Said(Struct, frozen=True):
    """An event, and the step whose wait it has ended, by the number of the entry that says so; neither where it is
    kept for a wait to come."""

    id: int
    name: str | None
    payload: JSON
    by: str | None
    at: datetime
    taken_by: int | None
    taken_at: int | None


class Meter(Struct, frozen=True):
    name: str
    done: int
    total: int | None
    at: datetime


class Earlier(Struct, frozen=True):
    """A flight before that, and why it was undone, if it was."""

    number: int
    entries: int
    began_at: datetime
    ended_at: datetime
    failure: Failure | None


class Flight(Struct, frozen=True, kw_only=True):
    """The flight that the job is at, or was at when it ended; ``flying`` is whether it has begun and not ended.
    ``lines`` are in their order, the last ones where there are too many, of which the first says how many are not here.
    ``failure`` is why it is undone, if it is. ``crashes`` counts the workers that it has lost since its last entry.
    ``earlier`` are the last first.
    """

    number: int
    flying: bool
    turn_back: str | None
    crashes: int
    failure: Failure | None
    last: Entry | None
    lines: list[Line]
    events: list[Said]
    meters: list[Meter]
    earlier: list[Earlier]

    @property
    def working(self) -> Mapping[str, JSON]:
        return self.last.working if self.last else {}

    @property
    def steps(self) -> int | None:
        """How many there are; None before the first is done."""
        return self.last.steps if self.last else None

    @property
    def undoing(self) -> bool:
        """Whether it has turned back."""
        return self.last is not None and self.last.direction is not Direction.DO

    @property
    def wait(self) -> Line | None:
        """What it waits for, if that is where it stands."""
        return self.lines[-1] if self.lines and self.lines[-1].mark is Mark.AWAITS else None

    @property
    def until(self) -> datetime | None:
        """How long it waits, if it does and there is an end to that."""
        if self.wait is None or self.wait.awaits is None or self.wait.awaits.within_s is None:
            return None
        return self.wait.at + timedelta(seconds=min(self.wait.awaits.within_s, LONGEST_S))

    @property
    def untaken(self) -> list[Said]:
        """What was said to it that no wait has been ended by."""
        return [each for each in self.events if each.taken_at is None]

    @property
    def dismal(self) -> Line | None:
        """The undo that has failed, if that is where it stands."""
        return self.lines[-1] if self.lines and self.lines[-1].mark is Mark.DISMAL else None

    @property
    def is_blank(self) -> bool:
        """Whether nothing says that there ever was a flight."""
        return not (self.flying or self.lines or self.events or self.earlier)


class _Standing(Struct, frozen=True):
    flight: int
    flying: bool
    turn_back: str | None
    crashes: int
    failure: Failure | None


def flight(tx: Tx, job: int) -> Flight:
    """The last flight of a job, whatever the job is: one that is no saga has none, and neither has a saga before it is
    first claimed; both are blank."""
    standing = tx.structs(_Standing, _JOB, job=job)[0]
    named = {"job": job, "flight": standing.flight, "limit": LINES_MAX}
    return Flight(
        number=standing.flight,
        flying=standing.flying,
        turn_back=standing.turn_back,
        crashes=standing.crashes,
        failure=standing.failure,
        last=journal.last(tx, job),
        lines=tx.structs(Line, _LINES, **named)[::-1],
        events=tx.structs(Said, _SAID, **named)[::-1],
        meters=tx.structs(Meter, _METERS, **named),
        earlier=tx.structs(Earlier, _EARLIER, **named | {"limit": EARLIER_MAX}),
    )


def called_off(tx: Tx, submission: str) -> int:
    """How many of what a submission has asked for are sagas that are called off, and not undone yet."""
    (count,) = tx.column(_CALLED_OFF, submission=submission)
    return int(count)


def is_called_off(tx: Tx, name: JobName) -> bool:
    """Whether it is a saga that is called off, and not undone yet."""
    return bool(tx.rows(_IS_CALLED_OFF, app=name.app, key=name.key))
