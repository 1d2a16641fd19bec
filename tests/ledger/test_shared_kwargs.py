"""Large kwargs: they are stored once, and every reader of a job gets them."""

from typing import Any

import msgspec
import pytest

from sluice.jobs.model.job import Ending
from sluice.jobs.model.names import JobName
from sluice.jobs.states import State
from sluice.jobs.text.filters import Compare, Input, Operator
from sluice.jobs.text.paging import Order
from sluice.ledger.job_graph.shared_kwargs import OWN_BYTES_MAX
from sluice.ledger.reads import job_details, job_lists
from sluice.ledger.reads.job_filters import JobFilter
from sluice.ledger.recovery.invariants import KWARGS_EXIST, breaches
from sluice.ledger.retention import removal
from sluice.ledger.retention.removal import Removed
from tests.ledger.ages import KEEP_S, later
from tests.ledger.large_kwargs import is_shared, large, shared
from tests.ledger.poisoned_chunks import Farm
from tests.ledger.results import finished
from tests.ledger.trips import chain
from tests.world import World

LARGE = large()
OTHER = large(2)
#: Query for the bytes of the tables that grow with a submission, including their indexes and long values.
_BYTES = "SELECT sum(pg_total_relation_size(name)) FROM unnest(%(tables)s::regclass[]) AS each (name)"
_TABLES = ["submission", "job", "submission_job", "history", "shared_kwargs"]


def _bytes(world: World) -> int:
    return int(world.ledger.transact(lambda tx: tx.column(_BYTES, tables=_TABLES))[0])


def test_a_thousand_jobs_store_their_kwargs_once(world: World) -> None:
    world.apps("a")
    before = _bytes(world)
    world.submit("a", None, keys=[str(key) for key in range(1000)], kwargs=large(size=60_000))
    assert len(world.states()) == 1000
    assert _bytes(world) - before < 2_000_000


def test_small_kwargs_stay_in_the_row_of_the_job(world: World) -> None:
    world.apps("a")
    world.submit("a", "1", kwargs={"x": "y" * (OWN_BYTES_MAX - 8)})
    world.submit("a", "2", kwargs={"x": "y" * (OWN_BYTES_MAX - 7)})
    assert [is_shared(world, job) for job in ("a/1", "a/2")] == [False, True]


def test_kwargs_with_another_order_of_keys_are_the_same(world: World) -> None:
    world.apps("a")
    world.submit("a", "1", kwargs=LARGE)
    world.submit("a", "2", kwargs=dict(reversed(LARGE.items())))
    assert shared(world) == [LARGE]


def _claimed_kwargs(world: World, job: str = "a") -> Any:
    claimed = world.claim(job)
    assert claimed is not None
    return claimed.kwargs


def test_each_claimed_job_gets_its_own_copy_of_the_large_kwargs(world: World) -> None:
    world.apps("a")
    world.submit("a", None, keys=["1", "2"], kwargs=LARGE)
    first, second = (_claimed_kwargs(world, job) for job in ("a/1", "a/2"))
    assert first == second == LARGE
    assert first["place"] is not second["place"]


def test_jobs_without_large_kwargs_cost_no_additional_statement(world: World) -> None:
    def trips(kwargs: dict[str, Any], key: str) -> int:
        before = world.ledger.round_trips()
        world.submit("a", key, kwargs=kwargs)
        world.finish(f"a/{key}")
        return world.ledger.round_trips() - before

    world.apps("a")
    for key, kwargs in enumerate((LARGE, {"n": 1}, {})):
        trips(kwargs, f"first {key}")  # A connection prepares each statement once.
    assert trips({"n": 1}, "1") == trips({}, "2") < trips(LARGE, "3")


def test_a_job_is_shown_with_its_large_kwargs(world: World) -> None:
    world.apps("a")
    world.submit("a", kwargs=LARGE)
    found = world.ledger.transact(lambda tx: job_details.job(tx, JobName("a", "1")))
    assert found is not None
    assert found.kwargs == LARGE


def test_jobs_are_found_by_a_value_in_their_large_kwargs(world: World) -> None:
    world.apps("a")
    for key, kwargs in enumerate((LARGE, OTHER, {"place": {"region": "r2"}}, {})):
        world.submit("a", str(key), kwargs=kwargs)
    wanted = JobFilter(where=Compare(Input(("place", "region")), Operator.EQUAL, "r2"))
    found = world.ledger.transact(lambda tx: job_lists.jobs(tx, wanted, order=Order(), limit=100))
    assert sorted(job.key for job in found) == ["1", "2"]


def test_pushed_children_inherit_large_kwargs(world: World) -> None:
    world.apps("a -> b")
    world.submit("a", kwargs=LARGE)
    world.finish("a")
    assert _claimed_kwargs(world, "b") == LARGE
    assert shared(world) == [LARGE]


def test_pulled_parents_get_large_kwargs(world: World) -> None:
    world.apps("a -> b")
    world.submit("b", kwargs=LARGE)
    assert _claimed_kwargs(world, "a") == LARGE


