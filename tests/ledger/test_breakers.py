"""Breakers: an app with several failed rounds in a row is paused automatically."""

from typing import Any

import pytest

from sluice.actors.executor import breakers, transactions
from sluice.jobs.model.job import Ending, Outcome
from sluice.ledger.limits import app_pauses
from sluice.ledger.reads.quiescence import idle
from tests.ledger.breaker_worlds import BREAKER, broken, define, fail, fails, news, pause, submit, trial, wait
from tests.world import World

#: Round trips that end a round if no app has a breaker: BEGIN, record, close the round, COMMIT.
ROUND_TRIPS = 3


def test_a_breaker_opens_after_the_defined_number_of_failures_in_a_row(world: World) -> None:
    define(world)
    submit(world, 5)
    fail(world, "a/0", "a/1")
    world.tick()
    assert pause(world) is None
    assert world.claim("a/3") is not None
    fail(world, "a/2")
    world.tick()
    found = pause(world)
    assert found is not None
    assert found.is_of_breaker
    assert found.why == "3 rounds in a row have failed, the last with: it broke"
    assert world.claim("a/4") is None


def test_a_success_between_failures_resets_the_count(world: World) -> None:
    define(world)
    submit(world, 6)
    fail(world, "a/0", "a/1")
    world.finish("a/2")
    fail(world, "a/3", "a/4")
    world.tick()
    assert pause(world) is None
    assert fails(world) == 2


@pytest.mark.parametrize("ticks", [False, True])
def test_the_count_continues_from_one_evaluation_to_the_next(world: World, ticks: bool) -> None:
    define(world)
    submit(world, 3)
    for job in ("a/0", "a/1", "a/2"):
        fail(world, job)
        if ticks:
            world.tick()
    world.tick()
    assert pause(world) is not None
    assert news(world) == []


def test_a_timed_out_round_counts_as_a_failure(world: World) -> None:
    define(world, timeout=5, max_timeouts=9)
    submit(world, 3)
    fail(world, "a/0", ending=Ending.TIMED_OUT)
    assert world.claim("a/1")
    assert world.claim("a/2")
    wait(world, 10)
    assert pause(world) is not None, "of two the groomer has heard nothing"


def test_cancelled_lost_and_handed_back_rounds_do_not_count_as_failures(world: World) -> None:
    define(world)
    submission = world.submit("a", "0")
    submit(world, 3)
    assert world.claim("a/0")
    world.cancel(submission)
    handed_back = world.claim("a/1")
    assert handed_back
    world.record(handed_back, Ending.HANDED_BACK)
    assert world.claim("a/2")
    world.tick(after_s=60)
    assert (news(world), fails(world)) == ([], 0)


def test_successes_of_a_healthy_app_write_no_rows_for_the_breaker(world: World) -> None:
    define(world)
    submit(world, 2)
    world.finish("a/0")
    world.finish("a/1")
    assert news(world) == []


def test_failures_of_an_app_without_a_breaker_are_not_counted(world: World) -> None:
    world.apps("b", max_fails=9)
    define(world)
    world.apps("a, b", max_fails=9)
    world.submit("b")
    fail(world, "b")
    assert news(world) == []


def test_an_open_breaker_waits_for_a_ready_job_to_try(world: World) -> None:
    broken(world, 3, retry={"rule": "fixed", "seconds": 300})
    wait(world, 60)
    found = pause(world)
    assert found is not None
    assert found.trial is None
    world.submit("a", "new")
    wait(world, 1)
    world.finish("a/new")
    world.tick()
    assert pause(world) is None


def test_jobs_that_run_when_the_breaker_opens_go_on(world: World) -> None:
    define(world)
    submit(world, 7)
    running, other = world.claim("a/5"), world.claim("a/6")
    assert running
    assert other
    fail(world, "a/0", "a/1", "a/2")
    world.tick()
    opened = pause(world)
    assert opened is not None
    world.record(other, Ending.ERROR)
    world.tick()
    assert pause(world) == opened, "its failure does not make it longer"
    world.record(running)
    world.tick()
    assert pause(world) is None, "its success closes it"


def test_a_persons_pause_replaces_the_breakers_pause(world: World) -> None:
    broken(world)
    assert world.ledger.transact(lambda tx: app_pauses.pause(tx, ["a"], by="ann")) == ["a"]
    wait(world, 1000)
    found = pause(world)
    assert found is not None
    assert (found.by, found.until, found.trial) == ("ann", None, None)
    assert all(world.claim(job) is None for job in world.ready())


