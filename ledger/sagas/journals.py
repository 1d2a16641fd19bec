"""Journals of sagas' flights: a run reads the journal when it takes up a flight, and writes to it on the way.

Invariants: an entry is written only under the current claim, while the job's row is held. So the next run that takes up
the flight reads it, and a worker that comes back late adds nothing. An entry follows the one before it, or is not
written. The same entry may be written twice under the same claim, because the answer to the first write may have been
lost.

Races:

- A late write against the groomer or the next claim: either the entry is written before the claim is lost, and the next
  run begins behind it, or it is refused.
- A cancellation against the last entry of a flight: both lock the row. If the entry comes first, its answer does not
  report the cancellation: the run goes on to its end, or learns of it by ``check``. If the entry comes second, its
  answer reports it. The cancellation is not lost in between: it stays with the job until the flight has ended.

A crash leaves whole entries.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from sluice.jobs.model.history import Lost
from sluice.jobs.model.job import Ending, keep
from sluice.jobs.model.names import Claim
from sluice.jobs.sagas.journal import (
    Direction,
    EntryResult,
    Failure,
    FlightEvent,
    JournalEntry,
    JournalReply,
    Log,
)
from sluice.jobs.states import State
from sluice.ledger.database.connection import Tx
from sluice.ledger.database.transitions import NOW, interval

_STANDS = f"job.id = %(job)s AND job.state = '{State.RUNNING}' AND job.claim = %(claim)s"
_HEED = f"SELECT abort_reason FROM job WHERE {_STANDS}"
_HOLD = f"SELECT abort_reason FROM job WHERE {_STANDS} AND flight = %(flight)s FOR UPDATE"

#: When the wait that the entry began is over. Null if it has no limit.
UNTIL = "saga_journal.at + " + interval("(saga_journal.awaits ->> 'within_s')::float8")
#: The last entry of a job's flight.
LAST = """
SELECT saga_journal.* FROM saga_journal WHERE saga_journal.job = job.id AND saga_journal.flight = job.flight
    ORDER BY saga_journal.seq DESC LIMIT 1
"""
#: Crashes that are counted at most.
CRASHES_MAX = 12
#: Number of workers that a job's flight has lost since the last entry of its journal.
CRASHES = f"""
(SELECT count(*) FROM (
     SELECT ending FROM round
     WHERE job.saga_open AND round.job = job.id AND round.ending IS NOT NULL
       AND round.claim >= greatest(job.saga_first_claim, (SELECT last.claim FROM ({LAST}) last))
     ORDER BY round.claim DESC LIMIT {CRASHES_MAX}) ended
 WHERE ended.ending = '{Lost.LEASE_LOST}')
"""

_COLUMNS = ("step", "name", "steps", "direction", "result", "working", "awaits", "event", "failure", "note")
_CASTS = {"working": "::json", "awaits": "::jsonb", "failure": "::jsonb"}
_GIVEN = ", ".join(f"%({name})s{_CASTS.get(name, '')}" for name in _COLUMNS)
# Values of type json can be compared only as texts. The same value is always written as the same text.
_SAME = ", ".join(("claim", *(f"{name}::text" if name == "working" else name for name in _COLUMNS)))
# If the job is not held, nothing is written. An existing entry that is the same is written again, so that it is
# returned.
_APPEND = f"""
INSERT INTO saga_journal (job, flight, seq, claim, at, {", ".join(_COLUMNS)})
SELECT %(job)s, %(flight)s, %(seq)s, %(claim)s, {NOW}, {_GIVEN}
FROM held WHERE %(seq)s = 1 OR EXISTS (
    SELECT 1 FROM saga_journal WHERE job = %(job)s AND flight = %(flight)s AND seq = %(seq)s - 1)
ON CONFLICT (job, flight, seq) DO UPDATE SET seq = excluded.seq
WHERE ({", ".join(f"saga_journal.{name}" for name in _SAME.split(", "))})
    IS NOT DISTINCT FROM ({", ".join(f"excluded.{name}" for name in _SAME.split(", "))})
RETURNING seq
"""
# One statement, because every step of every saga costs it. It sees the journal from before it waited for the job. That
# does no harm: the previous entry existed when the run began, or is the run's own.
_WRITE = f"""
WITH held AS MATERIALIZED ({_HOLD}), written AS ({_APPEND})
SELECT abort_reason, EXISTS (SELECT 1 FROM written) FROM held
"""
_APPEND_ANYWAY = f"WITH held AS (SELECT 1) {_APPEND}"
#: Endings of a run that has not called the user's code.
_IDLE = f"'{Ending.NOT_STARTED}', '{Ending.VERSION_UNAVAILABLE}'"
_READ = f"""
SELECT job.abort_reason,
       CASE WHEN saga_journal.seq IS NOT NULL THEN json_build_object(
           'seq', saga_journal.seq, {", ".join(f"'{name}', saga_journal.{name}" for name in _COLUMNS)}) END AS last,
       (SELECT began.failure FROM saga_journal began
        WHERE began.job = job.id AND began.flight = job.flight AND began.direction = '{Direction.SWITCH}'
        ORDER BY began.seq DESC LIMIT 1) AS failure,
       coalesce((SELECT jsonb_agg(DISTINCT jsonb_build_array(named.step, named.name)) FROM saga_journal named
                 WHERE named.job = job.id AND named.flight = job.flight), '[]') AS names,
       coalesce(saga_journal.result = '{EntryResult.AWAITS}' AND {UNTIL} <= {NOW}, false) AS overdue,
       EXISTS (SELECT 1 FROM round
               WHERE round.job = job.id AND round.claim >= job.saga_first_claim AND round.claim < job.claim
                 AND coalesce(round.ending NOT IN ({_IDLE}), true)) AS taken_up
