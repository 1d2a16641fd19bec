"""Texts about sagas: their waits, their position, their undo, and the remedies for a failed undo."""

from collections.abc import Iterator
from datetime import datetime
from shlex import quote

from sluice.jobs.model.names import JobName
from sluice.jobs.states import State
from sluice.ledger.reads.job_details import JobRow
from sluice.ledger.reads.obstacles import Obstacles
from sluice.ledger.reads.saga_details import FlightRecord
from sluice.ops.documents.flight_texts import cause, counted, crashes, place, told, undone
from sluice.ops.text import command, first_line, moment, span
from sluice.ops.why.answer import Reason, Remedy, WaitsFor, remedy

#: States of a saga on its way to its end.
_UNDER_WAY = {State.WAITING, State.READY, State.RUNNING}


def under_way(job: JobRow, flight: FlightRecord | None, otherwise: Reason) -> Reason:
    """Add the position of a begun saga to its reason. If it is being undone, add the cause."""
    if flight is None or job.state not in _UNDER_WAY:
        return otherwise
    because, waits_for, remedies = otherwise
    back = undone(flight)
    where = f", and {back}; it is {place(flight)}" if back else f", {place(flight)}"
    if lost := crashes(flight):
        where += f"; {lost}"
    return Reason(f"{because}{where}", waits_for, [*remedies, _look(job.name)])


def suspended(job: JobRow, facts: Obstacles) -> Reason:
    flight = facts.flight
    event = job.event if job.event is not None else "a resume command"
    since = flight.wait.at if flight and flight.wait else job.changed_at
    parts = [f"is suspended until {event} arrives", *(_of_flight(flight, facts.now) if flight else ())]
    calls_off = (
        [] if flight and flight.undoing else [remedy("cancel", job.name, "cancels it and undoes its steps")]
    )
    waits = WaitsFor(kind="event", what=event, since=since)
    return Reason(", ".join(parts), [waits], [_resume(job), *calls_off])


def failed_undo(job: JobRow, facts: Obstacles) -> Reason:
    """Explain a fatal saga."""
    flight = facts.flight
    line = flight.failed_undo if flight else None
    left = f"could not be undone in round {job.round}, and its remaining effects must be corrected by hand"
    again = remedy("saga retry-undo", job.name, "tries the undo again, after you have fixed the cause")
    if flight is None or line is None or line.failure is None:
        error = first_line(facts.last_error)
        because = f"{left}{f': {error}' if error else ''}"
        return Reason(because, [], [_look(job.name), again])
    began = f"; it was being undone, because {cause(flight.failure)}" if flight.failure else ""
    what = f"the undo of {counted(flight, line.step)}, failed: {told(line.failure)}{began}"
    force = remedy(
        "saga force-done", job.name, "skips this undo, after you have corrected its effects by hand"
    )
    return Reason(f"{left}: {what}", [], [_look(job.name), again, force])


def _of_flight(flight: FlightRecord, now: datetime) -> Iterator[str]:
    """Yield the end of the wait, the reason of an undo, and other events that have arrived. Such an event may be the
    right one with a misspelled name.
    """
    if flight.until and flight.wait and flight.wait.awaits:
        then = (
            "continues without it"
            if flight.undoing or flight.wait.awaits.otherwise == "go_on"
            else "is undone"
        )
        left = span(max((flight.until - now).total_seconds(), 0.0))
        yield f"or {moment(flight.until)} UTC, in {left}, when it {then}"
    if back := undone(flight):
        yield f"and {back}"
    if names := sorted({each.name for each in flight.untaken if each.name}):
        yield f"and does not wait for {', '.join(names)}, which has arrived"


def _resume(job: JobRow) -> Remedy:
    if job.event is None:
        return remedy("resume", job.name, "resumes it")
    return Remedy(f"{command('resume', job.name)} --event {quote(job.event)}", "sends this event")


def _look(name: JobName) -> Remedy:
    return remedy("saga show", name, "shows its steps")
