"""Jobs of a lost worker go to the front of their app, and idle workers are soon notified again."""

from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise

import pytest

from sluice.actors.executor import transactions
from sluice.broker.messages import Execute, JobRound, Message
from sluice.ledger.lifecycle.claims import ClaimedJob
from sluice.ledger.limits import app_pauses
from tests.world import LEASE_S, World

BACKLOG = [f"a/{number}" for number in range(2, 7)]


@pytest.fixture
def behind(world: World) -> World:
    """Take job ``a/1`` back from a lost worker. Its notification is behind the notifications of a backlog."""
    world.apps("a")
    world.submit("a")
    assert world.claim("a", worker=world.hire())
    world.offered.clear()
    for job in BACKLOG:
        world.submit("a", job.partition("/")[2])
    world.now += timedelta(seconds=LEASE_S + 1)
    world.beat(world.worker)
    world.tick()
    assert world.ready() == {"a", *BACKLOG}
    return world


def test_a_job_that_was_taken_back_is_claimed_by_the_next_notification_of_its_app(behind: World) -> None:
    assert _claimed(behind, behind.offered[0])[0] == ["1"]


def test_the_notifications_suffice_for_all_jobs(behind: World) -> None:
    claimed = [key for message in behind.offered for key in _claimed(behind, message)[0]]
    assert claimed[0] == "1"
    assert sorted(claimed) == ["1", "2", "3", "4", "5", "6"]


def test_a_job_that_was_taken_back_is_claimed_alone_by_a_notification_for_several(behind: World) -> None:
    """The job may have caused the loss of its worker. The jobs that the notification names are announced again."""
    keys, messages = _claimed(behind, _notification(behind, BACKLOG))
    assert keys == ["1"]
    again = [message for message in messages if isinstance(message, Execute)]
    assert {turn.job for message in again for turn in message.jobs} == {
        behind.known(job).id for job in BACKLOG
    }
    assert [key for message in again for key in _claimed(behind, message)[0]] == ["2", "3", "4", "5", "6"]


def test_a_job_that_was_taken_back_is_claimed_by_an_outdated_notification(behind: World) -> None:
    gone = Execute(app="a", jobs=tuple(JobRound(behind.known(job).id, 7) for job in BACKLOG[:2]))
    assert _claimed(behind, gone)[0] == ["1"]


def test_a_job_of_higher_priority_is_claimed_before_a_job_taken_back(behind: World) -> None:
    behind.submit("a", "9", policy={"priority": 1})
    assert _claimed(behind, behind.offered[0])[0] == ["9"]
    assert _claimed(behind, behind.offered[1])[0] == ["1"]


def test_a_lost_notification_of_an_idle_app_is_repeated_within_two_ticks(world: World) -> None:
    world.apps("a")
    world.now += timedelta(seconds=2)
    world.submit("a")
    world.lose_messages()
    world.tick(after_s=1)
    world.tick(after_s=1)
    (message,) = world.offered
    assert _claimed(world, message)[0] == ["1"]


def test_a_lost_notification_is_repeated_later_if_all_workers_are_busy(world: World) -> None:
    """The notification may still be in its queue, behind the notifications of other jobs."""
    world.apps("a, b")
    world.submit("b")
    assert world.claim("b")
    world.submit("a")
    world.lose_messages()
    for _ in range(9):
        world.beat(world.worker)
        world.tick(after_s=1)
        assert world.offered == []
    world.tick(after_s=2)
    assert [message.app for message in world.offered] == ["a"]


@pytest.fixture
def shared(world: World) -> World:
    """Have a worker with two threads run short jobs of the app ``b``. It is never idle, and has room for other apps."""
    world.apps("a, b, c")
    threads = "UPDATE worker SET threads = 2 WHERE id = %(worker)s"
    world.ledger.transact(lambda tx: tx.write(threads, worker=world.worker))
    world.submit("b", None, keys=[str(number) for number in range(10, 50)])
    return world


