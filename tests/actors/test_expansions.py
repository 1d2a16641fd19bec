"""Jobs that a running job adds to its submission (``job.expand``), on a real ledger with a reliable queue."""

import pytest

from sluice.actors.executor import transactions
from sluice.broker.messages import Cancel, Executed
from sluice.jobs.expansions import Expansion, encoded
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from tests.world import World

DONE, FAILED = State.SUCCEEDED, State.FAILED
PLAIN = {"job_id": "{x}", "bash_cmd": "true"}
_ADDED = """
SELECT CASE child.app WHEN 'part' THEN 'part/' || child.key ELSE child.app END, parent.app || '/' || parent.key
FROM need JOIN job child ON child.id = need.child JOIN job parent ON parent.id = need.parent
WHERE need.added ORDER BY 1, 2
"""
PART = {"job_id": "{x}_{n}", "bash_cmd": "true"}


@pytest.fixture
def parts(world: World) -> World:
    """Return a world in which split/1 adds jobs of part, and join needs split."""
    world.define(
        {
            "source": PLAIN,
            "split": PLAIN,
            "part": PART,
            "join": PLAIN | {"depends_on": {"app_name": ["split"]}},
            "last": PLAIN | {"depends_on": {"app_name": ["join"]}},
        }
    )
    return world


def expanded(*numbers: int, then: str | None = "join", when: str = "succeeded") -> str | None:
    keys = tuple(f"1_{n}" for n in numbers)
    return encoded([Expansion("part", keys, JobName(then, "1") if then else None, when)])  # type: ignore[arg-type]  # A test may pass any text.


def succeed(world: World, job: str, expansions: str | None = None) -> None:
    world.beat(world.worker)
    assert world.record(world.take(job), expansions=expansions)


def execute(world: World, job: str, *, cancelled: str) -> None:
    """Run this job, which adds ``part/1_1``, cancel this submission, and then judge the job. A job that is executed is
    not cancelled."""
    claimed = world.take(job)
    transactions.record(world.ledger, {claimed.right: Outcome(ending=Ending.DONE, expansions=expanded(1))})
    world.cancel(cancelled)
    world.queue.append(Executed(jobs=(claimed.id,)))


def run_all(world: World, *jobs: str) -> None:
    for job in jobs:
        world.finish(job)


def test_added_jobs_join_the_submission_and_the_last_job_needs_all_of_them(parts: World) -> None:
    asked = parts.submit("join", push="wanted")
    succeed(parts, "split", expanded(1, 2))
    assert parts.states() == {
        "split": DONE,
        "part/1_1": State.READY,
        "part/1_2": State.READY,
        "join": State.WAITING,
    }
    run_all(parts, "part/1_1")
    assert parts.state("join") is State.WAITING
    run_all(parts, "part/1_2", "join")
    assert parts.submission(asked) is SubmissionState.SUCCEEDED


def test_a_submission_of_the_expanding_job_ends_after_the_added_jobs(parts: World) -> None:
    asked = parts.submit("split", push="wanted")
    succeed(parts, "split", expanded(1))
    assert parts.submission(asked) is SubmissionState.ACTIVE
    run_all(parts, "part/1_1")
    assert parts.submission(asked) is SubmissionState.ACTIVE
    run_all(parts, "join")
    assert parts.submission(asked) is SubmissionState.SUCCEEDED


def test_children_are_pushed_after_the_added_jobs_are_planned(parts: World) -> None:
    parts.submit("split")
    succeed(parts, "split", expanded(1, 2))
    run_all(parts, "part/1_1", "part/1_2", "join", "last")
    assert set(parts.states().values()) == {DONE}


def test_a_failed_part_fails_the_last_job(parts: World) -> None:
    asked = parts.submit("join", push="wanted")
    succeed(parts, "split", expanded(1, 2))
    parts.finish("part/1_1", Ending.ERROR)
    assert parts.state("join") is State.UPSTREAM_FAILED
    run_all(parts, "part/1_2")
    assert parts.submission(asked) is SubmissionState.FAILED


