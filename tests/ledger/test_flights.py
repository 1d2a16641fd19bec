"""Flights of a job: when a flight goes on, and when a new one begins."""

import pytest

from sluice.jobs.model.job import Ending
from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.sagas.journal import Direction, EntryResult
from sluice.jobs.states import State
from sluice.ledger.lifecycle.claims import ClaimedJob
from sluice.ledger.lifecycle.outcomes import LOOK_AGAIN_S
from sluice.ledger.reads import saga_details
from sluice.ledger.recovery.groomer_steps import RETAKE_S_MAX
from sluice.ledger.sagas import abortion
from sluice.ledger.sagas.journals import CRASHES_MAX
from tests.ledger.flights import STEPS, Sagas, did, switched, undid
from tests.world import LEASE_S, World


@pytest.fixture
def sagas(world: World) -> Sagas:
    world.apps("a")
    world.submit("a")
    return Sagas(world)


def _condemned(sagas: Sagas) -> ClaimedJob:
    """Let the second do fail, and the undo of it too, so that the saga is fatal. Return the claim."""
    claimed = sagas.claim()
    for entry in (did(1), switched(2, 1), undid(3, 1, EntryResult.UNDO_FAILED)):
        assert sagas.write(claimed, entry).stands
    sagas.end(claimed, Ending.UNDO_FAILED, "gone")
    assert sagas.world.state("a") is State.FATAL
    return claimed


def test_a_saga_may_lose_any_number_of_workers(world: World) -> None:
    world.apps("a", max_losses=1)
    world.submit("a")
    sagas = Sagas(world)
    for turn in range(1, 6):
        claimed = sagas.claim()
        assert (claimed.round, claimed.flight, claimed.claim) == (0, 0, turn)
        world.tick(after_s=LEASE_S + 1)
        world.tick(after_s=RETAKE_S_MAX)
        assert (world.state("a"), world.field("a", "losses")) == (State.READY, 0)


def test_a_saga_that_loses_workers_pauses_longer_each_time(sagas: Sagas) -> None:
    world = sagas.world
    paused = [_paused_s(sagas, sagas.claim()) for _ in range(12)]
    assert paused == [0, 5, 10, 20, 40, 80, 160, 320, 600, 600, 600, 600]
    claimed = sagas.claim()
    assert world.ledger.transact(lambda tx: saga_details.flight(tx, claimed.id)).crashes == CRASHES_MAX
    assert sagas.write(claimed, did(1)).stands
    assert _paused_s(sagas, claimed) == 0, "it has come farther"
    assert _paused_s(sagas, sagas.claim()) == 5
    handed_back = sagas.claim()
    sagas.end(handed_back, Ending.HANDED_BACK)
    assert _paused_s(sagas, sagas.claim()) == 10
    sagas.end(sagas.claim(), Ending.ERROR)
    assert world.ledger.transact(lambda tx: saga_details.flight(tx, claimed.id)).crashes == 0


def _paused_s(sagas: Sagas, claimed: ClaimedJob) -> float:
    """Let the worker die. Return the seconds that the saga pauses, after they have passed and it is ready."""
    world = sagas.world
    assert world.state("a") is State.RUNNING
    world.tick(after_s=LEASE_S + 1)
    pause_s = 0.0
    if world.state("a") is State.WAITING:
        pause_s = (world.field("a", "not_before") - world.now).total_seconds()
        world.tick(after_s=pause_s)
    assert world.state("a") is State.READY
    assert world.field("a", "claim") == claimed.claim
    return pause_s


@pytest.mark.parametrize(
    ("ending", "taken_up"),
    [(Ending.HANDED_BACK, True), (Ending.NOT_STARTED, False), (Ending.VERSION_UNAVAILABLE, False)],
)
def test_a_claim_shows_if_an_earlier_worker_may_have_begun_the_flight(
    sagas: Sagas, ending: Ending, *, taken_up: bool
) -> None:
    first = sagas.claim()
    assert _taken_up(sagas, first) is False
    sagas.end(first, ending)
    sagas.world.tick(after_s=LOOK_AGAIN_S)
    assert _taken_up(sagas, sagas.claim()) is taken_up