def _announced(world: World, seconds: int) -> list[tuple[int, str]]:
    """Let the worker run two jobs of ``b`` a second. Return the second and the app of each notification of the groomer
    that is not about ``b``."""
    found = []
    for second in range(1, seconds + 1):
        for job in sorted(job for job in world.ready() if job.startswith("b/"))[:2]:
            world.finish(job)
        world.offered.clear()
        world.beat(world.worker)
        world.tick(after_s=1)
        found += [(second, message.app) for message in world.offered if message.app != "b"]
    return found


def test_a_lost_notification_is_repeated_within_two_ticks_if_the_worker_also_runs_other_apps(
    shared: World,
) -> None:
    shared.submit("a")
    shared.lose_messages()
    assert _announced(shared, 3)[:1] == [(2, "a")]


def test_only_the_first_job_of_an_app_is_announced_again_while_the_worker_runs_other_apps(
    shared: World,
) -> None:
    """The worker may have room for a moment only. Then these notifications are superfluous."""
    shared.submit("a", None, keys=["1", "2", "3"])
    shared.submit("c")
    shared.lose_messages()
    _announced(shared, 1)
    assert _announced(shared, 1) == [(1, "a"), (1, "c")]
    assert [turn.job for turn in shared.offered[0].jobs] == [shared.known("a/1").id]


def test_an_app_that_begins_jobs_is_not_announced_again_by_a_worker_with_room(shared: World) -> None:
    """Notifications of ready jobs are probably in the queue."""
    shared.submit("a", None, keys=[str(number) for number in range(9)])
    shared.lose_messages()
    for number in range(5):
        shared.finish(f"a/{number}")
        assert _announced(shared, 1) == []


def test_an_app_with_a_running_job_is_not_announced_again_by_a_worker_with_room(shared: World) -> None:
    shared.submit("a", None, keys=["1", "2"])
    shared.lose_messages()
    assert shared.claim("a/1")
    assert _announced(shared, 5) == []


def test_a_paused_app_is_not_announced_again_by_a_worker_with_room(shared: World) -> None:
    shared.submit("a")
    shared.lose_messages()
    shared.ledger.transact(lambda tx: app_pauses.pause(tx, ["a"], by=None))
    assert _announced(shared, 5) == []


def test_a_notification_is_repeated_at_longer_and_longer_intervals(world: World) -> None:
    """A worker that has room and cannot be reached must not find many repeated notifications later."""
    world.apps("a")
    world.submit("a")
    repeated = []
    for second in range(1, 31):
        world.offered.clear()
        world.beat(world.worker)
        world.tick(after_s=1)
        repeated += [second] if world.offered else []
    assert len(repeated) <= 5
    gaps = [later - sooner for sooner, later in pairwise(repeated)]
    assert gaps == sorted(gaps)


def _claimed(world: World, message: Execute) -> tuple[list[str], Sequence[Message]]:
    """Claim with this notification. Return the keys of the claimed jobs, and the messages to send."""
    claimed: list[ClaimedJob]
    claimed, messages = transactions.claim(world.ledger, world.catalogue, message, world.worker)
    return [job.key for job in claimed], messages


def _notification(world: World, jobs: Sequence[str]) -> Execute:
    return Execute(app="a", jobs=tuple(JobRound(world.known(job).id, world.round(job)) for job in jobs))


def test_a_lost_worker_is_logged_once_with_the_number_of_its_jobs(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.apps("a, b")
    lost = world.hire()
    for job in ("a/1", "a/2", "b/1"):
        world.submit(*job.split("/"), policy={"max_losses": 0} if job == "b/1" else {})
        assert world.claim(job, worker=lost)
    world.now += timedelta(seconds=LEASE_S + 1)
    world.beat(world.worker)
    world.tick()
    world.tick(after_s=1)
    told = [record for record in caplog.records if record.name == "sluice.groomer"]
    assert [record.levelname for record in told] == ["WARNING"]
    assert told[0].getMessage() == (
        "the worker 1 on test is lost, its lease ended: 3 jobs were taken back; 1 failed, lost too often:"
        " a/1, a/2, b/1"
    )
