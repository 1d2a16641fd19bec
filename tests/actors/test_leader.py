"""Ticks: which process sends them, and when."""

from collections.abc import Sequence
from contextlib import closing
from datetime import timedelta
from threading import Event
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.errors import DeadlockDetected

from sluice.actors.scheduler.leader import ADMIT_S, BACKLOG_PERIODS, CALM_PERIODS, Ticker
from sluice.broker.messages import Execute, Look, Message, Tick
from sluice.jobs.errors import BadSetting
from sluice.jobs.model.job import Ending
from sluice.jobs.model.submission import Submission
from sluice.jobs.policy.breaker import Breaker
from sluice.ledger.database.connection import Ledger
from sluice.ledger.lifecycle import submissions
from sluice.ledger.limits import breakers, rate_limits
from sluice.ledger.notifications import deliveries
from sluice.ledger.recovery import leases
from sluice.ledger.retention import removal
from sluice.scheduler.tick_clock import Ticks
from tests.actors.ledgers import Refusing
from tests.timed import Timed
from tests.world import World


def test_ticks_keep_their_rhythm_and_missed_ticks_are_not_caught_up() -> None:
    ticks = Ticks(2.0, 100.0)
    assert [ticks.after(now_s) for now_s in (100.0, 101.9, 102.0, 109.0)] == [102.0, 102.0, 104.0, 110.0]


@given(st.floats(0.001, 100), st.floats(0, 1e6), st.floats(0, 1e6))
def test_the_next_tick_is_later_and_within_a_period(period_s: float, start_s: float, passed_s: float) -> None:
    now_s = start_s + passed_s
    due_s = Ticks(period_s, start_s).after(now_s)
    assert now_s < due_s <= now_s + period_s * (1 + 1e-6)


def test_a_leader_is_replaced_after_a_term_without_its_pulse(world: World) -> None:
    one, two = uuid4(), uuid4()

    def lead(holder: UUID) -> bool:
        return world.ledger.transact(lambda tx: leases.take_leadership(tx, "scheduler", holder, term_s=3))

    assert lead(one)
    assert not lead(two)
    world.now += timedelta(seconds=2)
    assert lead(one)
    world.now += timedelta(seconds=4)
    assert lead(two)
    assert not lead(one)