def test_a_retry_keeps_the_needs_of_the_last_job_although_its_definition_has_changed(parts: World) -> None:
    asked = parts.submit("join", push="wanted")
    succeed(parts, "split", expanded(1, 2))
    parts.finish("part/1_1", Ending.ERROR)
    run_all(parts, "part/1_2")
    join = PLAIN | {"bash_cmd": "echo changed", "depends_on": {"app_name": ["split"]}}
    parts.define({"split": PLAIN, "part": PART, "join": join})
    parts.retry(asked)
    assert parts.state("join") is State.WAITING
    run_all(parts, "part/1_1", "join")
    assert parts.submission(asked) is SubmissionState.SUCCEEDED


def test_the_last_job_may_need_the_end_of_the_parts(parts: World) -> None:
    parts.submit("join", push="wanted")
    succeed(parts, "split", expanded(1, 2, when="finished"))
    parts.finish("part/1_1", Ending.ERROR)
    run_all(parts, "part/1_2", "join")
    assert parts.state("join") is DONE


def test_no_part_leaves_only_the_last_job(parts: World) -> None:
    parts.submit("join", push="wanted")
    succeed(parts, "split", expanded())
    run_all(parts, "join")
    assert parts.states() == {"split": DONE, "join": DONE}


def test_lost_messages_delay_the_added_jobs_and_lose_none(parts: World) -> None:
    parts.submit("join", push="wanted")
    claimed = parts.take("split")
    outcome = Outcome(ending=Ending.DONE, expansions=expanded(1))
    transactions.settle(parts.ledger, parts.catalogue, {claimed.right: outcome})
    assert parts.states() == {"split": State.EXECUTED, "join": State.WAITING}
    parts.tick(after_s=60)
    parts.tick(after_s=60)
    assert parts.states()["part/1_1"] is State.READY


def test_a_repeated_message_plans_nothing_again(parts: World) -> None:
    parts.submit("join", push="wanted")
    succeed(parts, "split", expanded(1))
    run_all(parts, "part/1_1")
    parts.queue.append(Executed(jobs=(parts.known("split").id,)))
    parts.deliver()
    assert parts.state("part/1_1") is DONE


def test_a_rerun_replaces_the_added_jobs(parts: World) -> None:
    parts.submit("join", push="wanted")
    succeed(parts, "split", expanded(1, 2, 3))
    run_all(parts, "part/1_1")
    parts.submit("split", rerun="job", push="wanted")
    assert parts.state("part/1_2") is State.READY
    succeed(parts, "split", expanded(1, 4))
    assert parts.states() == {
        "split": DONE,
        "part/1_1": State.READY,
        "part/1_2": State.CANCELLED,
        "part/1_3": State.CANCELLED,
        "part/1_4": State.READY,
        "join": State.WAITING,
    }
    run_all(parts, "part/1_1", "part/1_4", "join")
    assert parts.state("join") is DONE


def test_a_job_that_is_not_named_any_more_is_paused_with_its_other_submission(parts: World) -> None:
    parts.submit("split", push="wanted")
    succeed(parts, "split", expanded(1, 2))
    other = parts.submit("part", "1_2", push="wanted")
    parts.pause(other)
    parts.submit("split", rerun="job", push="wanted")
    succeed(parts, "split", expanded(1))
    assert parts.state("part/1_2") is State.WAITING
    parts.resume(other)
    assert parts.state("part/1_2") is State.READY


def test_a_rerun_runs_the_ended_last_job_again(parts: World) -> None:
    parts.submit("join", push="wanted")
    succeed(parts, "split", expanded(1))
    run_all(parts, "part/1_1", "join")
    parts.submit("split", rerun="job", push="wanted")
    succeed(parts, "split", expanded(2))
    assert parts.state("join") is State.WAITING
    run_all(parts, "part/1_2", "join")
    assert (parts.state("part/1_1"), parts.state("join")) == (DONE, DONE)


def test_a_rerun_that_adds_nothing_frees_the_last_job(parts: World) -> None:
    parts.submit("join", push="wanted")
    succeed(parts, "split", expanded(1))
    parts.submit("split", rerun="job", push="wanted")
    succeed(parts, "split")
    assert parts.states() == {"split": DONE, "part/1_1": State.CANCELLED, "join": State.READY}


def test_a_cancelled_submission_cancels_the_added_jobs(parts: World) -> None:
    asked = parts.submit("join", push="wanted")
    succeed(parts, "split", expanded(1))
    parts.cancel(asked)
    assert parts.states() == {"split": DONE, "part/1_1": State.CANCELLED, "join": State.CANCELLED}
    # A later submission of the last job requests the added jobs again.
    asked = parts.submit("join", push="wanted")
    run_all(parts, "part/1_1", "join")
    assert parts.submission(asked) is SubmissionState.SUCCEEDED


