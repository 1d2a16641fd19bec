"""Pruning: the history of jobs that ended long ago is removed, and their outcome stays.

History that an operation may still need stays too.
"""

from uuid import UUID

from sluice.jobs.model.job import Ending
from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from sluice.ledger import managed_tasks
from sluice.ledger.reads import job_details, submission_progress
from sluice.ledger.recovery import leases
from sluice.ledger.recovery.invariants import breaches
from sluice.ledger.retention import blob_deletions, removal
from sluice.ledger.retention.removal import Removed
from tests.ledger.ages import KEEP_S, later, left, prune, pruned
from tests.ledger.flights import Sagas, came, did, switched, undid
from tests.ledger.results import one_done
from tests.ledger.trips import UNDONE, chain, fail
from tests.world import World


def test_the_history_of_old_jobs_is_removed_and_their_outcome_stays(world: World) -> None:
    world.apps("a -> b")
    world.submit("b")
    world.finish("a")
    world.finish("b")
    later(world, 29)
    assert prune(world) == Removed()
    later(world, 2)
    removed = prune(world)
    assert (removed.jobs, removed.transitions, removed.rounds) == (2, 10, 2)
    assert left(world) == 0
    assert world.states() == {"a": State.SUCCEEDED, "b": State.SUCCEEDED}
    assert prune(world) == Removed()
    told = world.ledger.transact(lambda tx: job_details.dossier(tx, JobName("b", "1")))
    assert told is not None
    assert (told.job.pruned_at, told.history, told.rounds) == (world.now, [], [])
    assert [parent.app for parent in told.parents] == ["a"]


def test_jobs_that_have_not_ended_keep_their_history(world: World) -> None:
    world.apps("a -> b, c")
    world.submit("b")
    world.submit("c")
    world.finish("c", Ending.ERROR)
    later(world)
    assert prune(world).jobs == 1
    assert pruned(world) == {"c"}
    assert world.history("a") == ["waiting", "ready"]


def test_a_job_is_not_pruned_until_the_submission_that_requests_it_has_ended(world: World) -> None:
    world.apps("a -> b")
    world.submit("b")
    world.finish("a")
    later(world)
    assert prune(world) == Removed()
    world.finish("b")
    later(world)
    assert prune(world).jobs == 2


def test_an_uncollected_result_is_not_pruned_until_it_is_archived(world: World) -> None:
    seen = one_done(world)
    later(world)
    assert prune(world) == Removed()
    assert world.ledger.transact(lambda tx: managed_tasks.finished(tx, "a", State.SUCCEEDED, limit=9)) == [
        seen
    ]
    world.ledger.transact(lambda tx: managed_tasks.archive(tx, [seen]))
    assert prune(world).jobs == 1
    assert world.field("a", "archived_at") == world.now


def test_a_job_with_pending_propagation_is_not_pruned(world: World) -> None:
    world.apps("a")
    world.submit("a")
    world.finish("a")
    later(world)
    owes = "INSERT INTO propagation_outbox (job, since) SELECT id, now() FROM job"
    world.ledger.transact(lambda tx: tx.write(owes))
    assert prune(world) == Removed()


def test_a_job_is_not_pruned_while_its_external_work_must_be_ended(world: World) -> None:
    world.apps("a")
    world.submit("a")
    world.finish("a")
    detached = "UPDATE job SET handle = '{}', next_poll_at = changed_at + interval '9 years'"
    world.ledger.transact(lambda tx: tx.write(detached))
    later(world)
    assert prune(world) == Removed()


def test_the_journal_of_a_saga_is_pruned_unless_its_undo_failed(world: World) -> None:
    world.apps("a, b")
    sagas = Sagas(world)
    for job, ending in (("a", Ending.UNDO_FAILED), ("b", Ending.ERROR)):
        world.submit(job)
        claimed = sagas.claim(job)
        sagas.write(claimed, did(1))
        sagas.say("hello", job)
        for entry in (switched(2, 1), undid(3, 0)):
            assert sagas.write(claimed, entry).stands
        sagas.end(claimed, ending, "it broke")
    assert world.states() == {"a": State.FATAL, "b": State.FAILED}
    later(world)
    removed = prune(world)
    assert (removed.jobs, removed.steps, removed.events) == (1, 3, 1)
    assert pruned(world) == {"b"}
    again = world.submit("b", rerun="job")
    sagas.end(sagas.claim("b"))
    assert world.submission(again) is SubmissionState.SUCCEEDED


