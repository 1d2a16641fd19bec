"""Collection of outcomes: a job is uncollected until it is archived, and again after a rerun."""

import json

import msgspec
import psycopg
import pytest

from sluice.jobs.model.job import Ending
from sluice.jobs.model.names import JobName
from sluice.jobs.states import State
from sluice.ledger import managed_tasks
from sluice.ledger.fixtures import cut_off
from sluice.ledger.reads import job_details
from sluice.ledger.recovery import groomer_steps
from sluice.ledger.recovery.invariants import breaches
from tests.ledger.poisoned_chunks import Farm
from tests.ledger.results import PAGE, archive, finished, keys, one_done, uncollected
from tests.world import World


def test_an_ended_job_is_uncollected_until_it_is_archived(world: World) -> None:
    done = one_done(world)
    assert (done.key, done.state, uncollected(world)) == ("1", State.SUCCEEDED, {"1"})
    world.now = world.now.replace(hour=7)
    assert archive(world, done) == 1
    assert (world.state("a"), world.field("a", "archived_at")) == (State.SUCCEEDED, world.now)
    assert (finished(world), uncollected(world)) == ([], set())
    assert archive(world, done) == 0
    told = world.ledger.transact(lambda tx: job_details.job(tx, JobName("a", "1")))
    assert told is not None
    assert (told.is_uncollected, told.archived_at) == (False, world.now)


def test_without_the_option_archive_no_job_is_uncollected(world: World) -> None:
    world.apps("a")
    world.submit("a")
    world.finish("a")
    assert (finished(world), uncollected(world)) == ([], set())
    assert world.ledger.transact(lambda tx: managed_tasks.archive_named(tx, [JobName("a", "1")])) == []
    assert world.field("a", "archived_at") is None


def test_a_submission_overrides_the_option_archive_of_its_app(world: World) -> None:
    world.apps("a")
    world.submit("a", "1", policy={"archive": "manual"})
    world.submit("a", "2")
    for key in "12":
        world.finish(f"a/{key}")
    assert keys(finished(world)) == ["1"]
    world.apps("a", archive="manual")
    world.submit("a", "3", policy={"archive": "auto"})
    world.finish("a/3")
    assert keys(finished(world)) == ["1"]


def test_a_job_that_is_run_again_is_uncollected_again(world: World) -> None:
    archive(world, one_done(world))
    world.submit("a", rerun="job")
    assert (finished(world), world.field("a", "archived_at")) == ([], None)
    world.finish("a", Ending.ERROR)
    assert finished(world) == []
    assert keys(finished(world, State.FAILED)) == ["1"]


def test_a_job_that_was_rerun_since_it_was_read_is_not_archived(world: World) -> None:
    seen = one_done(world)
    world.submit("a", rerun="job")
    assert archive(world, seen) == 0
    world.now = world.now.replace(hour=3)
    world.worker = world.hire()
    world.finish("a")
    assert archive(world, seen) == 0
    assert [each.claim for each in finished(world)] == [seen.claim + 1]


def test_a_job_that_was_cancelled_since_it_was_read_is_not_archived(world: World) -> None:
    """The claim is still the claim that was read."""
    seen = one_done(world)
    again = world.submit("a", rerun="job")
    world.cancel(again)
    assert archive(world, seen) == 0
    (cancelled,) = finished(world, State.CANCELLED)
    assert (cancelled.claim, cancelled.rounds) == (seen.claim, ())
    assert archive(world, cancelled) == 1


def test_an_outcome_has_all_rounds_since_the_last_rerun(world: World) -> None:
    world.apps("a", archive="manual", max_fails=2)
    world.submit("a", kwargs={"input": "1 2"})
    for words in ({"output": "old", "error": "an old fault"}, {"output": "old result", "exit_code": 0}):
        claimed = world.claim("a")
        assert claimed is not None
        world.record(claimed, Ending.ERROR if "error" in words else Ending.DONE, **words)
    world.submit("a", rerun="job")
    for ending, words in (
        (Ending.ERROR, {"output": "half", "error": "exited with 3", "exit_code": 3, "stderr": "oh"}),
        (Ending.ERROR, {"error": "exited with 4", "exit_code": 4}),
        (Ending.DONE, {"output": "", "exit_code": 0}),
    ):
        claimed = world.claim("a")
        assert claimed is not None
        world.record(claimed, ending, **words)
    (done,) = finished(world)
    assert done.kwargs == {"input": "1 2"}
    assert [(each.round, each.exit_code, each.error) for each in done.rounds] == [
        (0, 3, "exited with 3"),
        (1, 4, "exited with 4"),
        (2, 0, None),
    ]
    assert (done.output, done.error, done.rounds[0].stderr) == ("half", "exited with 4", "oh")


def test_pages_are_in_the_order_in_which_jobs_were_planned(world: World) -> None:
    world.apps("a, b", archive="manual")
    for key in "312":
        world.submit("a", key)
    world.submit("b")
    for name in ("a/2", "b", "a/3", "a/1"):
        world.finish(name)
    first = finished(world, limit=2)
    rest = finished(world, limit=2, after=first[-1].id)
    assert keys(first) + keys(rest) == ["3", "1", "2"]


def test_with_whole_all_jobs_that_were_read_are_archived_or_none(world: World) -> None:
    world.apps("a", archive="manual")
    for key in "12":
        world.submit("a", key)
        world.finish(f"a/{key}")
    seen = finished(world)
    archive(world, seen[0])
    assert archive(world, *seen, whole=True) == 0
    assert uncollected(world) == {"2"}
    assert archive(world, seen[1], seen[1], whole=True) == 1


