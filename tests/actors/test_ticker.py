"""Who sends the ticks."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

from actors.ticker import CALM_PERIODS, Ticker
from broker.messages import Look, Message, Tick
from jobs.submission import Submission
from ledger import pruning, submissions, workers
from scheduler.ticks import Ticks
from tests.timed import Timed
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


class Leader:
    """What it has sent, period by period, as long as nobody else leads."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._sent: list[Message] = []
        self._ticker = Ticker(world.ledger, uuid4(), self._send, period_s=1.0)

    def periods(self, number: int) -> list[list[Message]]:
        return [self._period() for _ in range(number)]

    def _period(self) -> list[Message]:
        self._sent.clear()
        self._world.now += timedelta(seconds=1)
        self._ticker.tick()
        return [*self._sent]

    def _send(self, messages: Sequence[Message]) -> None:
        self._sent += messages


def test_where_nothing_stirs_both_are_sent_once_in_a_while(world: World) -> None:
    calm = Leader(world).periods(2 * (CALM_PERIODS + 1))
    assert calm == 2 * [*CALM_PERIODS * [[]], [Tick(), Look()]]


def test_as_long_as_the_groomer_has_something_to_see_to_it_ticks_in_each_period(world: World) -> None:
    leader = Leader(world)
    wanted = Submission(app="a", key="1", id="s")
    world.ledger.transact(lambda tx: submissions.receive(tx, [wanted]))
    # What was received just now is left to whoever was told of it.
    assert leader.periods(4) == [[], [], [Tick()], [Tick()]]


def test_as_long_as_a_sweep_is_under_way_the_groomer_ticks(world: World) -> None:
    leader = Leader(world)
    world.ledger.transact(lambda tx: pruning.sweep(tx, keep_s=100.0, limit=10))
    assert leader.periods(3) == [[], [], []]
    world.now += timedelta(seconds=100)
    assert leader.periods(2) == [[Tick()], [Tick()]]


def test_what_is_due_by_a_schedule_is_looked_at_in_the_next_period(timed: Timed) -> None:
    leader = Leader(timed)
    timed.edit(s={})
    timed.look("12:30")
    assert leader.periods(2) == [[], []]
    timed.now = timed.now.replace(hour=13, minute=0)
    assert leader.periods(1) == [[Look()]]
    timed.look()
    assert leader.periods(2) == [[], []]
