"""Guards of sagas and of compensation. The simulation must notice each of them when it is broken."""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from sluice.jobs.sagas import next_step
from sluice.jobs.sagas.engine import Pilot
from sluice.jobs.sagas.journal import Direction, EntryResult, Failure
from sluice.jobs.sagas.next_step import Leg
from sluice.jobs.sagas.result import RunEnd
from sluice.jobs.simulated import NO_FAULTS, Faults
from sluice.jobs.states import State
from sluice.ledger.lifecycle import outcomes, submissions
from sluice.ledger.recovery import groomer_steps
from sluice.ledger.sagas import compensations, events, journals, suspension
from sluice.planner import compensation
from tests.simulation.mutants import Break, Mutant, code, no_effect, sql

_FAILED = Pilot._failed
_SWITCH = Pilot._switch
_BELOW = compensation._below


def _forgiving(pilot: Pilot, leg: Leg, failure: Failure) -> RunEnd | None:
    if leg.direction is Direction.DO:
        return _FAILED(pilot, leg, failure)
    return pilot._write(pilot._entry_of(leg))


def _forgetful(pilot: Pilot, step: int, why: Failure) -> RunEnd | None:
    """Turn the flight back without an entry in its journal."""
    pilot._failure = why
    entry = replace(pilot._entry_of(Leg(step, Direction.DO)), direction=Direction.SWITCH, failure=why)
    pilot._last, pilot._is_own = replace(entry, seq=entry.seq - 1), True
    return None


def _forward(undoing: Mapping[int, object], ties: Iterable[tuple[int, int]]) -> dict[int, frozenset[int]]:
    return _BELOW(undoing, [(child, parent) for parent, child in ties])


#: Workers that are frozen until others have their jobs, and then continue.
LATE = Faults(freeze_worker_every_s=6.0, delay_s_max=0.5)
#: Workers that die, mostly in the middle of their work.
DEADLY = Faults(crash_between=0.1, crash_before_commit=0.05, crash_after_commit=0.05, delay_s_max=0.5)


def _of_sagas(apply: Break, first: int = 0, faults: Faults = NO_FAULTS) -> Mutant:
    return Mutant(apply, first, "sagas", faults)


def _of_trips(apply: Break, first: int = 0, faults: Faults = NO_FAULTS) -> Mutant:
    return Mutant(apply, first, "trips", faults)


MUTANTS = {
    "a late worker writes the journal": _of_sagas(
        sql(journals, "_WRITE", "AND job.claim = %(claim)s", ""), 84, LATE
    ),
    "an event that arrives before its wait is lost": _of_sagas(
        sql(
            events,
            "_ADD",
            "ON CONFLICT",
            f"WHERE (SELECT state FROM job WHERE id = %(job)s) = '{State.SUSPENDED}' ON CONFLICT",
        ),
    ),
    "earlier events are ignored when a wait begins": _of_sagas(
        code(outcomes, "resume_early", lambda tx, jobs: [])
    ),
    "one event ends two waits": _of_sagas(
        sql(
            journals,
            "_EVENTS",
            "EXISTS (SELECT 1 FROM saga_journal WHERE saga_journal.event = saga_signal.id)",
            "false",
        ),
        1,
    ),
    "a wait that has timed out is not ended": _of_sagas(
        code(suspension, "resume_late", lambda tx, limit: None), 36
    ),
    "a step that began without a journal entry is not undone": _of_sagas(
        code(Pilot, "_begun", lambda pilot, leg: pilot._last.step if pilot._last else leg.step), 52, DEADLY
    ),
    "the steps below an undo that failed are undone": _of_sagas(code(Pilot, "_failed", _forgiving)),
    "an undo that failed is not tried again": _of_sagas(
        code(next_step, "_STAYS", frozenset({EntryResult.AGAIN}))
    ),
    "the journal has no entry when a flight turns back": _of_sagas(code(Pilot, "_switch", _forgetful), 7),
    "unfinished flights are cancelled": _of_sagas(
        sql(submissions, "_CANCEL_UNWANTED", "NOT job.saga_open AND", ""), 75
    ),
    "flights are lost with their workers": _of_sagas(
        sql(groomer_steps, "_REQUEUE_LOST", "(job.saga_open OR job.losses < job.max_losses)", "false"),
        1,
        DEADLY,
    ),
    "jobs are undone in the order in which they ran": _of_trips(code(compensation, "_below", _forward)),
    "jobs that other submissions rely on are undone": _of_trips(
        sql(compensations, "_EFFECTS", f"AND NOT {compensations._RELIED_ON}", ""), 17
    ),
    "undoing begins while jobs are unfinished": _of_sagas(
        code(compensations, "first_unfinished", lambda tx, number: None),
        48,
    ),
    "undone jobs still count as done": _of_trips(no_effect("is_compensation")),
    "a failed saga is not compensated": _of_trips(code(submissions, "_COMPENSATE", "SELECT 1 WHERE false")),
}
