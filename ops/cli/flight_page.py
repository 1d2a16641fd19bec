"""Terminal page about a saga's flight: steps, events, progress and failures."""

from collections.abc import Iterator, Mapping
from datetime import datetime

import msgspec
from msgspec import Struct

from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import JSON
from sluice.jobs.sagas.abort_reasons import CALLED_OFF, TIMED_OUT, WAIT_TIMED_OUT
from sluice.jobs.sagas.journal import Direction, EntryResult, Failure
from sluice.jobs.sagas.next_step import next_leg
from sluice.jobs.states import State
from sluice.jobs.text.redaction import masked_kwargs, masked_value
from sluice.ledger.reads.saga_details import LINES_MAX, FlightRecord
from sluice.ledger.reads.saga_details import JournalLine as Entry
from sluice.ops.cli.page import Block, Paragraph, Table, Verbatim
from sluice.ops.documents.flight_texts import cause, counted, crashes, place, told, undone
from sluice.ops.text import command, moment, precise

#: Maximum number of characters shown of a value.
VALUE_CHARS_MAX = 200

_DO = {
    EntryResult.DONE: "done",
    EntryResult.AGAIN: "again",
    EntryResult.AWAITS: "done, waits",
    EntryResult.CAME: "done",
}
_UNDO = _DO | {EntryResult.UNDO_FAILED: "failed", EntryResult.FORCED: "done by hand"}
#: Results of a do that ended for a reason other than its own failure, by failure type.
_CUT = {CALLED_OFF: "cancelled", TIMED_OUT: "timed out", WAIT_TIMED_OUT: "done, wait timed out"}
_GOES_ON = {State.RUNNING: "runs", State.READY: "next", State.WAITING: "next"}


class _Row(Struct):
    """State of one step so far as text, with the times."""

    name: str = ""
    do: str = ""
    do_at: datetime | None = None
    undo: str = ""
    undo_at: datetime | None = None


def facts(flight: FlightRecord, state: State) -> Iterator[str]:
    """Yield facts about the flight's position, one line each."""
    at = _position(flight, state)
    if at is not None:
        yield f"flight {flight.number}{at}"
    if lost := crashes(flight):
        yield f"{lost}{', so it pauses before it continues' if flight.crashes > 1 else ''}"
    if state is State.SUSPENDED and flight.wait and flight.wait.awaits:
        event = flight.wait.awaits.event
        until = f", until {moment(flight.until)} UTC" if flight.until else ""
        yield f"waits for {event if event is not None else 'a resume command'}{until}"
    if flight.failed_undo and flight.failed_undo.failure:
        what = counted(flight, flight.failed_undo.step)
        yield f"DISMAL FAILURE: the undo of {what}, failed: {told(flight.failed_undo.failure)}"


def _position(flight: FlightRecord, state: State) -> str | None:
    """Return the position for use after the number of the flight, or None if the flight has not begun."""
    began = f", because {cause(flight.failure)}" if flight.failure else ""
    if state is State.FATAL:
        return f", {'turned back' if flight.undoing else f'{place(flight)}, cannot continue'}{began}"
    if flight.saga_open:
        back = undone(flight)
        return f", {place(flight)}{f'; it {back}' if back else ''}"
    if flight.lines:
        return f"{', undone' if began else ''}{began}"
    return None


def steps(flight: FlightRecord, state: State) -> Table:
    """Return a table with a row for each started step, and for the next step."""
    rows: dict[int, _Row] = {}
    for line in flight.lines:
        _note(rows.setdefault(line.step, _Row()), line)
    if flight.saga_open and state in _GOES_ON and flight.wait is None:
        _note_next(rows, flight, _GOES_ON[state])
    return Table(
        ("step", "name", "do", "at (UTC)", "undo", "at (UTC)"),
        [
            (step, row.name, row.do, precise(row.do_at), row.undo, precise(row.undo_at))
            for step, row in sorted(rows.items())
        ],
        empty="No step has started.",
    )


def page(flight: FlightRecord, state: State, *, traceback: bool) -> Iterator[Block]:
    """Yield the whole page."""
    yield from (Paragraph(text, indent=2) for text in facts(flight, state))
    yield Paragraph()
    yield steps(flight, state)
    if flight.lines and flight.lines[0].seq > 1:
        yield Paragraph(f"Only the last {LINES_MAX} entries are shown.", "bright_black")
    yield from _part(
        ("event", "received (UTC)", "by", "ended the wait of", "payload"),
        [
            (
                each.name or "(any)",
                precise(each.at),
                each.by,
                each.taken_by,
                _value(masked_value(each.payload)),
            )
            for each in flight.events
        ],
    )
    yield from _part(
        ("meter", "done", "of", "at (UTC)"),
        [(each.name, each.done, each.total, precise(each.at)) for each in flight.meters],
    )
    yield from _part(
        ("working", ""), [(name, _value(value)) for name, value in masked_kwargs(flight.working).items()]
    )
    yield from _part(
        ("earlier flight", "entries", "ended at (UTC)", "undone because"),
        [
            (each.number, each.entries, precise(each.ended_at), cause(each.failure) if each.failure else "")
            for each in flight.earlier
        ],
    )
    if traceback:
        yield from _tracebacks(flight)


def way_out(name: JobName, flight: FlightRecord) -> Iterator[Block]:
    """Yield the commands that can help a fatal saga."""
    rows = [(command("saga retry-undo", name), "# tries the undo again, after you have fixed the cause")]
    if flight.failed_undo:
        rows.append(
            (
                command("saga force-done", name),
                "# skips this undo, after you have corrected its effects by hand",
            )
        )
    yield Paragraph()
    yield Table(("", ""), rows)


def _note(row: _Row, line: Entry) -> None:
    row.name = line.name
    match line.direction:
        case Direction.DO:
            row.do, row.do_at = _DO[line.result], line.at
        case Direction.SWITCH:
            # A step that was done before the flight turned back keeps its text.
            if row.do != _DO[EntryResult.DONE]:
                row.do, row.do_at = _CUT.get(line.failure.type if line.failure else "", "failed"), line.at
        case Direction.UNDO:
            row.undo, row.undo_at = _UNDO[line.result], line.at
            row.undo += f" ({line.note})" if line.note else ""


def _note_next(rows: dict[int, _Row], flight: FlightRecord, word: str) -> None:
    leg = next_leg(flight.last)
    if leg.step < 0 or (flight.steps is not None and leg.step >= flight.steps):
        return
    row = rows.setdefault(leg.step, _Row())
    if leg.direction is Direction.DO:
        row.do = f"{row.do}, {word}" if row.do else word
    else:
        row.undo = f"{row.undo}, {word}" if row.undo else word


def _part(headings: tuple[str, ...], rows: list[tuple[object, ...]]) -> Iterator[Block]:
    if rows:
        yield Paragraph()
        yield Table(headings, rows, prose=True)


def _value(value: JSON) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= VALUE_CHARS_MAX else f"{text[:VALUE_CHARS_MAX]}…"


def _tracebacks(flight: FlightRecord) -> Iterator[Block]:
    trouble = flight.failed_undo.failure if flight.failed_undo else None
    failures: Mapping[str, Failure | None] = {"undo": trouble, "do": flight.failure}
    for what, failure in failures.items():
        if failure is not None and failure.traceback:
            yield Paragraph()
            yield Paragraph(f"The {what} of {failure.step} failed:" if failure.step else "It failed:", "red")
            yield Verbatim(failure.traceback.rstrip("\n"))
