"""Submissions that kill their planners: such a submission is refused, and other submissions are still planned."""

from collections.abc import Iterator
from datetime import timedelta

import psycopg
import pytest

from sluice.actors.planner.plan_attempts import NOT_ITS_TURN, RETRY_S, UNDECIDED
from sluice.broker.messages import Plan
from sluice.jobs.model.submission import SubmissionState
from sluice.ledger.database.connection import Tx
from sluice.ledger.lifecycle import plan_attempts, submissions
from sluice.ledger.recovery import leases
from tests.actors.dying_planners import (
    APPS,
    DURING,
    Killed,
    Planner,
    attempts,
    kill,
    kill_planners,
    let_leases_end,
    receive,
)
from tests.jobs.runners.runner_bench import eventually
from tests.world import World

_CUT = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction'"


@pytest.fixture(autouse=True)
def nothing_during() -> Iterator[None]:
    DURING.clear()
    yield
    DURING.clear()


@pytest.fixture
def asked(world: World) -> World:
    """Return a world in which ``short`` and ``long`` were submitted and nothing was planned."""
    world.define(APPS)
    receive(world, "short", "short")
    receive(world, "long", "long")
    return world


def test_a_submission_that_killed_three_planners_is_refused_and_others_are_planned(asked: World) -> None:
    kill_planners(asked, "long", times=3)
    assert asked.submission("long") is SubmissionState.RECEIVED
    Planner(asked).plan_all("long", "short")
    assert asked.submission("long") is SubmissionState.REFUSED
    assert asked.reason("long").startswith(
        "Planning it ended 3 planners, which were killed or crashed (processes 1 on test, 1 on test, 1 on test)."
    )
    assert asked.submission("short") is SubmissionState.ACTIVE
    assert "long" not in dict(attempts(asked))


@pytest.mark.parametrize("id", ["long", "chunks"])
def test_immediate_deaths_count_once_the_submission_has_waited_long(asked: World, id: str) -> None:
    receive(asked, "chunks", "chunks")
    for recorded in range(4):
        DURING[:] = [kill]
        with pytest.raises(Killed):
            Planner(asked).plan_all(id)
        assert [of for of, _ in attempts(asked)] == [id] * recorded
        asked.now += timedelta(minutes=2)
    Planner(asked).plan_all(id)
    assert asked.submission(id) is SubmissionState.REFUSED


def test_a_submission_that_killed_only_two_planners_is_planned(asked: World) -> None:
    kill_planners(asked, "long", times=2)
    Planner(asked).plan_all("long")
    assert asked.submission("long") is SubmissionState.ACTIVE
    asked.tick()
    assert attempts(asked) == []


def test_submissions_attempted_with_a_planner_killing_one_are_then_planned_apart(asked: World) -> None:
    kill_planners(asked, "long", "short", times=1)
    assert [id for id, _ in attempts(asked)] == ["long", "short"]
    planner = Planner(asked)
    assert planner.plan("long", "short") == [Plan(submissions=("short",)), Plan(submissions=("long",))]
    receive(asked, "later", "short")
    planner.die_of("long")
    assert asked.submission("later") is SubmissionState.RECEIVED
    assert [id for id, _ in attempts(asked)] == ["long", "long", "short"]
    Planner(asked).plan_all("short")
    assert asked.submission("short") is SubmissionState.ACTIVE


def test_later_submissions_are_planned_without_the_one_that_kills_planners(asked: World) -> None:
    kill_planners(asked, "long", times=1)
    receive(asked, "later", "short")
    planner = Planner(asked)
    planner.plan_all("short")
    assert asked.submission("later") is SubmissionState.ACTIVE
    assert asked.submission("long") is SubmissionState.RECEIVED


def test_a_submission_about_work_ids_that_killed_three_planners_is_refused(asked: World) -> None:
    receive(asked, "chunks", "chunks")
    for _ in range(3):
        Planner(asked).die_of("chunks")
        asked.now += timedelta(minutes=2)
    Planner(asked).plan_all("chunks")
    assert asked.submission("chunks") is SubmissionState.REFUSED