def test_a_success_that_nothing_requests_is_expanded_once_its_last_job_is_requested(parts: World) -> None:
    execute(parts, "split", cancelled=parts.submit("split", push="wanted"))
    # Its success adds nothing, because no submission requests it.
    parts.deliver()
    assert parts.states() == {"split": DONE}
    asked = parts.submit("join", push="wanted")
    assert parts.state("join") is State.WAITING
    parts.tick(after_s=60)
    run_all(parts, "part/1_1", "join")
    assert parts.submission(asked) is SubmissionState.SUCCEEDED


@pytest.mark.parametrize("is_judged", [False, True])
def test_a_success_is_expanded_for_a_last_job_that_is_run_again_alone(parts: World, is_judged: bool) -> None:
    execute(parts, "split", cancelled=parts.submit("join", push="wanted"))
    if is_judged:
        parts.deliver()
    # This submission ends at once, because it pushes the job and requests no parents.
    again = parts.submit("join", rerun="alone", push="wanted")
    assert parts.submission(again) is SubmissionState.SUCCEEDED
    parts.tick(after_s=60)
    run_all(parts, "part/1_1", "join")


def test_a_success_is_expanded_for_a_last_job_that_runs_again_with_its_parent(parts: World) -> None:
    asked = parts.submit("join", push="wanted")
    parts.queue.append(Cancel(app="split", key="1"))
    parts.deliver()
    assert parts.submission(asked) is SubmissionState.FAILED
    execute(parts, "split", cancelled=parts.submit("split", push="wanted"))
    parts.deliver()
    run_all(parts, "part/1_1", "join")


def test_a_success_is_expanded_once_a_last_job_runs_again_with_another_parent(parts: World) -> None:
    """The success adds nothing while nothing requests it. The plan that revives ``join`` does not name ``split``."""
    parts.define({**parts.defined, "join": PLAIN | {"depends_on": {"app_name": ["split", "source"]}}})
    parts.submit("source")
    parts.finish("source")
    again = parts.submit("source", rerun="job", push="wanted")
    asked = parts.submit("split", push="wanted")
    parts.cancel(again)
    assert parts.state("join") is State.UPSTREAM_FAILED
    execute(parts, "split", cancelled=asked)
    parts.deliver()
    parts.submit("source", push="wanted")
    parts.tick(after_s=60)
    run_all(parts, "source", "part/1_1", "join")


def test_a_success_is_expanded_for_a_job_that_an_ended_submission_needs(parts: World) -> None:
    """The submission has ended before its pushed job ``split`` begins. The added job needs ``source``, which needs
    ``first``, and that adds jobs."""
    parts.define(
        {
            "trigger": PLAIN,
            "slow": PLAIN,
            "split": PLAIN | {"depends_on": {"app_name": ["trigger", "slow"]}},
            "first": PLAIN,
            "part": PART,
            "source": PLAIN | {"depends_on": {"app_name": ["first"]}},
            "join": PLAIN | {"depends_on": {"app_name": ["source"]}},
        }
    )
    pushing = parts.submit("trigger")
    parts.finish("trigger")
    assert parts.submission(pushing) is SubmissionState.SUCCEEDED
    parts.submit("slow", push="wanted")
    parts.finish("slow")
    succeed(parts, "split", encoded([Expansion("join", ("1",), None, "succeeded")]))
    succeed(parts, "first", expanded(1, then="source"))
    run_all(parts, "part/1_1", "source", "join")


def added_needs(world: World) -> list[tuple[str, str]]:
    """Return the needs that jobs have added, each with the child and the parent."""
    return world.ledger.transact(lambda tx: [(child, parent) for child, parent in tx.rows(_ADDED)])


@pytest.fixture
def pair(parts: World) -> World:
    """Return a world in which twin/1 adds jobs of part too."""
    parts.define({"split": PLAIN, "twin": PLAIN, "source": PLAIN, "part": PART, "join": PLAIN, "last": PLAIN})
    parts.submit("split", push="wanted")
    parts.submit("twin", push="wanted")
    return parts


