"""A breaker: an app whose rounds fail one after the other pauses by itself."""

from typing import Any

import pytest

from sluice.actors import breaking, executor
from sluice.jobs.outcome import Ending, Outcome
from sluice.ledger import app_pauses
from sluice.ledger.reads.idle import idle
from tests.ledger.breaking import BREAKER, broken, define, fail, fails, news, pause, submit, trial, wait
from tests.world import World

#: Begin, record, close the round, count for what the process is measured by, commit: as many as where no app had one.
STATEMENTS = 4


def test_it_opens_after_so_many_fails_in_a_row(world: World) -> None:
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


def test_a_success_between_them_begins_the_count_anew(world: World) -> None:
    define(world)
    submit(world, 6)
    fail(world, "a/0", "a/1")
    world.finish("a/2")
    fail(world, "a/3", "a/4")
    world.tick()
    assert pause(world) is None
    assert fails(world) == 2


@pytest.mark.parametrize("ticks", [False, True])
def test_the_count_goes_on_from_look_to_look(world: World, ticks: bool) -> None:
    define(world)
    submit(world, 3)
    for job in ("a/0", "a/1", "a/2"):
        fail(world, job)
        if ticks:
            world.tick()
    world.tick()
    assert pause(world) is not None
    assert news(world) == []


def test_a_round_over_its_timeout_has_failed(world: World) -> None:
    define(world, timeout=5, max_timeouts=9)
    submit(world, 3)
    fail(world, "a/0", ending=Ending.TIMED_OUT)
    assert world.claim("a/1")
    assert world.claim("a/2")
    wait(world, 10)
    assert pause(world) is not None, "of two the groomer has heard nothing"


def test_what_was_cancelled_or_lost_or_handed_back_has_not_failed(world: World) -> None:
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


def test_a_healthy_app_writes_nothing(world: World) -> None:
    define(world)
    submit(world, 2)
    world.finish("a/0")
    world.finish("a/1")
    assert news(world) == []


def test_an_app_without_one_is_not_counted(world: World) -> None:
    world.apps("b", max_fails=9)
    define(world)
    world.apps("a, b", max_fails=9)
    world.submit("b")
    fail(world, "b")
    assert news(world) == []


def test_it_waits_for_a_job_to_try(world: World) -> None:
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


def test_what_runs_when_it_opens_goes_on(world: World) -> None:
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


def test_a_persons_pause_takes_its_place(world: World) -> None:
    broken(world)
    assert world.ledger.transact(lambda tx: app_pauses.pause(tx, ["a"], by="ann")) == ["a"]
    wait(world, 1000)
    found = pause(world)
    assert found is not None
    assert (found.by, found.until, found.trial) == ("ann", None, None)
    assert all(world.claim(job) is None for job in world.ready())


def test_it_leaves_a_persons_pause_as_it_is(world: World) -> None:
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


def test_to_resume_the_app_closes_it_and_forgets_the_fails(world: World) -> None:
    broken(world)
    fail_later = [job for job in world.ready() if job in {"a/3", "a/4"}]
    assert world.ledger.transact(lambda tx: app_pauses.resume(tx, ["a"])) == ["a"]
    fail(world, *fail_later)
    world.tick()
    assert pause(world) is None
    assert fails(world) == len(fail_later) == 2


def test_the_jobs_of_a_shared_pool_leave_their_slots_to_others(world: World) -> None:
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


def test_a_breaker_that_leaves_the_definition_closes(world: World) -> None:
    broken(world)
    define(world, breaker=None)
    world.tick()
    assert pause(world) is None
    assert world.claim("a/3") is not None
    assert (
        world.ledger.transact(
            lambda tx: tx.rows("SELECT 1 FROM breaker UNION ALL SELECT 1 FROM breaker_news")
        )
        == []
    )


def test_a_breaker_does_what_its_definition_says_by_now(world: World) -> None:
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


def test_definitions_without_the_app_leave_its_breaker_as_it_is(world: World) -> None:
    broken(world)
    world.apps("b")
    world.tick()
    assert pause(world) is not None


def test_up_waits_for_what_a_breaker_holds_back(world: World) -> None:
    broken(world)
    assert not world.ledger.transact(lambda tx: idle(tx, []))


def test_whoever_has_failed_hears_at_once_that_it_is_open(world: World) -> None:
    define(world)
    submit(world, 4)
    fail(world, "a/0", "a/1")
    assert not breaking.mind(world.ledger, "a").is_open
    fail(world, "a/2")
    assert breaking.mind(world.ledger, "a").is_open
    assert world.claim("a/3") is None


@pytest.mark.parametrize("words", [{}, {"breaker": {"fails": 9}}])
def test_an_end_costs_no_statement_more_than_without_a_breaker(world: World, words: dict[str, Any]) -> None:
    """What tells the breaker is part of the statement that ends the round."""
    world.define({app: {"job_id": "{x}", "bash_cmd": "true", "max_fails": 9, **words} for app in "ab"})
    asked = []
    for app in "ab":
        world.submit(app)
        claimed = world.claim(app)
        assert claimed
        before = world.ledger.round_trips()
        executor.record(world.ledger, {claimed.right: Outcome(ending=Ending.ERROR, error="it broke")})
        asked.append(world.ledger.round_trips() - before)
    assert asked[-1] == STATEMENTS, "the first prepares the statements"