def test_an_attempt_of_a_living_worker_does_not_count_as_a_death(asked: World) -> None:
    planners = [Planner(asked) for _ in range(3)]
    for planner in planners:
        planner.die_of("long")
        let_leases_end(asked)
    for planner in planners:
        asked.beat(planner.worker)
    other = Planner(asked)
    other.plan_all("long")
    assert asked.submission("long") is SubmissionState.RECEIVED
    assert asked.reason("long") == UNDECIDED
    assert len(attempts(asked)) == 3
    for planner in planners:
        planner.look_twice()
    asked.now += timedelta(seconds=RETRY_S)
    other.plan_all("long")
    assert asked.submission("long") is SubmissionState.ACTIVE


def test_a_planner_does_not_wait_for_its_own_attempt(asked: World) -> None:
    planner = Planner(asked)
    planner.die_of("long")
    planner.plan_all("long")
    assert asked.submission("long") is SubmissionState.ACTIVE


def test_an_error_during_planning_does_not_count_as_a_death(
    asked: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    planner = Planner(asked)

    def fail(tx: Tx, numbers: object) -> None:
        raise MemoryError

    DURING[:] = [planner.look_twice]
    monkeypatch.setattr("sluice.ledger.lifecycle.submissions.activate", fail)
    with pytest.raises(MemoryError):
        planner.plan_all("long")
    assert [id for id, _ in attempts(asked)] == ["long"]
    planner.attempts.record()
    assert attempts(asked) == []


def test_a_lost_connection_does_not_count_as_a_death(asked: World) -> None:
    planner = Planner(asked)

    def lose_the_connection() -> None:
        DURING.clear()
        planner.look_twice()
        with psycopg.connect(asked.url, autocommit=True) as connection:
            assert connection.execute(_CUT).fetchall() == [(True,)]

    DURING[:] = [lose_the_connection]
    planner.plan_all("long")
    assert asked.submission("long") is SubmissionState.ACTIVE
    planner.attempts.record()
    assert attempts(asked) == []


def test_the_attempts_of_a_worker_that_leaves_are_removed(asked: World) -> None:
    planner = Planner(asked)
    planner.die_of("long")
    asked.ledger.transact(lambda tx: leases.leave(tx, planner.worker))
    assert attempts(asked) == []


def test_planning_that_ends_before_the_second_check_is_not_recorded(asked: World) -> None:
    planner = Planner(asked)
    DURING[:] = [planner.attempts.record]
    planner.plan_all("long")
    planner.attempts.record()
    assert attempts(asked) == []


def test_a_thread_records_planning_that_takes_long_and_removes_it_afterwards(
    asked: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sluice.actors.planner.plan_attempts.LOOK_S", 0.01)
    planner = Planner(asked)
    planner.attempts.start()
    DURING[:] = [lambda: eventually(lambda: [id for id, _ in attempts(asked)] == ["long"])]
    planner.plan_all("long")
    assert asked.submission("long") is SubmissionState.ACTIVE
    eventually(lambda: attempts(asked) == [])
    planner.attempts.close()


def test_attempts_at_a_cancelled_submission_are_removed(asked: World) -> None:
    kill_planners(asked, "long", times=1)
    asked.cancel("long")
    asked.tick()
    assert attempts(asked) == []


def test_a_refused_submission_may_be_submitted_again_under_its_id(asked: World) -> None:
    kill_planners(asked, "long", times=3)
    Planner(asked).plan_all("long")
    receive(asked, "long", "long")
    Planner(asked).plan_all("long")
    assert asked.submission("long") is SubmissionState.ACTIVE


@pytest.mark.parametrize("app", ["long", "chunks"])
def test_submissions_that_killed_a_planner_are_planned_one_at_a_time(asked: World, app: str) -> None:
    receive(asked, "chunks", "chunks")
    Planner(asked).die_of("long")
    Planner(asked).die_of("chunks")
    asked.now += timedelta(minutes=2)
    one, other = Planner(asked), Planner(asked)
    with asked.ledger.begin() as tx:
        assert plan_attempts.take_turn(tx)
        with asked.ledger.begin() as another:
            assert submissions.lock_one_unplanned(another, app) is None
        one.plan_all(app)
    assert asked.submission(app) is SubmissionState.RECEIVED
    assert asked.reason(app) == NOT_ITS_TURN
    asked.now += timedelta(seconds=RETRY_S)
    other.plan_all(app)
    assert asked.submission(app) is SubmissionState.ACTIVE
