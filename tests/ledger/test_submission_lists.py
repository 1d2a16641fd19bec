"""Reads of many submissions for the console: pages of submissions, and the progress of each."""

import pytest

from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from sluice.ledger.database.connection import Tx
from sluice.ledger.reads import submission_lists as reads
from sluice.ledger.reads.submission_lists import SubmissionPage, submitted
from sluice.ledger.reads.submission_progress import Share, shares
from tests.world import World

MANY = 60


def number(world: World, id: str) -> int:
    found = world.ledger.transact(lambda tx: reads.one(tx, id))
    assert found
    return found.number


def share(world: World, id: str, *, exact_max: int, probes: int) -> Share:
    asked = number(world, id)
    return world.ledger.transact(lambda tx: shares(tx, [asked], exact_max=exact_max, probes=probes))[asked]


@pytest.fixture
def many(world: World) -> World:
    """Submit sixty jobs, of which ten are done. Another submission requests every second of these jobs."""
    world.apps("a")
    world.submit("a", None, keys=tuple(f"{n:02}" for n in range(MANY)), id="all")
    world.submit("a", None, keys=tuple(f"{n:02}" for n in range(0, MANY, 2)), id="even")
    for n in range(10):
        world.finish(f"a/{n:02}")
    return world


def test_the_jobs_of_a_small_submission_are_counted(many: World) -> None:
    found = share(many, "all", exact_max=MANY, probes=1)
    assert (found.total, found.ended, found.failed, found.about) == (MANY, 10, 0, False)
    assert found.states == {State.SUCCEEDED: 10, State.READY: 50}


def test_the_total_of_a_large_submission_of_adjacent_jobs_is_exact(many: World) -> None:
    found = share(many, "all", exact_max=MANY - 1, probes=3)
    assert (found.total, found.about) == (MANY, True)


def test_as_many_probes_as_jobs_find_every_job(many: World) -> None:
    found = share(many, "all", exact_max=5, probes=MANY)
    assert found.states == {State.SUCCEEDED: 10, State.READY: 50}
    assert share(many, "even", exact_max=5, probes=MANY).total == MANY // 2


def test_a_request_for_no_submissions_returns_no_progress(world: World) -> None:
    world.apps("a")
    world.submit("a", "1", id="one")
    world.cancel("one")
    world.submit("a", None, keys=("1", "2"), id="two")
    assert share(world, "two", exact_max=5, probes=5).total == 2
    assert world.ledger.transact(lambda tx: shares(tx, [], exact_max=5, probes=5)) == {}


def page(world: World, *states: SubmissionState, limit: int = 2, **words: object) -> SubmissionPage:
    given = {"app": None, "before": None, **words}

    def read(tx: Tx) -> SubmissionPage:
        return submitted(tx, states=states, limit=limit, **given)

    return world.ledger.transact(read)


def test_submissions_are_listed_page_by_page_newest_first(world: World) -> None:
    world.apps("a, b")
    for n in range(5):
        world.submit("ab"[n % 2], str(n), id=f"s{n}")
    first = page(world)
    assert [each.id for each in first.found] == ["s4", "s3"]
    second = page(world, before=first.next)
    third = page(world, before=second.next)
    assert [each.id for each in [*second.found, *third.found]] == ["s2", "s1", "s0"]
    assert third.next is None
    assert [each.id for each in page(world, app="b").found] == ["s3", "s1"]


def test_a_page_that_reached_the_search_limit_is_short_and_names_the_next(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reads, "LOOKED_THROUGH_MAX", 2)
    world.apps("a, b")
    for n in range(5):
        world.submit("b" if n == 0 else "a", str(n), id=f"s{n}")
    found, before, pages = [], None, 0
    while True:
        each = page(world, app="b", before=before)
        found += [one.id for one in each.found]
        before, pages = each.next, pages + 1
        if before is None:
            break
    assert (found, pages) == (["s0"], 3)


def test_cancelled_submissions_are_found_beyond_the_search_limit(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reads, "LOOKED_THROUGH_MAX", 2)
    world.apps("a")
    world.submit("a", "0", id="bad")
    world.cancel("bad")
    for n in range(1, 5):
        world.submit("a", str(n), id=f"s{n}")
    assert [each.id for each in page(world, SubmissionState.CANCELLED).found] == ["bad"]
    assert page(world, SubmissionState.CANCELLED, SubmissionState.ACTIVE, limit=1).found[0].id == "s4"