def test_a_worker_that_died_may_have_begun_a_flight(sagas: Sagas) -> None:
    sagas.claim()
    sagas.world.tick(after_s=LEASE_S + 1)
    assert _taken_up(sagas, sagas.claim()) is True


def test_workers_of_earlier_flights_have_not_begun_the_next_flight(world: World) -> None:
    world.apps("a", max_fails=1)
    world.submit("a")
    sagas = Sagas(world)
    sagas.end(sagas.claim(), Ending.HANDED_BACK)
    sagas.end(sagas.claim(), Ending.ERROR)
    assert _taken_up(sagas, sagas.claim()) is False


def _taken_up(sagas: Sagas, claimed: ClaimedJob) -> bool:
    log = sagas.read(claimed)
    assert log is not None
    return log.taken_up


def test_a_saga_that_lost_its_worker_is_announced_in_its_own_notification(world: World) -> None:
    world.apps("a")
    sagas = Sagas(world)
    for key in "123":
        world.submit("a", key)
        assert world.record(sagas.claim(f"a/{key}"), took_s=0.001)
    for key in "456":
        world.submit("a", key)
    sagas.claim("a/4")
    world.lose_messages()
    world.tick(after_s=LEASE_S + 1)
    parcels = [[turn.job for turn in message.jobs] for message in world.offered]
    assert sorted(map(len, parcels)) == [1, 2]
    assert [world.known("a/4").id] in parcels


def test_the_groomer_does_not_time_out_a_saga(world: World) -> None:
    world.apps("a", timeout=5, max_timeouts=0)
    world.submit("a")
    claimed = Sagas(world).claim()
    assert (claimed.timeout_s, world.field("a", "attempt_timeout_at")) == (5.0, None)
    world.tick(after_s=8)
    assert world.state("a") is State.RUNNING


def test_a_saga_that_is_handed_back_keeps_its_flight(sagas: Sagas) -> None:
    first = sagas.claim()
    sagas.end(first, Ending.HANDED_BACK)
    assert sagas.claim().flight == first.flight


def test_a_retry_begins_a_new_flight(world: World) -> None:
    world.apps("a", max_fails=1)
    world.submit("a")
    sagas = Sagas(world)
    first = sagas.claim()
    for entry in (switched(1, 0), undid(2, 0)):
        sagas.write(first, entry)
    sagas.end(first, Ending.ERROR)
    assert not world.field("a", "saga_open")
    second = sagas.claim()
    log = sagas.read(second)
    assert log is not None
    assert (second.round, second.flight, log.last, log.failure) == (1, 1, None, None)
    assert sagas.write(second, did(1)).stands
    sagas.end(second)
    assert (world.state("a"), world.field("a", "saga_open")) == (State.SUCCEEDED, False)


def test_a_rerun_of_a_succeeded_saga_begins_a_new_flight(sagas: Sagas) -> None:
    first = sagas.claim()
    sagas.write(first, did(1))
    sagas.end(first)
    sagas.world.submit("a", rerun="job")
    assert sagas.claim().flight == 1


def test_a_rerun_of_a_fatal_saga_continues_its_flight(sagas: Sagas) -> None:
    first = _condemned(sagas)
    sagas.world.submit("a", rerun="job", kwargs={"other": 1})
    second = sagas.claim()
    log = sagas.read(second)
    assert log is not None
    assert (second.flight, log.last) == (first.flight, undid(3, 1, EntryResult.UNDO_FAILED))
    assert second.kwargs is None, "the flight keeps its own kwargs"
    assert sagas.write(second, undid(4, 1)).stands
    sagas.write(second, undid(5, 0))
    sagas.end(second, Ending.ERROR, "x")
    assert sagas.world.state("a") is State.FAILED
    sagas.world.submit("a", rerun="job")
    assert sagas.claim().flight == first.flight + 1


def test_a_rerun_of_a_cancelled_fatal_saga_removes_the_abort_reason(world: World) -> None:
    world.apps("a")
    submission = world.submit("a")
    sagas = Sagas(world)
    claimed = sagas.claim()
    world.cancel(submission)
    for entry in (switched(1, 0), undid(2, 0, EntryResult.UNDO_FAILED)):
        sagas.write(claimed, entry)
    sagas.end(claimed, Ending.UNDO_FAILED, "gone")
    world.submit("a", rerun="job")
    second = sagas.claim()
    log = sagas.read(second)
    assert log is not None
    assert log.abort_reason is None
    sagas.write(second, undid(3, 0))
    sagas.end(second, Ending.ERROR, "x")
    assert world.state("a") is State.FAILED


