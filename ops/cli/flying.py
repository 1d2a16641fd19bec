"""Saga under ``sluice run --bypass``. The journal is kept in memory, and the flight runs here until it has ended.

Nothing of the flight outlives the command, so it is not left half done. If it would wait or is interrupted, it is
undone.
"""

from collections.abc import Callable
from threading import Event

from msgspec.structs import replace

from sluice.jobs.model.job import Ending, Outcome, keep
from sluice.jobs.sagas.journal import Direction, MemoryJournal

#: Function that runs the flight once, until it ends or the event is set.
Run = Callable[[MemoryJournal, Event], Outcome]


def fly(run: Run, stop: Event) -> Outcome:
    """Run the flight again as long as the run hands it back or suspends it."""
    journal, output = MemoryJournal(), ""
    while True:
        outcome = run(journal, stop)
        output = keep(output + outcome.output)
        if outcome.ending is Ending.SUSPENDED:
            _end_wait(journal, outcome)
        elif outcome.ending is not Ending.HANDED_BACK:
            return replace(outcome, output=output)
        elif stop.is_set():
            journal.turn_back, stop = "it was interrupted", Event()


def _end_wait(journal: MemoryJournal, outcome: Outcome) -> None:
    if journal.entries[-1].direction is Direction.UNDO:
        # The flight is being undone already and must complete, so it gets the event.
        journal.tell(outcome.event)
        return
    what = outcome.event or "a resume command"
    journal.turn_back = f"it waits for {what}, which --bypass cannot deliver"
