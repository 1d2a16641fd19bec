"""Recovery from lost messages by the groomer."""

from datetime import timedelta

from sluice.actors.executor import transactions
from sluice.actors.groomer import ticks
from sluice.actors.groomer.redispatch import announce_everything
from sluice.broker.messages import Ended, Tick
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.model.submission import Submission
from sluice.jobs.states import State
from sluice.ledger.database.connection import Tx
from sluice.ledger.job_graph import dependencies
from sluice.ledger.lifecycle import judgements, submissions
from sluice.ledger.recovery import groomer_steps, leases
from sluice.planner.judge import judge
from tests.world import World

#: Seconds: longer than the groomer waits before it repeats an announcement, and shorter than a lease.
LATER_S = 11.0


def test_a_lost_notification_is_repeated(world: World) -> None:
    world.apps("a")
    world.submit("a")
    world.lose_messages()
    world.tick(after_s=1)
    assert world.offered == []
    world.tick(after_s=LATER_S)
    assert len(world.offered) == 1


def test_announcements_are_repeated_at_growing_intervals(world: World) -> None:
    """No worker is idle, so the notification may still be in the queue."""
    world.apps("a")
    world.submit("a")
    world.ledger.transact(lambda tx: leases.leave(tx, world.worker))
    world.lose_messages()
    for _ in range(100):
        world.tick(after_s=1)
    assert len(world.offered) == 3  # after 10, 30 and 70 seconds


def test_a_lost_executed_message_is_repeated(world: World) -> None:
    world.apps("a")
    world.submit("a")
    claimed = world.claim("a")
    assert claimed is not None
    transactions.record(world.ledger, {claimed.right: Outcome(ending=Ending.DONE)})
    assert world.state("a") is State.EXECUTED
    world.tick(after_s=LATER_S)
    assert world.state("a") is State.SUCCEEDED


def test_the_groomer_makes_up_for_a_propagation_that_a_planner_missed(world: World) -> None:
    """A planner that dies between its two transactions leaves a row in ``propagation_outbox``."""
    world.apps("a -> b")
    world.submit("a")
    claimed = world.claim("a")
    assert claimed is not None
    transactions.record(world.ledger, {claimed.right: Outcome(ending=Ending.DONE)})

    def judge_and_die(tx: Tx) -> None:
        dependencies.propagate(tx, list(judgements.judge(tx, [claimed.id], judge).ended))

    world.ledger.transact(judge_and_die)
    assert world.states() == {"a": State.SUCCEEDED}
    world.tick(after_s=3)
    assert world.ready() == {"b"}


_BEHIND = f"""
INSERT INTO submission (id, app, state, request, push, received_at, blocking_job)
SELECT 'behind' || nth, app, 'active', '{{}}', false, created_at, id
FROM job, generate_series(1, {submissions.FIRST_ACTIVE}) nth WHERE app = 'old'
"""
_REOPEN = """
UPDATE submission SET state = 'active', ended_at = NULL, blocking_job = (SELECT id FROM job WHERE app = 'a')
WHERE id = 's'
"""


def test_a_missed_end_behind_many_submissions_is_found_soon_or_by_a_tick_for_backlogs(world: World) -> None:
    """If it is found later, its job ended in a transaction that took long."""
    world.apps("old, a")
    world.submit("old")
    world.ledger.transact(lambda tx: tx.write(_BEHIND))
    world.submit("a", id="s")
    world.finish("a")
    world.ledger.transact(lambda tx: tx.write(_REOPEN))
    world.tick(after_s=1)
    assert world.submission("s") == "succeeded"
    world.ledger.transact(lambda tx: tx.write(_REOPEN))
    world.tick(after_s=submissions.ENDED_LATELY_S)
    assert world.submission("s") == "active"
    world.queue.append(Tick(backlogs=True))
    world.deliver()
    assert world.submission("s") == "succeeded"


def test_missing_propagations_are_announced_at_growing_intervals(world: World) -> None:
    """Otherwise each tick would send the whole backlog again to a planner that is behind."""
    world.apps("a -> b")
    world.submit("a")
    claimed = world.claim("a")
    assert claimed is not None
    transactions.record(world.ledger, {claimed.right: Outcome(ending=Ending.DONE)})
    world.ledger.transact(
        lambda tx: dependencies.propagate(tx, list(judgements.judge(tx, [claimed.id], judge).ended))
    )
    told: list[Ended] = []
    for _ in range(100):
        world.now += timedelta(seconds=1)
        told += [
            each for each in ticks.tick(world.ledger, world.catalogue, Tick()) if isinstance(each, Ended)
        ]
    assert told == 5 * [Ended(jobs=(claimed.id,))]  # after 3, 9, 21, 45 and 93 seconds


def test_a_tick_that_finds_nothing_changes_nothing(world: World) -> None:
    world.apps("a -> b")
    world.submit("b")
    before = world.ledger.transact(lambda tx: tx.rows("SELECT * FROM job ORDER BY id"))
    world.tick(after_s=1)
    assert world.ledger.transact(lambda tx: tx.rows("SELECT * FROM job ORDER BY id")) == before


def test_all_messages_that_a_broker_lost_can_be_repeated_at_once(world: World) -> None:
    """This applies to ready jobs, executed jobs and received submissions, without the delay of the groomer."""
    world.apps("a, b -> c, d")
    world.submit("a")
    world.submit("b", push="wanted")
    claimed = world.claim("b")
    assert claimed is not None
    transactions.record(world.ledger, {claimed.right: Outcome(ending=Ending.DONE)})
    world.ledger.transact(lambda tx: submissions.receive(tx, [Submission(app="d", key="1", id="d")]))
    world.lose_messages()
    world.now += timedelta(microseconds=1)
    assert announce_everything(world.ledger, world.queue.extend) == 2
    world.deliver()
    assert world.states() == {"a": State.READY, "b": State.SUCCEEDED, "d": State.READY}
    assert {message.app for message in world.offered} == {"a", "d"}


def test_a_job_past_its_end_is_expired_and_not_timed_out(world: World) -> None:
    """If more jobs are past their end than one step of the groomer expires, the rest stays for the next step."""
    world.apps("a", timeout=5)
    world.submit("a", policy={"end_before": (world.now + timedelta(seconds=8)).isoformat()})
    assert world.claim("a") is not None
    world.now += timedelta(seconds=9)
    assert world.ledger.transact(lambda tx: groomer_steps.time_out(tx, 10)) == []
    assert (world.state("a"), world.field("a", "timeouts")) == (State.RUNNING, 0)
    world.beat(world.worker)
    world.tick()
    assert world.state("a") is State.EXPIRED
