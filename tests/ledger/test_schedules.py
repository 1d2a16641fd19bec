"""Guards of schedules in the ledger. They hold regardless of the actions of the schedulers."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from msgspec.structs import replace

from sluice.actors.scheduler import due_schedules, manual
from sluice.broker.messages import Look
from sluice.jobs.model.submission import Submission
from sluice.jobs.schedules.schedule import Firing, FiringOutcome, StoredSchedule, submission_id
from sluice.ledger import schedules
from sluice.ledger.database.connection import Ledger
from sluice.ledger.recovery.invariants import breaches
from tests.ledger.races import race
from tests.timed import Timed

ONE = datetime(2026, 1, 1, 13, tzinfo=UTC)
STANDING = StoredSchedule(
    id="s", app="a", source="here", digest="1", rule="0 * * * *", timezone="UTC", next_due=ONE, fire_at=ONE
)
#: Upper limit of the number of statements of one check of the schedules.
STATEMENTS_MAX = 20


@pytest.fixture
def timed(ledger_url: str, tmp_path: Path) -> Iterator[Timed]:
    with Timed(ledger_url, tmp_path) as made:
        yield made


def firing(outcome: FiringOutcome, due: datetime = ONE) -> Firing:
    asked = Submission(app="a", id=submission_id("s", due)) if outcome is FiringOutcome.FIRED else None
    return Firing(schedule="s", due=due, outcome=outcome, submission=asked)


def record(timed: Timed, *outcomes: FiringOutcome, by_hand: bool = False) -> list[set[str]]:
    """Record these outcomes one after the other. Return, for each, the ids of the submissions to create."""
    told = [
        timed.ledger.transact(lambda tx, each=each: schedules.record(tx, [firing(each)], by_hand=by_hand))
        for each in outcomes
    ]
    timed.ledger.transact(lambda tx: tx.write("TRUNCATE firing"))
    return told


def test_a_due_time_is_fired_once(timed: Timed) -> None:
    fired, queued, missed, skipped = (
        FiringOutcome.FIRED,
        FiringOutcome.QUEUED,
        FiringOutcome.MISSED,
        FiringOutcome.SKIPPED,
    )
    once = {submission_id("s", ONE)}
    assert record(timed, fired, fired) == [once, set()]
    assert record(timed, fired, missed, fired) == [once, set(), set()]
    assert record(timed, missed, fired) == [set(), set()]
    assert record(timed, queued, queued, fired, fired) == [set(), set(), once, set()]
    assert record(timed, queued, skipped, fired) == [set(), set(), set()]
    assert record(timed, missed, fired, fired, by_hand=True) == [set(), once, set()]


def test_a_scheduler_that_was_overtaken_moves_no_due_time(timed: Timed) -> None:
    two = replace(STANDING, next_due=ONE + timedelta(hours=1), fire_at=ONE + timedelta(hours=1))
    three = replace(STANDING, next_due=ONE + timedelta(hours=2), fire_at=ONE + timedelta(hours=2))
    for standing, before in (
        (STANDING, {}),
        (three, {}),
        (two, {"s": STANDING}),
        (three, {"s": STANDING}),
        (replace(two, digest="2"), {"s": three}),
    ):
        timed.ledger.transact(lambda tx, s=standing, b=before: schedules.move(tx, [s], b))
    assert timed.standing() == two


def test_db_check_finds_firings_and_submissions_that_do_not_match(
    timed: Timed,
) -> None:
    timed.edit(s={})
    timed.look()
    timed.look("13:00:00")
    with psycopg.connect(timed.url, autocommit=True) as connection:
        connection.execute("UPDATE submission SET id = id || 'x'")
    assert [breach.rule for breach in timed.ledger.transact(breaches)] == [
        "a due time that was fired has its submission",
        "a submission of a schedule belongs to a recorded firing",
    ]
    with psycopg.connect(timed.url, autocommit=True) as connection:
        connection.execute("UPDATE submission SET id = left(id, -1)")


class TestRaces:
    """Races in which one act stops before its n-th statement, while the other runs until it ends or waits."""

    @pytest.mark.parametrize("overlap", ["none", "queue", "replace"])
    def test_two_concurrent_scheduler_checks_fire_each_due_time_once(
        self, timed: Timed, overlap: str
    ) -> None:
        words = {} if overlap == "none" else {"overlap": overlap}
        for statement in range(STATEMENTS_MAX):
            timed.edit(s={"catch_up": "all", **words}, new={} if statement % 2 else {"every": "90m"})
            timed.look()
            timed.now += timedelta(hours=2)

            def look(ledger: Ledger) -> list[object]:
                return list(due_schedules.check_schedules(ledger, timed.catalogue, Look()))

            stopped, _, _ = race(timed.url, lambda: timed.now, look, look, statement)
            timed.look()
            assert timed.ledger.transact(breaches) == []
            assert len(timed.submissions()) == len(timed.fired()) + len(timed.fired("new"))
            due = [each.due for each in timed.firings()]
            assert due == [due[0] + timedelta(hours=hour) for hour in range(len(due))]
            assert timed.next() == f"{timed.now + timedelta(hours=1):%H:00}"
            if not stopped:
                return
        raise AssertionError("it has more statements than this test looks at")

    def test_a_scheduler_check_and_a_fire_by_hand_fire_one_due_time_once(self, timed: Timed) -> None:
        for statement in range(STATEMENTS_MAX):
            timed.edit(s={"overlap": "queue"})
            timed.look()
            due = timed.standing().next_due
            assert due is not None
            timed.now = due

            def look(ledger: Ledger) -> bool:
                return bool(due_schedules.check_schedules(ledger, timed.catalogue, Look()))

            def fire(ledger: Ledger, due: datetime = due) -> bool:
                return manual.fire(ledger, timed.catalogue.schedules["s"], due).is_new

            stopped, looked, fired = race(timed.url, lambda: timed.now, look, fire, statement)
            row = timed.firings()[-1]
            assert row.due == due
            assert row.outcome == "fired"
            assert timed.submissions().count(submission_id("s", due)) == 1
            assert [looked, fired].count(True) == 1
            timed.cancel(submission_id("s", due))
            assert timed.ledger.transact(breaches) == []
            if not stopped:
                return
        raise AssertionError("it has more statements than this test looks at")

    def test_a_due_time_is_fired_or_paused_if_a_scheduler_check_races_a_pause(self, timed: Timed) -> None:
        for statement in range(STATEMENTS_MAX):
            timed.edit(s={})
            timed.look()
            due = timed.standing().next_due
            assert due is not None
            timed.now = due

            def look(ledger: Ledger) -> bool:
                return bool(due_schedules.check_schedules(ledger, timed.catalogue, Look()))

            def pause(ledger: Ledger) -> bool:
                return bool(manual.pause(ledger, timed.catalogue, ["s"]))

            stopped, _, paused = race(timed.url, lambda: timed.now, look, pause, statement)
            assert paused
            timed.look()
            assert timed.firings()[-1].due == due
            assert timed.firings()[-1].outcome in ("fired", "paused")
            assert timed.standing().paused_at is not None
            manual.resume(timed.ledger, ["s"])
            if not stopped:
                return
        raise AssertionError("it has more statements than this test looks at")
