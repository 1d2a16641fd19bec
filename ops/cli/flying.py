"""A saga under ``sluice run --bypass``: its flight is written down in memory, and flown here until it has landed.

Nothing of it outlives the command, so it is not left half done: where it would wait, or is interrupted, it is undone.
"""

from collections.abc import Callable
from threading import Event

from msgspec.structs import replace

from sluice.jobs.outcome import Ending, Outcome, keep
from sluice.jobs.sagas.entry import Direction
from sluice.jobs.sagas.memory import MemoryJournal

#: Flies it once, until it lands or the event is set.
Run = Callable[[MemoryJournal, Event], Outcome]


def fly(run: Run, stop: Event) -> Outcome:
    """Take the flight up again for as long as it is handed back."""
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
        # It goes back as it is, and has to come to its end.
        journal.tell(outcome.event)
        return
    what = outcome.event or "somebody's word"
    journal.turn_back = f"it waits for {what}, and --bypass has nobody who brings that"
