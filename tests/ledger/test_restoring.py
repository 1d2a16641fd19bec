"""A ledger that was restored to an earlier moment gives out no number twice."""

from datetime import timedelta

from sluice.jobs.states import State
from sluice.ledger import opening, restoring, tallies
from sluice.ledger.connection import Tx
from sluice.ledger.reads.check import breaches
from tests.broker.conftest import until
from tests.world import LEASE_S, World

_IDS = "SELECT max(id) FROM job"
_CLAIM = "SELECT claim FROM job WHERE app = %(app)s"
_PLACE = "SELECT counted FROM tally_place"
#: As if the ledger had come from a server on which more has happened than will here for long.
_FROM_AN_OLDER_SERVER = "UPDATE tally_place SET mark = 0, settled = 0, counted = 0, mark_xid = 1e15"


def _restored(world: World) -> int:
    world.now += timedelta(seconds=2 * LEASE_S)
    above = world.ledger.transact(restoring.restore)
    assert above is not None
    world.worker = world.hire()
    return above


def _claim(world: World, app: str) -> int:
    return int(world.ledger.transact(lambda tx: tx.column(_CLAIM, app=app))[0])


def test_claims_of_jobs_that_were_there_and_of_new_ones_are_above_all_that_were_given_out(
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
    assert _claim(world, "a") == 1, "what a job has had stays, for others compare it"
    world.submit("a", rerun="job")
    world.finish("a")
    assert _claim(world, "a") == above + 1


def test_a_claim_that_was_taken_before_is_refused_after_a_second_try(world: World) -> None:
    world.apps("a", max_losses=3)
    world.submit("a")
    before = world.claim("a")
    above = _restored(world)
    world.tick()
    world.finish("a")
    assert _claim(world, "a") == above + 1
    world.record(before)
    assert world.state("a") is State.SUCCEEDED


def test_ids_and_the_numbers_of_tasks_go_on_above(world: World) -> None:
    world.apps("a, b")
    world.submit("a")
    world.ledger.transact(lambda tx: opening.reserve(tx, "a", 2, []))
    above = _restored(world)
    world.submit("b")
    assert world.ledger.transact(lambda tx: tx.column(_IDS)) == [above + 1]
    for app in ("a", "b"):
        assert world.ledger.transact(lambda tx, app=app: opening.reserve(tx, app, 1, [])) == [str(above + 1)]


def test_of_two_restorations_of_one_backup_the_second_is_above_the_first(world: World) -> None:
    first = _restored(world)
    world.ledger.transact(lambda tx: tx.write("DELETE FROM restoration"))
    assert _restored(world) > first
    again = world.ledger.transact(lambda tx: (restoring.restore(tx), restoring.leases(tx)))
    assert again == (None, 1), "somebody was hired meanwhile"


def test_a_ledger_that_somebody_works_on_is_left_as_it_is(world: World) -> None:
    before = world.ledger.transact(lambda tx: tx.column("SELECT count(*) FROM restoration"))
    assert world.ledger.transact(restoring.restore) is None
    assert world.ledger.transact(lambda tx: tx.column("SELECT count(*) FROM restoration")) == before


def test_the_counting_goes_on_where_the_numbers_of_transactions_begin_anew(world: World) -> None:
    world.apps("a")
    world.submit("a", None, keys=["1", "2"])

    def from_elsewhere(tx: Tx) -> None:
        tx.write("TRUNCATE tally, tally_minute, tally_stay, tally_verb")
        tx.write(_FROM_AN_OLDER_SERVER)

    def counted() -> int:
        world.now += timedelta(seconds=60)
        for _ in range(3):
            world.ledger.transact(tallies.count)
        return int(world.ledger.transact(lambda tx: tx.column(_PLACE))[0])

    world.ledger.transact(from_elsewhere)
    assert counted() == 0, "it waits for transactions that ended on another server"
    above = _restored(world)
    world.finish("a/1")
    # Counting waits for older transactions of the whole server, on which other tests may run at the same time.
    until(lambda: counted() > above)
    assert world.ledger.transact(breaches) == []