def test_two_jobs_judged_together_may_name_the_same_last_job(pair: World) -> None:
    pair.beat(pair.worker)
    claims = {pair.take("split"): expanded(1), pair.take("twin"): expanded(2)}
    outcomes = {
        claimed.right: Outcome(ending=Ending.DONE, expansions=body) for claimed, body in claims.items()
    }
    transactions.record(pair.ledger, outcomes)
    pair.queue.append(Executed(jobs=tuple(claimed.id for claimed in claims)))
    pair.deliver()
    run_all(pair, "part/1_1")
    assert pair.state("join") is State.WAITING
    run_all(pair, "part/1_2", "join")
    assert pair.state("join") is DONE


def test_a_rerun_that_adds_nothing_leaves_the_jobs_that_another_job_has_added(pair: World) -> None:
    succeed(pair, "split", expanded(1, 3))
    succeed(pair, "twin", expanded(2))
    pair.submit("twin", rerun="job", push="wanted")
    succeed(pair, "twin", encoded([]))
    assert pair.states() == {
        "split": DONE,
        "twin": DONE,
        "part/1_1": State.READY,
        "part/1_2": State.CANCELLED,
        "part/1_3": State.READY,
        "join": State.WAITING,
    }
    run_all(pair, "part/1_1", "part/1_3", "join")
    assert pair.state("join") is DONE


def test_a_job_that_two_jobs_have_added_needs_only_the_one_that_still_names_it(pair: World) -> None:
    succeed(pair, "split", expanded(1))
    succeed(pair, "twin", expanded(1, 2))
    run_all(pair, "part/1_1", "part/1_2", "join")
    pair.submit("twin", rerun="job", push="wanted")
    succeed(pair, "twin", encoded([]))
    assert added_needs(pair) == [("join", "part/1_1"), ("join", "split/1"), ("part/1_1", "split/1")]


def test_a_last_job_that_is_not_named_any_more_needs_no_earlier_jobs(pair: World) -> None:
    succeed(pair, "split", expanded(1, 2))
    run_all(pair, "part/1_1")
    pair.submit("split", rerun="job", push="wanted")
    succeed(pair, "split", expanded(1, then=None))
    pair.submit("join", push="wanted")
    assert (pair.state("part/1_2"), pair.state("join")) == (State.CANCELLED, State.READY)


def test_an_ended_job_that_is_not_named_any_more_keeps_the_needs_of_its_definition(parts: World) -> None:
    parts.submit("join", push="wanted")
    succeed(parts, "split", expanded(1))
    run_all(parts, "part/1_1", "join")
    parts.submit("split", rerun="job", push="wanted")
    succeed(parts, "split", encoded([]))
    assert added_needs(parts) == []
    parts.submit("split", rerun="downstream", push="wanted")
    assert parts.state("join") is State.WAITING


def test_a_last_job_needs_an_added_job_that_adds_nothing_itself_any_more(parts: World) -> None:
    parts.submit("split", push="wanted")
    succeed(parts, "split", expanded(1))
    succeed(parts, "part/1_1", expanded(11))
    parts.submit("part", "1_1", rerun="job", push="wanted")
    succeed(parts, "part/1_1", encoded([]))
    assert ("join", "part/1_1") in added_needs(parts)


def test_a_pushed_job_adds_its_jobs_to_the_needs_of_a_last_job_that_waits(parts: World) -> None:
    parts.define(
        {
            "source": PLAIN,
            "other": PLAIN,
            "split": PLAIN | {"depends_on": {"app_name": ["source"]}},
            "part": PART,
            "join": PLAIN | {"depends_on": {"app_name": ["other"]}},
        }
    )
    parts.submit("join", push="wanted")
    parts.submit("source")
    succeed(parts, "source")
    succeed(parts, "split", expanded(1))
    run_all(parts, "other")
    assert parts.state("join") is State.WAITING
    run_all(parts, "part/1_1", "join")


def test_an_added_job_may_add_jobs(parts: World) -> None:
    asked = parts.submit("split", push="wanted")
    succeed(parts, "split", expanded(1, then=None))
    nested = encoded([Expansion("part", ("1_11", "1_12"), JobName("source", "7"))])
    succeed(parts, "part/1_1", nested)
    run_all(parts, "part/1_11", "part/1_12", "source/7")
    assert parts.submission(asked) is SubmissionState.SUCCEEDED