def test_tasks_are_counted_from_the_request_until_they_are_archived(world: World) -> None:
    world.apps("a", archive="manual")
    counts = world.ledger.transact(lambda tx: managed_tasks.counts(tx, "a"))
    assert (counts.states, counts.unplanned, counts.left) == ({}, 0, 0)
    request = msgspec.json.encode({"app": "a", "keys": ["1", "2", "3"], "id": "three"})
    with psycopg.connect(world.url) as connection:
        connection.execute("SELECT sluice.submit(%s)", (request.decode(),))
        connection.execute("""SELECT sluice.submit('{"app": "a", "keys": 7}')""")
    counts = world.ledger.transact(lambda tx: managed_tasks.counts(tx, "a"))
    assert (counts.states, counts.unplanned, counts.left) == ({}, 4, 4)
    world.now = world.now.replace(year=2100)
    world.tick()
    world.worker = world.hire()
    world.finish("a/2", Ending.ERROR)
    counts = world.ledger.transact(lambda tx: managed_tasks.counts(tx, "a"))
    assert (counts.states, counts.unplanned) == ({State.READY: 2, State.FAILED: 1}, 0)
    archive(world, *finished(world, State.FAILED))
    counts = world.ledger.transact(lambda tx: managed_tasks.counts(tx, "a"))
    assert (counts.states, counts.left) == ({State.READY: 2}, 2)


def test_the_halves_of_a_split_chunk_are_collected(world: World) -> None:
    farm = Farm(world, "a:4")
    farm.poison = {3}
    farm.submit("a", [[1, 4]], policy={"archive": "manual"})
    farm.work()
    ended = {state: keys(finished(world, state)) for state in (State.SUCCEEDED, State.FAILED)}
    assert [len(each) for each in ended.values()] == [2, 1]
    states = world.ledger.transact(
        lambda tx: tx.rows("SELECT key, state FROM job WHERE needs_collection AND archived_at IS NULL")
    )
    assert {key for key, state in states if state != State.SPLIT} == {
        *ended[State.SUCCEEDED],
        *ended[State.FAILED],
    }


def test_a_chunk_that_is_about_to_be_split_has_no_outcome_yet(world: World) -> None:
    """It has timed out, and the planner has not handled that yet."""
    farm = Farm(world, "a:4")
    farm.submit("a", [[1, 4]], policy={"archive": "manual", "timeout": 5})
    (name,) = world.states()
    assert world.claim(name) is not None
    world.now = world.now.replace(minute=1)
    world.ledger.transact(lambda tx: groomer_steps.time_out(tx, 10))
    assert world.state(name) is State.TIMED_OUT
    assert finished(world, State.TIMED_OUT) == []
    key = world.known(name).key
    assert world.ledger.transact(lambda tx: managed_tasks.archive_named(tx, [JobName("a", key)])) == []
    assert world.ledger.transact(lambda tx: managed_tasks.counts(tx, "a")).left == 1


def test_the_ledger_detects_jobs_that_were_archived_wrongly(world: World) -> None:
    archive(world, one_done(world))
    spoil = {
        "archived_at = archived_at - interval '1 hour'": "archived job has not changed since",
        'overrides = \'{"archive": "auto"}\'': "option archive",
    }
    for change, rule in spoil.items():
        world.ledger.transact(lambda tx, change=change: tx.write(f"UPDATE job SET {change}"))
        (broken,) = world.ledger.transact(breaches)
        assert rule in broken.rule
        world.ledger.transact(
            lambda tx: tx.write("UPDATE job SET archived_at = changed_at, overrides = NULL")
        )
    for change in ("needs_collection = false", f"state = '{State.RUNNING}'", f"state = '{State.SPLIT}'"):
        with pytest.raises(psycopg.errors.CheckViolation):
            world.ledger.transact(lambda tx, change=change: tx.write(f"UPDATE job SET {change}"))


def test_uncollected_jobs_are_found_without_reading_archived_jobs(world: World) -> None:
    """The statistics are from a time when the ledger was small and most of its jobs were uncollected."""
    world.ledger.transact(cut_off)
    world.worker = world.hire()
    world.apps("a", archive="manual")
    for key in range(20):
        world.submit("a", str(key))
        world.finish(f"a/{key}")
    world.ledger.transact(lambda tx: tx.write("ANALYZE job"))
    many = """
        INSERT INTO job (app, key, state, unblocked, needs_collection, archived_at, created_at, changed_at)
        SELECT 'a', 'old' || n, %(state)s, true, true, now(), now(), now() FROM generate_series(1, 30000) n
    """

    world.ledger.transact(lambda tx: tx.write(many, state=State.SUCCEEDED))
    world.ledger.transact(lambda tx: tx.write("INSERT INTO state_count VALUES ('a', 'succeeded', 30000, 0)"))
    words = {"app": "a", "state": State.SUCCEEDED, "after": 0, "limit": PAGE}
    for sql in (managed_tasks._FINISHED, managed_tasks._HOLD_ENDED):
        (plan,) = world.ledger.transact(
            lambda tx, sql=sql: tx.column(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", **words)
        )
        text = json.dumps(plan)
        assert "job_uncollected" in text
        assert "Seq Scan" not in text
        assert '"Rows Removed by Filter": 30000' not in text