FROM job LEFT JOIN LATERAL ({LAST}) saga_journal ON true
WHERE {_STANDS} AND job.flight = %(flight)s
"""
_LAST = f"""
SELECT {", ".join(f"last.{name}" for name in ("seq", *_COLUMNS))}
FROM job CROSS JOIN LATERAL ({LAST}) last WHERE job.id = %(job)s
"""
_EVENTS = """
SELECT id, name, payload, EXISTS (SELECT 1 FROM saga_journal WHERE saga_journal.event = saga_signal.id) AS taken
FROM saga_signal WHERE job = %(job)s AND flight = %(flight)s ORDER BY id
"""
# Without a lock: the value of a late worker may be shown for a moment longer, and decides nothing.
_METER = f"""
INSERT INTO saga_progress (job, flight, name, done, total, at)
SELECT id, flight, %(name)s, %(done)s, %(total)s, {NOW} FROM job WHERE {_STANDS} AND flight = %(flight)s
ON CONFLICT (job, flight, name) DO UPDATE SET done = excluded.done, total = excluded.total, at = excluded.at
"""


class _Found(Struct, frozen=True):
    abort_reason: str | None
    last: JournalEntry | None
    failure: Failure | None
    names: list[tuple[int, str]]
    overdue: bool
    taken_up: bool


def read(tx: Tx, right: Claim, flight: int) -> Log | None:
    """Return the flight as it is; None if the claim is lost."""
    named = {"job": right.job, "claim": right.number, "flight": flight}
    found = tx.structs(_Found, _READ, **named)
    if not found:
        return None
    events = tx.structs(FlightEvent, _EVENTS, **named)
    return Log(
        last=found[0].last,
        names=dict(found[0].names),
        failure=found[0].failure,
        events=tuple(events),
        overdue=found[0].overdue,
        abort_reason=found[0].abort_reason,
        taken_up=found[0].taken_up,
    )


def last(tx: Tx, job: int) -> JournalEntry | None:
    """Return the last entry of the job's current flight. A caller that will write another entry must hold the job."""
    found = tx.structs(JournalEntry, _LAST, job=job)
    return found[0] if found else None


def write(tx: Tx, right: Claim, flight: int, entry: JournalEntry) -> JournalReply:
    """Write the next entry, with the number after the last. Under a lost claim nothing is written."""
    held = tx.rows(_WRITE, job=right.job, flight=flight, claim=right.number, **_columns(entry))
    if not held:
        return JournalReply(stands=False)
    abort_reason, is_written = held[0]
    _require(is_written, right, entry)
    return JournalReply(stands=True, abort_reason=abort_reason)


def append(tx: Tx, right: Claim, flight: int, entry: JournalEntry) -> None:
    """Write the entry. The caller must hold the job's row, and know that the claim is the job's last."""
    written = tx.rows(_APPEND_ANYWAY, job=right.job, flight=flight, claim=right.number, **_columns(entry))
    _require(bool(written), right, entry)


def check(tx: Tx, right: Claim) -> JournalReply:
    """Return whether the claim is current, and whether the flight was called off."""
    found = tx.column(_HEED, job=right.job, claim=right.number)
    return JournalReply(stands=bool(found), abort_reason=found[0] if found else None)


def record_progress(tx: Tx, right: Claim, flight: int, name: str, *, done: int, total: int | None) -> None:
    """Store the progress of a step, for display. It is not reset when the step is undone."""
    named = {"job": right.job, "claim": right.number, "flight": flight}
    tx.write(_METER, **named, name=name, done=done, total=total)


def _require(is_written: bool, right: Claim, entry: JournalEntry) -> None:  # noqa: FBT001  # it is the condition
    if not is_written:
        raise AssertionError(
            f"entry {entry.seq} of job {right.job} exists already, or does not follow the last entry"
        )


def _columns(entry: JournalEntry) -> Mapping[str, Any]:
    return {
        "seq": entry.seq,
        "step": entry.step,
        "name": entry.name,
        "steps": entry.steps,
        "direction": entry.direction,
        "result": entry.result,
        "working": _json(entry.working),
        "awaits": entry.awaits and _json(entry.awaits),
        "event": entry.event,
        "failure": entry.failure and _json(_kept(entry.failure)),
        "note": entry.note,
    }


def _kept(failure: Failure) -> Failure:
    """Return the failure within the limits of texts from users' code, and as text that the ledger can store."""
    texts: dict[str, str] = msgspec.structs.asdict(failure)
    return Failure(**{name: keep(text.encode("utf-8", "replace").decode()) for name, text in texts.items()})


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