def test_an_own_success_adds_jobs_in_its_transaction(parts: World) -> None:
    parts.submit("join", push="wanted")
    claimed = parts.take("split")
    right = parts.right_of(claimed)
    with parts.ledger.transaction() as tx:
        right.record(tx.connection, "", expanded(1))
    parts.queue.append(Executed(jobs=(claimed.id,)))
    parts.deliver()
    assert parts.states()["part/1_1"] is State.READY


def test_a_lost_claim_adds_nothing(parts: World) -> None:
    parts.submit("join", push="wanted")
    claimed = parts.take("split")
    parts.tick(after_s=60)
    assert not parts.record(claimed, expansions=expanded(1))
    succeed(parts, "split", expanded(2))
    assert parts.states() == {"split": DONE, "part/1_2": State.READY, "join": State.WAITING}


@pytest.fixture
def shared(parts: World) -> World:
    """Return a world in which split/1 names join/1 as its last job, join waits for other, and last may use spare
    instead of join."""
    parts.define(
        {
            "source": PLAIN,
            "other": PLAIN,
            "spare": PLAIN,
            "split": PLAIN,
            "part": PART | {"max_fails": 0},
            "join": PLAIN | {"max_fails": 0, "depends_on": {"app_name": ["other"]}},
            "last": PLAIN
            | {"depends_on": {"first": {"app_name": ["join"]}, "second": {"app_name": ["spare"]}}},
        }
    )
    return parts


def test_a_submission_that_requests_the_last_job_keeps_its_parts_when_another_one_is_cancelled(
    shared: World,
) -> None:
    expanding = shared.submit("split", push="wanted")
    before = shared.submit("join", push="wanted")
    succeed(shared, "split", expanded(1, 2))
    after = shared.submit("last", push="wanted")
    shared.cancel(expanding)
    shared.cancel(before)
    assert (shared.state("part/1_1"), shared.state("part/1_2")) == (State.READY, State.READY)
    run_all(shared, "part/1_1", "part/1_2", "other", "join", "last")
    assert shared.submission(after) is SubmissionState.SUCCEEDED


@pytest.mark.parametrize("requested", ["join", "last"])
def test_a_submission_planned_before_the_expansion_keeps_the_parts_of_its_last_job(
    shared: World, requested: str
) -> None:
    expanding = shared.submit("split", push="wanted")
    asked = shared.submit(requested, push="wanted")
    succeed(shared, "split", expanded(1, 2))
    shared.cancel(expanding)
    assert (shared.state("part/1_1"), shared.state("part/1_2")) == (State.READY, State.READY)
    run_all(shared, "part/1_1", "part/1_2", "other", *dict.fromkeys(["join", requested]))
    assert shared.submission(asked) is SubmissionState.SUCCEEDED


def test_the_last_of_all_cancellations_cancels_the_parts(shared: World) -> None:
    expanding = shared.submit("split", push="wanted")
    asked = shared.submit("join", push="wanted")
    succeed(shared, "split", expanded(1))
    shared.cancel(expanding)
    shared.cancel(asked)
    assert (shared.state("part/1_1"), shared.state("join")) == (State.CANCELLED, State.CANCELLED)


def test_a_submission_of_the_last_job_also_requests_what_its_parts_need(shared: World) -> None:
    shared.define(
        {
            **shared.defined,
            "part": PART | {"autofill_values": {"n": ["1"]}, "depends_on": {"app_name": ["source"]}},
        }
    )
    expanding = shared.submit("split", push="wanted")
    asked = shared.submit("join", push="wanted")
    succeed(shared, "split", expanded(1))
    shared.cancel(expanding)
    run_all(shared, "source", "part/1_1", "other", "join")
    assert shared.submission(asked) is SubmissionState.SUCCEEDED


def test_a_submission_of_the_last_job_requests_the_jobs_that_a_part_adds(shared: World) -> None:
    expanding = shared.submit("split", push="wanted")
    asked = shared.submit("join", push="wanted")
    succeed(shared, "split", expanded(1))
    succeed(shared, "part/1_1", expanded(11))
    shared.cancel(expanding)
    run_all(shared, "part/1_11", "other", "join")
    assert shared.submission(asked) is SubmissionState.SUCCEEDED


def test_a_repeated_plan_of_an_expansion_requests_the_parts_for_the_submission_of_the_last_job(
    shared: World,
) -> None:
    expanding = shared.submit("split", push="wanted")
    shared.submit("join", push="wanted")
    claimed = shared.take("split")
    outcome = Outcome(ending=Ending.DONE, expansions=expanded(1))
    transactions.settle(shared.ledger, shared.catalogue, {claimed.right: outcome})
    shared.tick(after_s=60)
    shared.tick(after_s=60)
    shared.cancel(expanding)
    assert shared.state("part/1_1") is State.READY


