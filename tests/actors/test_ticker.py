"""Who sends the ticks."""

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

from ledger import workers
from scheduler.ticks import Ticks
from tests.world import World

START = datetime(2026, 1, 1, tzinfo=UTC)


def test_ticks_keep_their_rhythm_and_missed_ones_are_not_made_up_for() -> None:
    ticks = Ticks(2.0, START)
    assert ticks.after(START) == START + timedelta(seconds=2)
    assert ticks.after(START + timedelta(seconds=2)) == START + timedelta(seconds=4)
    assert ticks.after(START + timedelta(seconds=9)) == START + timedelta(seconds=10)


def test_one_of_two_leads_until_it_has_not_been_heard_of_for_a_term(world: World) -> None:
    one, two = uuid4(), uuid4()

    def lead(holder: UUID) -> bool:
        return world.ledger.transact(lambda tx: workers.take_pulse(tx, "scheduler", holder, term_s=3))

    assert lead(one)
    assert not lead(two)
    world.now += timedelta(seconds=2)
    assert lead(one)
    world.now += timedelta(seconds=4)
    assert lead(two)
    assert not lead(one)
