"""Next step of a flight: a function of only the last entry of its journal.

the last entry            the flight continues with
──────────────            ─────────────────────────
none                      do of the first step
do i: done, came          do of i + 1; after the last step it has succeeded
do i: again               do of i
switch i                  undo of i
undo i: done, came,       undo of i - 1; before the first step it is undone
        forced
undo i: again,            undo of i
        undo_failed
awaits                    nothing, until an entry ends the wait
"""

from msgspec import Struct

from sluice.jobs.sagas.journal import Direction, EntryResult, JournalEntry


class Leg(Struct, frozen=True):
    """Next step and its direction, which is never a switch. The step may be beyond either end."""

    step: int
    direction: Direction


_STAYS = frozenset({EntryResult.AGAIN, EntryResult.UNDO_FAILED})


def next_leg(last: JournalEntry | None) -> Leg:
    """Return the leg after this entry. An entry that awaits must be followed by another entry first."""
    if last is None:
        return Leg(0, Direction.DO)
    if last.result is EntryResult.AWAITS:
        raise ValueError(f"entry {last.seq} awaits something, so no step is next")
    if last.direction is Direction.SWITCH:
        return Leg(last.step, Direction.UNDO)
    stays = last.result in _STAYS
    if last.direction is Direction.DO:
        return Leg(last.step if stays else last.step + 1, Direction.DO)
    return Leg(last.step if stays else last.step - 1, Direction.UNDO)