def test_parts_that_are_not_named_any_more_are_cancelled_for_each_submission_of_the_last_job(
    shared: World,
) -> None:
    shared.submit("split", push="wanted")
    asked = shared.submit("join", push="wanted")
    succeed(shared, "split", expanded(1, 2, 3))
    shared.submit("part", "1_3", push="wanted")
    shared.submit("split", rerun="job", push="wanted")
    succeed(shared, "split", expanded(1))
    states = [shared.state(f"part/1_{n}") for n in (1, 2, 3)]
    assert states == [State.READY, State.CANCELLED, State.READY]
    run_all(shared, "part/1_1", "other", "join")
    assert shared.submission(asked) is SubmissionState.SUCCEEDED


def test_a_job_that_is_not_named_any_more_runs_for_another_job_that_needs_it(shared: World) -> None:
    needs = {"depends_on": {"app_name": ["split", "part", "other"]}}
    part = PART | {"autofill_values": {"n": ["2", "4"]}}
    shared.define({**shared.defined, "part": part, "last": PLAIN | needs})
    shared.submit("split", push="wanted")
    succeed(shared, "split", expanded(2, 4, 5, then=None))
    shared.submit("split", rerun="job", push="wanted")
    asked = shared.submit("last", push="wanted")
    succeed(shared, "split", expanded(2, then=None))
    assert (shared.state("part/1_4"), shared.state("part/1_5")) == (State.READY, State.CANCELLED)
    run_all(shared, "part/1_2", "part/1_4", "other", "last")
    assert shared.submission(asked) is SubmissionState.SUCCEEDED


def test_a_last_job_that_is_only_a_parent_may_fail_if_there_is_an_alternative(shared: World) -> None:
    shared.submit("split", push="wanted")
    asked = shared.submit("last", push="wanted")
    succeed(shared, "split", expanded(1))
    run_all(shared, "part/1_1", "other")
    shared.finish("join", Ending.ERROR)
    run_all(shared, "spare", "last")
    assert shared.submission(asked) is SubmissionState.SUCCEEDED


def test_a_retried_submission_requests_the_parts_that_were_added_since(shared: World) -> None:
    shared.submit("split", push="wanted")
    asked = shared.submit("join", push="wanted")
    succeed(shared, "split", expanded(1))
    shared.finish("part/1_1", Ending.ERROR)
    run_all(shared, "other")
    assert shared.submission(asked) is SubmissionState.FAILED
    again = shared.submit("split", rerun="job", push="wanted")
    succeed(shared, "split", expanded(1, 2))
    shared.retry(asked)
    shared.cancel(again)
    run_all(shared, "part/1_1", "part/1_2", "join")
    assert shared.submission(asked) is SubmissionState.SUCCEEDED


def test_a_submission_that_is_active_again_requests_the_parts_that_were_added_since(parts: World) -> None:
    parts.define({**parts.defined, "split": PLAIN | {"max_fails": 0}})
    first, asked = parts.submit("join", push="wanted"), parts.submit("last", push="wanted")
    parts.finish("split", Ending.ERROR)
    assert parts.submission(asked) is SubmissionState.FAILED
    parts.retry(first)
    succeed(parts, "split", expanded(1))
    parts.submit("last", rerun="alone", push="wanted")
    assert parts.submission(asked) is SubmissionState.ACTIVE
    parts.cancel(first)
    run_all(parts, "part/1_1", "join", "last")
    assert parts.submission(asked) is SubmissionState.SUCCEEDED


def test_a_submission_of_the_last_job_keeps_another_run_of_the_job_that_adds_its_parts(shared: World) -> None:
    shared.submit("split", push="wanted")
    asked = shared.submit("join", push="wanted")
    succeed(shared, "split", expanded(1, 2))
    run_all(shared, "part/1_1")
    again = shared.submit("split", rerun="job", push="wanted")
    shared.cancel(again)
    succeed(shared, "split", expanded(1, 2))
    run_all(shared, "part/1_1", "part/1_2", "other", "join")
    assert shared.submission(asked) is SubmissionState.SUCCEEDED