def test_a_forced_undo_counts_as_done(sagas: Sagas) -> None:
    first = _condemned(sagas)
    forced = _force(sagas)
    assert forced == abortion.ForcedUndo(1, "S1", STEPS)
    assert sagas.world.state("a") is State.FATAL, "until it is run again"
    sagas.world.submit("a", rerun="job")
    second = sagas.claim()
    log = sagas.read(second)
    assert log is not None
    assert log.last is not None
    last = log.last
    assert (last.seq, last.step, last.direction, last.result) == (4, 1, Direction.UNDO, EntryResult.FORCED)
    assert (last.note, last.failure, last.working) == ("ann", None, {})
    assert (second.flight, log.failure) == (first.flight, switched(2, 1).failure)
    assert sagas.write(second, undid(5, 0)).stands


def test_only_a_failed_undo_can_be_forced(sagas: Sagas) -> None:
    assert _force(sagas) is None
    claimed = sagas.claim()
    assert _force(sagas) is None
    sagas.write(claimed, did(1))
    sagas.end(claimed, Ending.UNDO_FAILED, "its steps cannot be made")
    assert _force(sagas) is None, "nothing of it has failed to be undone"


def test_an_undo_can_be_forced_only_once(sagas: Sagas) -> None:
    _condemned(sagas)
    assert _force(sagas) is not None
    assert _force(sagas) is None


def test_a_saga_that_runs_again_cannot_be_forced(sagas: Sagas) -> None:
    _condemned(sagas)
    sagas.world.submit("a", rerun="job")
    assert _force(sagas) is None


def test_a_saga_that_has_begun_ignores_later_outcomes_of_its_parents(world: World) -> None:
    world.apps("p -> a")
    world.submit("a")
    world.finish("p")
    sagas = Sagas(world)
    sagas.suspend(sagas.claim(), 1, "approved")
    world.submit("p", rerun="job")
    sagas.say("approved")
    assert world.field("a", "unblocked")
    world.finish("p", Ending.ERROR)
    assert world.state("a") is State.READY


def test_a_saga_that_was_undone_takes_its_other_alternative_if_a_parent_failed_meanwhile(
    world: World,
) -> None:
    one = {"job_id": "{x}", "bash_cmd": "true"}
    ways = {"one": {"app_name": ["p"]}, "two": {"app_name": ["q"]}}
    world.define({"p": one, "q": one, "a": {**one, "max_fails": 1, "depends_on": ways}})
    world.submit("a")
    world.finish("p")
    sagas = Sagas(world)
    first = sagas.claim()
    for entry in (did(1), switched(2, 1), undid(3, 1, EntryResult.UNDO_FAILED)):
        sagas.write(first, entry)
    sagas.end(first, Ending.UNDO_FAILED, "gone")
    world.submit("p", rerun="job")
    submission = world.submit("a", rerun="job", policy={"priority": 3})
    second = sagas.claim()
    world.finish("p", Ending.ERROR)
    for entry in (undid(4, 1), undid(5, 0)):
        sagas.write(second, entry)
    sagas.end(second, Ending.ERROR)
    assert (world.state("a"), world.state("q")) == (State.WAITING, State.READY)
    assert world.field("q", "priority") == 3
    world.finish("q")
    sagas.end(sagas.claim())
    assert world.submission(submission) is SubmissionState.SUCCEEDED


def test_children_of_a_fatal_saga_wait_again_when_it_is_rerun(world: World) -> None:
    world.apps("a -> b")
    world.submit("b")
    sagas = Sagas(world)
    _condemned(sagas)
    assert world.state("b") is State.UPSTREAM_FAILED
    world.submit("a", rerun="job")
    assert world.state("b") is State.WAITING


def _force(sagas: Sagas) -> abortion.ForcedUndo | None:
    return sagas.world.ledger.transact(lambda tx: abortion.force_done(tx, JobName("a", "1"), "ann"))