def test_an_expected_job_gets_large_kwargs_when_it_is_requested(world: World) -> None:
    world.apps("a -> c, b -> c")
    world.submit("a", kwargs=OTHER)
    world.finish("a")
    assert world.state("b") is State.EXPECTED
    world.submit("b", kwargs=LARGE)
    assert _claimed_kwargs(world, "b") == LARGE


@pytest.mark.parametrize("before", [LARGE, {"n": 1}, {}], ids=["large", "small", "none"])
@pytest.mark.parametrize("after", [OTHER, {"n": 2}, {}], ids=["large", "small", "none"])
def test_a_rerun_replaces_the_kwargs_only_if_it_has_some(
    before: dict[str, Any], after: dict[str, Any], world: World
) -> None:
    world.apps("a")
    world.submit("a", kwargs=before)
    world.finish("a")
    world.submit("a", rerun="job", kwargs=after)
    assert (_claimed_kwargs(world) or {}) == (after or before)


def test_a_rerun_without_kwargs_keeps_the_pool_that_the_kwargs_determined(world: World) -> None:
    world.apps("a", concurrency={"key": "{kwargs.region}", "limit": 1})
    world.submit("a", kwargs=LARGE | {"region": "eu"})
    pool = world.field("a", "pool")
    world.finish("a")
    world.submit("a", rerun="job")
    assert world.field("a", "pool") == pool == "a:eu"


def test_a_result_is_collected_with_its_large_kwargs(world: World) -> None:
    world.apps("a", archive="manual")
    world.submit("a", kwargs=LARGE)
    world.finish("a")
    assert [each.kwargs for each in finished(world)] == [LARGE]


def test_a_compensation_gets_the_large_kwargs_of_the_job_that_it_undoes(world: World) -> None:
    chain(world)
    world.submit("pay", id="s", mode="saga", kwargs=LARGE)
    world.finish("book")
    world.finish("pay", Ending.ERROR)
    world.tick()
    assert is_shared(world, "unbook")
    assert _claimed_kwargs(world, "unbook") == LARGE


def test_the_halves_of_a_split_chunk_get_its_large_kwargs(world: World) -> None:
    farm = Farm(world, "a:2")
    farm.submit("a", [1, 2], kwargs=LARGE)
    farm.run("a/1-2@1", fails=True)
    for half in ("a/1@1", "a/2@1"):
        assert _claimed_kwargs(world, half) == LARGE


@pytest.mark.parametrize(("testing", "fresh"), [(False, {"1", "2"}), (True, set())])
def test_a_run_with_testing_set_marks_no_work_id_as_fresh(
    testing: bool, fresh: set[str], world: World
) -> None:
    farm = Farm(world, "a:2")
    farm.submit("a", [1, 2], kwargs=LARGE | {"testing": testing})
    farm.work()
    found = world.ledger.transact(lambda tx: tx.column("SELECT work_id FROM freshness WHERE app = 'a'"))
    assert {*found} == fresh


def _prune_others(world: World) -> Removed:
    previewed = world.ledger.transact(lambda tx: removal.preview_others(tx, keep_s=KEEP_S))
    removed = world.ledger.transact(lambda tx: removal.prune_others(tx, keep_s=KEEP_S, limit=100))
    assert removed == previewed
    return removed


def test_retention_removes_large_kwargs_that_no_job_refers_to(world: World) -> None:
    world.apps("a")
    world.submit("a", "1", kwargs=LARGE)
    world.finish("a/1")
    world.submit("a", "2", kwargs=OTHER)
    later(world)
    assert _prune_others(world).kwargs == 0
    world.submit("a", "1", rerun="job", kwargs={"n": 1})
    assert _prune_others(world).kwargs == 1
    assert shared(world) == [OTHER]


def test_retention_keeps_unused_large_kwargs_that_are_not_old(world: World) -> None:
    world.apps("a")
    world.submit("a", kwargs=LARGE)
    world.finish("a")
    world.submit("a", rerun="job", kwargs={"n": 1})
    assert _prune_others(world).kwargs == 0
    assert shared(world) == [LARGE]


def test_db_check_reports_missing_large_kwargs(world: World) -> None:
    world.apps("a")
    world.submit("a", kwargs=LARGE)
    with world.ledger.begin() as tx, tx.connection.transaction(force_rollback=True):
        tx.write("DELETE FROM shared_kwargs")
        (found,) = breaches(tx)
    assert KWARGS_EXIST in str(found)


def test_large_kwargs_in_the_row_of_a_job_are_used(world: World) -> None:
    """Earlier releases stored large kwargs in the row."""
    world.apps("a -> b")
    world.submit("a")
    world.ledger.transact(
        lambda tx: tx.write("UPDATE job SET kwargs = %(kwargs)s::jsonb", kwargs=_json(LARGE))
    )
    claimed = world.claim("a")
    assert claimed is not None
    assert claimed.kwargs == LARGE
    world.record(claimed)
    assert _claimed_kwargs(world, "b") == LARGE
    assert shared(world) == [LARGE]


def _json(kwargs: dict[str, Any]) -> str:
    return msgspec.json.encode(kwargs).decode()