def test_a_breaker_leaves_a_persons_pause_unchanged(world: World) -> None:
    define(world)
    submit(world, 4)
    claims = [world.claim(f"a/{nth}") for nth in range(4)]
    world.ledger.transact(lambda tx: app_pauses.pause(tx, ["a"], by="ann"))
    for claimed in claims:
        assert claimed
        world.record(claimed, Ending.ERROR)
    world.tick()
    found = pause(world)
    assert found is not None
    assert not found.is_of_breaker
    assert fails(world) == 0


def test_resuming_the_app_closes_the_breaker_and_forgets_the_failures(world: World) -> None:
    broken(world)
    fail_later = [job for job in world.ready() if job in {"a/3", "a/4"}]
    assert world.ledger.transact(lambda tx: app_pauses.resume(tx, ["a"])) == ["a"]
    fail(world, *fail_later)
    world.tick()
    assert pause(world) is None
    assert fails(world) == len(fail_later) == 2


def test_an_open_breaker_frees_slots_of_a_shared_pool_for_other_apps(world: World) -> None:
    shared = {"concurrency": {"pool": "db", "limit": 2}, "max_fails": 9}
    app = {"job_id": "{x}", "bash_cmd": "true", **shared}
    world.define({"a": {**app, "breaker": BREAKER}, "b": app})
    submit(world, 4)
    for nth in range(3):
        world.submit("b", str(nth))
    fail(world, "a/0", "a/1", "a/2")
    world.tick()
    wait(world, 1)
    assert {job.partition("/")[0] for job in world.ready()} == {"b"}
    wait(world, 30)
    for job in sorted(world.ready()):
        world.finish(job)
    assert trial(world) in world.ready()
    world.finish(trial(world))
    wait(world, 1)
    wait(world, 1)
    assert pause(world) is None
    assert "a" in {job.partition("/")[0] for job in world.ready()}


def test_a_breaker_that_is_removed_from_the_definition_closes(world: World) -> None:
    broken(world)
    define(world, breaker=None)
    world.tick()
    assert pause(world) is None
    assert world.claim("a/3") is not None
    assert (
        world.ledger.transact(
            lambda tx: tx.rows("SELECT 1 FROM breaker UNION ALL SELECT 1 FROM breaker_event")
        )
        == []
    )


def test_a_breaker_follows_a_changed_definition(world: World) -> None:
    define(world)
    submit(world, 6)
    fail(world, "a/0", "a/1")
    world.tick()
    define(world, breaker={"fails": 2, "pause": 1})
    world.tick()
    assert pause(world) is None
    fail(world, "a/2")
    world.tick()
    assert pause(world) is not None


def test_definitions_without_the_app_leave_its_breaker_unchanged(world: World) -> None:
    broken(world)
    world.apps("b")
    world.tick()
    assert pause(world) is not None


def test_a_ledger_with_an_open_breaker_is_not_idle(world: World) -> None:
    broken(world)
    assert not world.ledger.transact(lambda tx: idle(tx, []))


def test_an_evaluation_after_the_last_failure_reports_the_open_breaker(world: World) -> None:
    define(world)
    submit(world, 4)
    fail(world, "a/0", "a/1")
    assert not breakers.evaluate(world.ledger, "a").is_open
    fail(world, "a/2")
    assert breakers.evaluate(world.ledger, "a").is_open
    assert world.claim("a/3") is None


@pytest.mark.parametrize("words", [{}, {"breaker": {"fails": 9}}])
def test_a_breaker_adds_no_statement_to_the_end_of_a_round(world: World, words: dict[str, Any]) -> None:
    """The statement that ends the round also inserts the row for the breaker."""
    world.define({app: {"job_id": "{x}", "bash_cmd": "true", "max_fails": 9, **words} for app in "abc"})
    asked = []
    for app in "abc":
        world.submit(app)
        claimed = world.claim(app)
        assert claimed
        before = world.ledger.round_trips()
        transactions.record(world.ledger, {claimed.right: Outcome(ending=Ending.ERROR, error="it broke")})
        asked.append(world.ledger.round_trips() - before)
    assert asked[-1] == ROUND_TRIPS, "each of the two connections prepares the statements once"
