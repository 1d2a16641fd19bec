"""Where a flight goes on: a function of the last entry of its journal, and of nothing else.

the last entry            goes on with
──────────────            ────────────
none                      do of the first step
do i: done, came          do of i + 1; behind the last step it has arrived
do i: again               do of i
switch i                  undo of i
undo i: done, came,       undo of i - 1; before the first step it is undone
        forced
undo i: again, dismal     undo of i
awaits                    nothing, until an entry says that what it waited for has come
"""

from msgspec import Struct

from sluice.jobs.sagas.entry import Direction, Entry, Mark


class Leg(Struct, frozen=True):
    """The next step and its direction, which is never a switch. It may lie beyond either end."""

    step: int
    direction: Direction


_STAYS = frozenset({Mark.AGAIN, Mark.DISMAL})


def next_leg(last: Entry | None) -> Leg:
    """What follows on this entry; one that awaits is followed by another entry before anything else."""
    if last is None:
        return Leg(0, Direction.DO)
    if last.mark is Mark.AWAITS:
        raise ValueError(f"entry {last.seq} awaits something, so no step is next")
    if last.direction is Direction.SWITCH:
        return Leg(last.step, Direction.UNDO)
    stays = last.mark in _STAYS
    if last.direction is Direction.DO:
        return Leg(last.step if stays else last.step + 1, Direction.DO)
    return Leg(last.step if stays else last.step - 1, Direction.UNDO)
