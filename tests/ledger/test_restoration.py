"""Restorations: a ledger that was restored to an earlier time gives out no number twice."""

from datetime import timedelta

from sluice.jobs.model.job import Ending
from sluice.jobs.states import State
from sluice.ledger import managed_tasks
from sluice.ledger.database.connection import Tx
from sluice.ledger.recovery import restoration
from sluice.ledger.recovery.invariants import breaches
from sluice.ledger.stats import state_counts
from tests.broker.conftest import until
from tests.world import LEASE_S, World

_IDS = "SELECT max(id) FROM job"
_CLAIM = "SELECT claim FROM job WHERE app = %(app)s"
_PLACE = "SELECT counted FROM aggregation_cursor"
#: Statement that simulates a backup from a server with more transactions than this server will have for a long time.
_FROM_AN_OLDER_SERVER = (
    "UPDATE aggregation_cursor SET issued = 0, committed = 0, counted = 0, issued_xid = 1e15"
)


def _restored(world: World) -> int:
    world.now += timedelta(seconds=2 * LEASE_S)
    above = world.ledger.transact(restoration.restore)
    assert above is not None
    world.worker = world.hire()
    return above


def _claim(world: World, app: str) -> int:
    return int(world.ledger.transact(lambda tx: tx.column(_CLAIM, app=app))[0])


def test_after_a_restoration_new_claim_numbers_are_above_all_earlier_ones(
    world: World,
) -> None:
    world.apps("a, b, c")
    for app in ("a", "b"):
        world.submit(app)
    world.finish("a")
    above = _restored(world)
    world.submit("c")
    for app in ("b", "c"):
        world.finish(app)
        assert _claim(world, app) == above + 1
    assert _claim(world, "a") == 1, "an earlier claim keeps its number"
    world.submit("a", rerun="job")
    world.finish("a")
    assert _claim(world, "a") == above + 1


def test_a_claim_from_before_a_restoration_has_no_effect_on_the_new_run(world: World) -> None:
    world.apps("a", max_losses=3)
    world.submit("a")
    before = world.claim("a")
    above = _restored(world)
    world.tick()
    world.finish("a")
    assert _claim(world, "a") == above + 1
    assert not world.record(before, Ending.ERROR, error="it broke")
    assert world.state("a") is State.SUCCEEDED


def test_after_a_restoration_job_ids_and_task_numbers_are_above_earlier_ones(world: World) -> None:
    world.apps("a, b")
    world.submit("a")
    world.ledger.transact(lambda tx: managed_tasks.reserve(tx, "a", 2, []))
    above = _restored(world)
    world.submit("b")
    assert world.ledger.transact(lambda tx: tx.column(_IDS)) == [above + 1]
    for app in ("a", "b"):
        assert world.ledger.transact(lambda tx, app=app: managed_tasks.reserve(tx, app, 1, [])) == [
            str(above + 1)
        ]


def test_a_second_restoration_of_a_backup_uses_numbers_above_the_first(world: World) -> None:
    first = _restored(world)
    world.ledger.transact(lambda tx: tx.write("DELETE FROM restoration"))
    assert _restored(world) > first
    again = world.ledger.transact(lambda tx: (restoration.restore(tx), restoration.leases(tx)))
    assert again == (None, 1), "a worker was hired in between"


def test_a_ledger_with_an_active_worker_is_not_marked_as_restored(world: World) -> None:
    before = world.ledger.transact(lambda tx: tx.column("SELECT count(*) FROM restoration"))
    assert world.ledger.transact(restoration.restore) is None
    assert world.ledger.transact(lambda tx: tx.column("SELECT count(*) FROM restoration")) == before


def test_counting_continues_after_a_restoration_to_lower_transaction_numbers(world: World) -> None:
    world.apps("a")
    world.submit("a", None, keys=["1", "2"])

    def from_elsewhere(tx: Tx) -> None:
        tx.write("TRUNCATE state_count, state_count_minute, state_duration, transition_count")
        tx.write(_FROM_AN_OLDER_SERVER)

    def counted() -> int:
        world.now += timedelta(seconds=60)
        for _ in range(3):
            world.ledger.transact(state_counts.count)
        return int(world.ledger.transact(lambda tx: tx.column(_PLACE))[0])

    world.ledger.transact(from_elsewhere)
    assert counted() == 0, "it waits for transactions that ended on another server"
    above = _restored(world)
    world.finish("a/1")
    # Counting waits for older transactions of the whole server, on which other tests may run at the same time.
    until(lambda: counted() > above)
    assert world.ledger.transact(breaches) == []
