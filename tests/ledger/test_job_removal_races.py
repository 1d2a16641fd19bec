"""Races of the removal of jobs with operations on them, stopped at every statement."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from sluice.broker.messages import Message, Submit
from sluice.jobs.model.job import Ending
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import LIVE, State
from sluice.ledger.database.connection import Ledger
from sluice.ledger.recovery.invariants import breaches
from sluice.ledger.retention import job_removal
from tests.ledger.ages import KEEP_S, later, prune
from tests.ledger.races import Act, Acts, at_each_statement, finish_all_jobs, meet, race
from tests.world import World

#: Upper limit of the number of statements of the handlers in these races.
STATEMENTS_MAX = 120


def _removing(ledger: Ledger) -> Any:
    return ledger.transact(lambda tx: job_removal.remove_jobs(tx, keep_s=KEEP_S, limit=100)).rows


def _removing_submissions(ledger: Ledger) -> Any:
    return ledger.transact(lambda tx: job_removal.remove_submissions(tx, keep_s=KEEP_S, limit=100)).rows


_OTHERS: Mapping[str, Callable[[Acts], Act]] = {
    "plan a child": lambda m: m.plan("c"),
    "ask for it": lambda m: m.plan("b"),
    "rerun it": lambda m: m.plan("b", rerun="job"),
    "rerun downstream": lambda m: m.plan("a", rerun="downstream"),
    "the same submission": lambda m: m.plan("b", id="first", push="wanted"),
    "cancel it": lambda m: m.cancel("first"),
}


def _old(world: World) -> None:
    """Make two jobs that succeeded long ago, ``a`` and ``b``, of which the history is removed."""
    world.apps("a -> b -> c")
    world.submit("b", id="first", push="wanted")
    for app in "ab":
        world.finish(app)
    later(world)
    prune(world)


@pytest.mark.parametrize("swapped", [False, True], ids=["the removal stops", "the other stops"])
@pytest.mark.parametrize("other", _OTHERS)
def test_a_verb_finds_an_old_job_complete_or_not_at_all(embedded_url: str, other: str, swapped: bool) -> None:
    def arrange(m: Acts) -> tuple[Act, Act]:
        _old(m.world)
        return _removing, _OTHERS[other](m)

    def check(m: Acts, _: object, messages: list[Message] | None) -> None:
        m.world.queue.extend(messages or [])
        m.world.deliver()
        finish_all_jobs(m.world)
        states = m.world.states()
        assert not {*states.values()} & LIVE, states
        if other == "plan a child":
            assert states["c"] is State.SUCCEEDED
        if "rerun" in other or other == "ask for it":
            assert states["b" if other != "rerun downstream" else "a"] is State.SUCCEEDED

    meet(lambda: Acts(embedded_url), arrange, check, swapped=swapped, most=STATEMENTS_MAX)


@pytest.mark.parametrize("swapped", [False, True], ids=["the removal stops", "the rerun stops"])
def test_a_parent_stays_if_a_child_runs_again_meanwhile(embedded_url: str, swapped: bool) -> None:
    """The rerun locks the child, and later its other parent. A removal that has locked only that parent must not wait
    for the child."""

    def arrange(m: Acts) -> tuple[Act, Act]:
        m.world.apps("a -> c, b -> c")
        m.world.submit("c", push="wanted")
        for app in "abc":
            m.world.finish(app)
        later(m.world)
        prune(m.world)
        return _removing, m.plan("a", rerun="downstream", push="wanted")

    def check(m: Acts, _: int, __: object) -> None:
        states = m.world.states()
        assert "b" in states or states.get("c") not in LIVE, states

    meet(lambda: Acts(embedded_url), arrange, check, swapped=swapped, most=STATEMENTS_MAX)


@pytest.mark.parametrize("swapped", [False, True], ids=["the removal stops", "the retry stops"])
def test_a_retry_of_a_selected_job_requests_no_removed_job(embedded_url: str, swapped: bool) -> None:
    """The retried job is requested by an open submission and stays. The old job that could not run because of it is
    requested with it, or removed."""

    def arrange(m: Acts) -> tuple[Act, Act]:
        m.world.apps("a -> b, a -> y, x -> y")
        m.world.submit("b", push="wanted")
        m.world.submit("y", push="wanted")
        m.world.finish("a", Ending.ERROR)
        later(m.world)
        prune(m.world)
        return _removing, m.plan("a", rerun="alone", push="wanted")

    def check(m: Acts, removed: int, __: object) -> None:
        assert m.world.ledger.transact(breaches) == []
        assert ("b" not in m.world.states()) == bool(removed) or m.world.state("b") is State.WAITING

    meet(lambda: Acts(embedded_url), arrange, check, swapped=swapped, most=STATEMENTS_MAX)


def test_of_two_concurrent_removals_one_removes_the_jobs(embedded_url: str) -> None:
    def arrange(m: Acts) -> tuple[Act, Act]:
        _old(m.world)
        return _removing, _removing

    def check(_: Acts, one: int, two: int) -> None:
        assert sorted([one, two]) == [0, 2]

    meet(lambda: Acts(embedded_url), arrange, check, swapped=False, most=STATEMENTS_MAX)


def test_a_submission_is_accepted_as_new_if_the_earlier_one_is_removed_meanwhile(embedded_url: str) -> None:
    def meet_at(stop_before: int) -> bool:
        m = Acts(embedded_url)
        _old(m.world)
        _removing(m.world.ledger)
        again = m.plan("b", id="first", push="wanted")
        stopped, messages, gone = race(
            m.world.url, lambda: m.world.now, again, _removing_submissions, stop_before
        )
        assert gone == 1
        # After its third statement the earlier submission was recognised, and then removed.
        if stopped and stop_before < 3:
            m.world.queue.extend(messages or [])
            m.world.deliver()
            finish_all_jobs(m.world)
            assert m.world.submission("first") is SubmissionState.SUCCEEDED
        return stopped

    at_each_statement(meet_at, most=STATEMENTS_MAX)


def _submit_by_sql(ledger: Ledger) -> Any:
    sql = "SELECT sluice.submit(%(request)s::jsonb)"
    request = json.dumps({"id": "first", "app": "a", "key": "1", "push": "wanted"})
    return ledger.transact(lambda tx: tx.column(sql, request=request))


@pytest.mark.parametrize("swapped", [False, True], ids=["the removal stops", "the submission stops"])
@pytest.mark.parametrize("by_sql", [False, True], ids=["by a message", "by SQL"])
def test_a_refused_submission_that_is_removed_meanwhile_is_received_as_new(
    embedded_url: str, by_sql: bool, swapped: bool
) -> None:
    def arrange(m: Acts) -> tuple[Act, Act]:
        m.world.apps("a")
        unreadable = b'{"id": "first", "app": "a", "key": "1", "rerun": "unknown"}'
        m.handle(Submit(id="a message", submission=msgspec.Raw(unreadable)))(m.world.ledger)
        later(m.world)
        assert m.world.submission("first") is SubmissionState.REFUSED
        return _removing_submissions, _submit_by_sql if by_sql else m.plan("a", id="first", push="wanted")

    def check(m: Acts, _: object, __: object) -> None:
        if by_sql:
            # Its time is the database's, long after that of this world.
            assert m.world.submission("first") is SubmissionState.RECEIVED
            return
        m.world.tick(after_s=60)
        finish_all_jobs(m.world)
        assert m.world.submission("first") is SubmissionState.SUCCEEDED

    meet(lambda: Acts(embedded_url), arrange, check, swapped=swapped, most=STATEMENTS_MAX)