class Leader:
    """The only process with a ticker. ``periods`` returns its messages period by period."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._sent: list[Message] = []
        self._ticker = Ticker(world.ledger, uuid4(), self._send, period_s=1.0)

    def periods(self, number: int) -> list[list[Message]]:
        return [self._period() for _ in range(number)]

    @property
    def rests_s(self) -> float | None:
        return self._ticker._admit_s

    def admit(self) -> list[Message]:
        self._sent.clear()
        self._ticker.admit()
        return [*self._sent]

    def round_trips(self) -> int:
        before = self._world.ledger.round_trips()
        self.periods(1)
        return self._world.ledger.round_trips() - before

    def _period(self) -> list[Message]:
        self._sent.clear()
        self._world.now += timedelta(seconds=1)
        self._ticker.tick()
        return [*self._sent]

    def _send(self, messages: Sequence[Message]) -> None:
        self._sent += messages


def test_an_idle_ledger_gets_a_tick_and_a_look_once_in_a_while(world: World) -> None:
    calm = Leader(world).periods(2 * (CALM_PERIODS + 1))
    assert calm == 2 * [*CALM_PERIODS * [[]], [Tick(), Look()]]


def test_the_groomer_gets_a_tick_in_each_period_while_it_has_work(world: World) -> None:
    leader = Leader(world)
    wanted = Submission(app="a", key="1", id="s")
    world.ledger.transact(lambda tx: submissions.receive(tx, [wanted]))
    # A submission that was just received is left to the planner, which its message notifies.
    assert leader.periods(4) == [[], [], [Tick()], [Tick()]]


def test_a_tick_of_each_minute_is_for_backlogs(world: World) -> None:
    """Periods without a tick count too."""
    leader = Leader(world)
    world.ledger.transact(lambda tx: submissions.receive(tx, [Submission(app="a", key="1", id="s")]))
    sent = [message for messages in leader.periods(2 * BACKLOG_PERIODS) for message in messages]
    ticks = [message.backlogs for message in sent if isinstance(message, Tick)]
    first = BACKLOG_PERIODS - 2  # The submission is left to the planner for two periods.
    assert [place for place, backlogs in enumerate(ticks, start=1) if backlogs] == [
        first,
        first + BACKLOG_PERIODS,
    ]


def test_a_groomer_that_always_has_work_does_not_delay_new_schedules(
    world: World,
) -> None:
    leader = Leader(world)
    world.ledger.transact(lambda tx: submissions.receive(tx, [Submission(app="a", key="1", id="s")]))
    busy = leader.periods(2 * (CALM_PERIODS + 1))
    assert all(Tick() in sent for sent in busy[2:])
    assert [place for place, sent in enumerate(busy) if Look() in sent] == [
        CALM_PERIODS,
        2 * CALM_PERIODS + 1,
    ]


def test_a_breaker_needs_ticks_only_for_uncounted_rounds_or_a_trial(
    world: World,
) -> None:
    leader = Leader(world)

    def ticks(periods: int) -> list[bool]:
        return [Tick() in sent for sent in leader.periods(periods)]

    broken = Breaker(fails=1, pause_s=30.0, pause_s_max=30.0)
    world.ledger.transact(lambda tx: breakers.ensure(tx, "a", broken))
    assert ticks(CALM_PERIODS) == CALM_PERIODS * [False], "the breaker is closed"
    world.tick()
    world.ledger.transact(lambda tx: tx.write(_FAILED))
    assert ticks(2) == [True, True], "the failed round is not counted yet"
    world.tick()
    assert ticks(CALM_PERIODS) == CALM_PERIODS * [False], "the breaker is open"
    world.now += timedelta(seconds=30)
    ticks(1)
    assert ticks(CALM_PERIODS) == CALM_PERIODS * [False], "its pause is over, and no job waits for a trial"
    world.apps("a", breaker={"fails": 1, "pause": 30, "pause_max": 30})
    world.submit("a")
    assert ticks(2) == [True, True]


_FAILED = "INSERT INTO breaker_event (app, failed, succeeded) VALUES ('a', 1, 0)"


def test_a_leader_admits_jobs_when_their_rate_limits_have_tokens_and_rests_until_then(world: World) -> None:
    leader = Leader(world)
    world.apps("a", rate_limit="5/s")
    leader.periods(1)
    assert leader.rests_s is None, "no job waits"
    world.submit("a", None, keys=[*"123"])
    leader.periods(1)
    assert leader.rests_s == ADMIT_S, "the ready job has the only token"
    world.take("a")
    assert leader.admit() == []
    assert leader.rests_s == pytest.approx(0.2)
    world.now += timedelta(seconds=0.2)
    (message,) = leader.admit()
    assert isinstance(message, Execute)
    assert world.ready() == {"a/2"}
    assert leader.rests_s == ADMIT_S
    for key in "23":
        world.now += timedelta(seconds=1)
        world.beat(world.worker)
        leader.admit()
        world.take(f"a/{key}")
    leader.admit()
    assert leader.rests_s is None


def test_without_rate_limits_a_period_has_no_further_statement(world: World) -> None:
    leader = Leader(world)
    world.apps("a")
    world.submit("a")
    leader.periods(20)
    plain = leader.round_trips()
    world.ledger.transact(lambda tx: tx.write("INSERT INTO rate_limit VALUES ('a', 0.2, 1)"))
    assert leader.round_trips() > plain
    world.ledger.transact(lambda tx: rate_limits.update(tx, "a", None))
    assert leader.round_trips() == plain


def test_the_notifier_learns_in_the_next_period_that_an_event_waits(world: World) -> None:
    found = list[bool]()
    ticker = Ticker(world.ledger, uuid4(), lambda _: None, period_s=1.0, looked=found.append)
    ticker.tick()
    world.apps("a", notify=[{"on": ["failed"], "webhook": "https://alerts.example.org"}])
    world.submit("a", "1")
    world.finish("a/1", Ending.ERROR)
    ticker.tick()
    world.ledger.transact(lambda tx: deliveries.route(tx, 10))
    ticker.tick()
    deliveries_due = world.ledger.transact(lambda tx: deliveries.take(tx, 10, together=4, busy={}))
    ticker.tick()
    assert (found, len(deliveries_due)) == ([False, True, True, False], 1)


def test_a_period_in_which_nothing_is_due_takes_two_round_trips(world: World) -> None:
    """An idle worker spends most of its processor time on them: one renews the leadership, one looks for work."""
    with closing(Ledger(world.url, connections=1, steady=True, clock=lambda: world.now)) as steady:
        ticker = Ticker(steady, uuid4(), lambda _: None, period_s=1.0)
        ticker.tick()
        before = steady.round_trips()
        ticker.tick()
        assert steady.round_trips() == before + 2


def test_the_groomer_gets_ticks_when_a_retention_sweep_is_due(world: World) -> None:
    leader = Leader(world)
    world.ledger.transact(lambda tx: removal.sweep(tx, keep_s=100.0, limit=10))
    assert leader.periods(3) == [[], [], []]
    world.now += timedelta(seconds=100)
    assert leader.periods(2) == [[Tick()], [Tick()]]


def test_a_due_schedule_gets_a_look_in_the_next_period(timed: Timed) -> None:
    leader = Leader(timed)
    timed.edit(s={})
    timed.look("12:30")
    assert leader.periods(2) == [[], []]
    timed.now = timed.now.replace(hour=13, minute=0)
    assert leader.periods(1) == [[Look()]]
    timed.look()
    assert all(Look() not in sent for sent in leader.periods(2))


@pytest.mark.parametrize(
    "error",
    [BadSetting("This role may not do it."), DeadlockDetected("once more")],
    ids=lambda error: type(error).__name__,
)
def test_after_an_error_the_ticker_ticks_again_in_the_next_period(
    world: World, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    with closing(Refusing(world)) as ledger:
        ledger.refuse(error)
        sent = Event()
        ticker = Ticker(ledger, uuid4(), lambda _: sent.set(), period_s=0.01)
        ticker.start()
        assert ledger.has_refused(3)
        ledger.relent()
        assert sent.wait(20)
        ticker.end()
    told = [record for record in caplog.records if record.name == "sluice.scheduler"]
    assert [record.getMessage() for record in told] == [f"no tick: {error}"], (
        "each kind of error is logged once"
    )
    assert told[0].exc_info