def test_a_suspended_saga_keeps_its_whole_history(world: World) -> None:
    world.apps("a")
    sagas = Sagas(world)
    world.submit("a")
    sagas.suspend(sagas.claim(), 1, "approved")
    before = left(world)
    later(world)
    assert prune(world) == Removed()
    assert left(world) == before
    sagas.say("approved")
    world.tick()
    taken = world.ledger.transact(lambda tx: tx.column("SELECT id FROM saga_signal"))[0]
    claimed = sagas.claim()
    assert sagas.write(claimed, came(2, taken)).stands


def test_the_jobs_of_a_saga_across_apps_are_not_pruned_until_they_are_undone(world: World) -> None:
    chain(world)
    fail(world, "book", "pay", at="send")
    later(world)
    assert prune(world) == Removed()
    world.finish("refund", Ending.ERROR)
    assert world.submission(UNDONE) is SubmissionState.FAILED
    later(world)
    assert prune(world).jobs == 1
    assert pruned(world) == {"send"}, "jobs with a failed undo are kept until they are undone"
    world.submit("unbook", rerun="job")
    for job in ("refund", "unbook"):
        world.finish(job)
    assert {world.state("pay"), world.state("book")} == {State.CANCELLED}
    later(world)
    assert prune(world).jobs == 4


def test_jobs_are_not_pruned_while_their_compensation_is_not_planned(world: World) -> None:
    chain(world)
    fail(world, "book", "pay", at="send")
    back = "UPDATE submission SET state = %(state)s, next_plan_at = NULL, planned_at = NULL WHERE id = %(id)s"
    unmarked = "UPDATE job SET undoes = NULL, undoes_claim = NULL"
    for state in (SubmissionState.RECEIVED, SubmissionState.REFUSED):
        world.ledger.transact(
            lambda tx, state=state: (tx.write(unmarked), tx.write(back, state=state, id=UNDONE))
        )
        world.now = world.now.replace(year=world.now.year + 1)
        assert prune(world) == Removed()


def test_blobs_of_pruned_rounds_are_listed_for_deletion_until_they_are_deleted(world: World) -> None:
    world.apps("a")
    world.submit("a")
    claimed = world.claim("a")
    assert claimed is not None
    blobs = {"a/x/1-output-1", "a/x/1-stderr-2", "a/x/1-result-3"}
    fields = ("output_blob", "result_blob", "stderr_blob")
    world.record(claimed, **dict(zip(fields, sorted(blobs), strict=True)))
    later(world)

    def taken() -> set[str]:
        return {*world.ledger.transact(lambda tx: blob_deletions.take(tx, 10))}

    assert (taken(), prune(world).blobs) == (set(), 3)
    assert taken() == blobs
    assert taken() == set(), "somebody has them"
    world.tick(after_s=blob_deletions.PATIENCE_S)
    assert len(taken()) == 3
    world.ledger.transact(lambda tx: blob_deletions.gone(tx, ["a/x/1-output-1"]))
    assert world.ledger.transact(blob_deletions.left) == 2
    known = ["a/x/1-stderr-2", "a/x/1-output-9"]
    assert world.ledger.transact(lambda tx: blob_deletions.unknown(tx, known)) == ["a/x/1-output-9"]


def test_a_rerun_of_a_pruned_job_continues_its_claim_numbers(world: World) -> None:
    world.apps("a -> b", max_fails=1)
    world.submit("b", policy={"max_fails": 3}, kwargs={"n": 1})
    for job in ("a", "b"):
        world.finish(job)
    later(world)
    assert prune(world).jobs == 2
    again = world.submit("a", rerun="downstream")
    assert world.states() == {"a": State.READY, "b": State.WAITING}
    assert (world.field("a", "claim"), world.field("b", "max_fails")) == (1, 3)
    assert world.ledger.transact(breaches) == []
    world.finish("a")
    world.finish("b")
    assert world.field("b", "claim") == 2
    assert world.history("b") == ["waiting", "ready", "running", "executed", "succeeded"]
    assert world.submission(again) is SubmissionState.SUCCEEDED
    later(world)
    assert prune(world).jobs == 2, "its second life is as old by now"


