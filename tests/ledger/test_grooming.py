"""Whatever message is lost, the groomer makes up for it."""

from datetime import timedelta

from sluice.actors import executor, groomer
from sluice.actors.upkeep import announce_everything
from sluice.broker.messages import Ended, Tick
from sluice.jobs.outcome import Ending, Outcome
from sluice.jobs.states import State
from sluice.jobs.submission import Submission
from sluice.ledger import counts, grooming, judging, submissions, workers
from sluice.ledger.connection import Tx
from sluice.planner.judge import judge
from tests.world import World

#: Longer than the groomer's patience with an announcement, shorter than a lease.
LATER_S = 11.0


def test_a_lost_execution_is_announced_again(world: World) -> None:
    world.apps("a")
    world.submit("a")
    world.lose_messages()
    world.tick(after_s=1)
    assert world.offered == []
    world.tick(after_s=LATER_S)
    assert len(world.offered) == 1


def test_announcements_become_rarer(world: World) -> None:
    """No worker is idle, so a notification may be where it belongs."""
    world.apps("a")
    world.submit("a")
    world.ledger.transact(lambda tx: workers.leave(tx, world.worker))
    world.lose_messages()
    for _ in range(100):
        world.tick(after_s=1)
    assert len(world.offered) == 3  # after 10, 30 and 70 seconds


def test_a_lost_executed_message_is_repeated(world: World) -> None:
    world.apps("a")
    world.submit("a")
    claimed = world.claim("a")
    assert claimed is not None
    executor.record(world.ledger, {claimed.right: Outcome(ending=Ending.DONE)})
    assert world.state("a") is State.EXECUTED
    world.tick(after_s=LATER_S)
    assert world.state("a") is State.SUCCEEDED


def test_children_that_were_not_told_are_told(world: World) -> None:
    """A planner that dies between its two transactions leaves a debt, and the groomer pays it."""
    world.apps("a -> b")
    world.submit("a")
    claimed = world.claim("a")
    assert claimed is not None
    executor.record(world.ledger, {claimed.right: Outcome(ending=Ending.DONE)})

    def judge_and_die(tx: Tx) -> None:
        counts.tell(tx, list(judging.judge(tx, [claimed.id], judge).ended))

    world.ledger.transact(judge_and_die)
    assert world.states() == {"a": State.SUCCEEDED}
    world.tick(after_s=3)
    assert world.ready() == {"b"}


def test_a_planner_that_is_behind_is_told_the_same_less_and_less_often(world: World) -> None:
    """Else each tick would add all that it is behind with to what it has to read."""
    world.apps("a -> b")
    world.submit("a")
    claimed = world.claim("a")
    assert claimed is not None
    executor.record(world.ledger, {claimed.right: Outcome(ending=Ending.DONE)})
    world.ledger.transact(lambda tx: counts.tell(tx, list(judging.judge(tx, [claimed.id], judge).ended)))
    told: list[Ended] = []
    for _ in range(100):
        world.now += timedelta(seconds=1)
        told += [
            each for each in groomer.tick(world.ledger, world.catalogue, Tick()) if isinstance(each, Ended)
        ]
    assert told == 5 * [Ended(jobs=(claimed.id,))]  # after 3, 9, 21, 45 and 93 seconds


def test_a_tick_that_finds_nothing_changes_nothing(world: World) -> None:
    world.apps("a -> b")
    world.submit("b")
    before = world.ledger.transact(lambda tx: tx.rows("SELECT * FROM job ORDER BY id"))
    world.tick(after_s=1)
    assert world.ledger.transact(lambda tx: tx.rows("SELECT * FROM job ORDER BY id")) == before


def test_all_that_died_with_a_broker_can_be_announced_at_once(world: World) -> None:
    """Ready, executed, and received jobs alike, and nobody has to wait for the groomer's patience to end."""
    world.apps("a, b -> c, d")
    world.submit("a")
    world.submit("b", push="wanted")
    claimed = world.claim("b")
    assert claimed is not None
    executor.record(world.ledger, {claimed.right: Outcome(ending=Ending.DONE)})
    world.ledger.transact(lambda tx: submissions.receive(tx, [Submission(app="d", key="1", id="d")]))
    world.lose_messages()
    world.now += timedelta(microseconds=1)
    assert announce_everything(world.ledger, world.queue.extend) == 2
    world.deliver()
    assert world.states() == {"a": State.READY, "b": State.SUCCEEDED, "d": State.READY}
    assert {message.app for message in world.offered} == {"a", "d"}


def test_what_has_passed_its_end_is_not_timed_out(world: World) -> None:
    """Of so many that are overdue that one step does not end them all, the others stay for the next."""
    world.apps("a", timeout=5)
    world.submit("a", policy={"end_before": (world.now + timedelta(seconds=8)).isoformat()})
    assert world.claim("a") is not None
    world.now += timedelta(seconds=9)
    assert world.ledger.transact(lambda tx: grooming.time_out(tx, 10)) == []
    assert (world.state("a"), world.field("a", "timeouts")) == (State.RUNNING, 0)
    world.beat(world.worker)
    world.tick()
    assert world.state("a") is State.EXPIRED
