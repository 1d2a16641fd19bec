"""Next step of a flight: a function of the last entry of its journal."""

import pytest

from sluice.jobs.sagas.journal import Await, Direction, EntryResult, JournalEntry
from sluice.jobs.sagas.next_step import Leg, next_leg

DO, SWITCH, UNDO = Direction.DO, Direction.SWITCH, Direction.UNDO


def _entry(direction: Direction, step: int, result: EntryResult = EntryResult.DONE) -> JournalEntry:
    awaits = Await() if result is EntryResult.AWAITS else None
    return JournalEntry(
        seq=1, step=step, name="a", steps=9, direction=direction, result=result, awaits=awaits
    )


def test_a_flight_without_entries_begins_with_the_first_step() -> None:
    assert next_leg(None) == Leg(0, DO)


@pytest.mark.parametrize(
    ("last", "leg"),
    [
        (_entry(DO, 0), Leg(1, DO)),
        (_entry(DO, 2, EntryResult.CAME), Leg(3, DO)),
        (_entry(DO, 2, EntryResult.AGAIN), Leg(2, DO)),
        (_entry(SWITCH, 2), Leg(2, UNDO)),
        (_entry(UNDO, 2), Leg(1, UNDO)),
        (_entry(UNDO, 0), Leg(-1, UNDO)),
        (_entry(UNDO, 2, EntryResult.CAME), Leg(1, UNDO)),
        (_entry(UNDO, 2, EntryResult.FORCED), Leg(1, UNDO)),
        (_entry(UNDO, 2, EntryResult.AGAIN), Leg(2, UNDO)),
        (_entry(UNDO, 2, EntryResult.UNDO_FAILED), Leg(2, UNDO)),
    ],
)
def test_the_last_entry_determines_the_next_step(last: JournalEntry, leg: Leg) -> None:
    assert next_leg(last) == leg


@pytest.mark.parametrize("direction", [DO, UNDO])
def test_a_waiting_flight_has_no_next_step(direction: Direction) -> None:
    with pytest.raises(ValueError, match="entry 1 awaits something"):
        next_leg(_entry(direction, 1, EntryResult.AWAITS))


def test_every_entry_is_followed_by_the_same_or_an_adjacent_step() -> None:
    for direction in Direction:
        for result in set(EntryResult) - {EntryResult.AWAITS}:
            leg = next_leg(_entry(direction, 4, result))
            assert abs(leg.step - 4) <= 1
            assert (leg.direction is DO) == (direction is DO)