def test_the_failed_parent_of_a_pruned_job_runs_again_with_it(world: World) -> None:
    world.apps("a -> b")
    world.submit("b")
    world.finish("a", Ending.ERROR)
    assert world.state("b") is State.UPSTREAM_FAILED
    later(world)
    assert prune(world).jobs == 2
    world.submit("b", rerun="job")
    assert world.states() == {"a": State.READY, "b": State.WAITING}


def test_the_code_digest_of_a_pruned_job_is_unknown(world: World) -> None:
    world.apps("a")
    world.submit("a")
    world.finish("a", Ending.ERROR)
    later(world)
    prune(world)
    ran = world.ledger.transact(lambda tx: submission_progress.of_job(tx, JobName("a", "1")))
    assert ran is not None
    assert (ran.digest, ran.is_pruned) == (None, True)


def test_a_preview_counts_the_history_that_pruning_removes_and_changes_nothing(world: World) -> None:
    world.apps("a -> b, c")
    for app in "bc":
        world.submit(app)
    for app in "abc":
        world.finish(app)
    later(world)
    before = left(world)
    foreseen = world.ledger.transact(lambda tx: removal.preview(tx, keep_s=KEEP_S, limit=1000)).removed
    assert left(world) == before > 0
    assert (prune(world), foreseen.jobs) == (foreseen, 3)


def test_a_pruning_batch_is_bounded_and_the_next_one_continues_after_it(world: World) -> None:
    world.apps("a")
    for key in "12345":
        world.submit("a", key)
        world.finish(f"a/{key}")
    later(world)
    place, sizes = removal.START, []
    while place is not None:
        removed, place = world.ledger.transact(
            lambda tx, place=place: removal.prune(tx, keep_s=KEEP_S, after=place, limit=2)
        )
        sizes.append(removed.jobs)
    assert sizes == [2, 2, 1]


def test_a_sweep_continues_where_it_stopped_past_spared_jobs_and_then_pauses(world: World) -> None:
    world.apps("a, b")
    world.submit("a")
    for key in "12345":
        world.submit("b", key)
        world.finish(f"b/{key}")
    world.submit("b", "1", id="wants")
    reopened = """
        UPDATE submission SET state = 'active', blocking_job = (SELECT id FROM job WHERE app = 'a') WHERE id = 'wants'
    """
    world.ledger.transact(lambda tx: tx.write(reopened))
    later(world)

    def sweep() -> int:
        return world.ledger.transact(lambda tx: removal.sweep(tx, keep_s=KEEP_S, limit=2)).removed.jobs

    assert [sweep() for _ in range(4)] == [1, 2, 1, 0]
    assert pruned(world) == {"b/2", "b/3", "b/4", "b/5"}
    world.ledger.transact(lambda tx: tx.write("UPDATE submission SET state = 'succeeded' WHERE id = 'wants'"))
    assert sweep() == 0, "it rests"
    world.tick(after_s=removal.REST_S)
    assert sweep() == 1


def test_only_workers_that_left_long_ago_are_removed(world: World) -> None:
    gone, asleep = world.hire(), world.hire()
    world.ledger.transact(lambda tx: leases.leave(tx, gone))
    later(world)
    forgotten = world.ledger.transact(lambda tx: removal.prune_others(tx, keep_s=KEEP_S, limit=10))
    assert forgotten.workers == 1
    there: set[UUID] = {*world.ledger.transact(lambda tx: tx.column("SELECT id FROM worker"))}
    assert gone not in there
    assert asleep in there


def test_a_sweep_does_not_rest_before_all_workers_that_left_are_removed(world: World) -> None:
    gone = [world.hire() for _ in range(5)]
    for worker in gone:
        world.ledger.transact(lambda tx, worker=worker: leases.leave(tx, worker))
    later(world)

    def sweep() -> tuple[int, bool]:
        step = world.ledger.transact(lambda tx: removal.sweep(tx, keep_s=KEEP_S, limit=2))
        return step.removed.workers, step.place is not None

    assert [sweep() for _ in range(4)] == [(2, True), (2, True), (1, False), (0, False)]
