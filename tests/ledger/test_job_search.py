"""Search for jobs: every page has the same cost, and each job is found once."""

import random
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta

import pytest

from sluice.jobs.errors import BadRequest
from sluice.jobs.states import SUCCEED, By, State
from sluice.jobs.text.filters import Compare, Field, Operator
from sluice.ledger.database.connection import Ledger
from sluice.ledger.database.history import VerbBy, number
from sluice.ledger.fixtures import empty
from sluice.ledger.reads import job_lists
from sluice.ledger.reads.job_filters import JobFilter
from tests.world import World

_MANY = """
INSERT INTO job (app, key, state, unblocked, created_at, changed_at)
SELECT app, to_char(n, 'FM0000000') || '_' || app, CASE WHEN n %% 100 = 7 THEN 'failed' ELSE 'succeeded' END, true,
       now(), now()
FROM generate_series(1, %(each)s) n, unnest('{a, b, c}'::text[]) app ORDER BY n
"""
_LOGGED = f"""
INSERT INTO history (job, at, kind, round, claim)
SELECT id, now(), {number(State.EXECUTED, VerbBy(SUCCEED, By.PLANNER))}, 0, 1 FROM job
"""
FAILED = Compare(Field.STATE, Operator.EQUAL, "failed")
_TOUCHED = """
SELECT coalesce(seq_scan, 0), coalesce(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables WHERE relid = 'job'::regclass
"""


def look(world: World, token: str | None = None, *, limit: int = 50, **wanted: object) -> job_lists.FoundJobs:
    return world.ledger.transact(lambda tx: job_lists.search(tx, JobFilter(**wanted), token, limit=limit))


def all_of(world: World, *, limit: int = 50, **wanted: object) -> list[str]:
    """Return the names of the jobs on all pages, in their order."""
    page = look(world, limit=limit, **wanted)
    names = [f"{job.app}/{job.key}" for job in page.jobs]
    while page.next:
        page = look(world, page.next, limit=limit, **wanted)
        names += [f"{job.app}/{job.key}" for job in page.jobs]
    return names


@pytest.fixture
def shelf(world: World) -> World:
    world.apps("a, b, c")
    for key in range(12):
        for app in "abc":
            world.submit(app, str(key), id=f"{app}{key}")
    for key in range(0, 12, 3):
        world.finish(f"a/{key}")
    return world


@pytest.mark.parametrize("limit", [1, 2, 5, 12, 36, 100])
def test_the_newest_jobs_come_first(shelf: World, limit: int) -> None:
    assert all_of(shelf, limit=limit) == [f"{app}/{key}" for key in reversed(range(12)) for app in "cba"]
    assert all_of(shelf, app="b", limit=limit) == [f"b/{key}" for key in reversed(range(12))]
    done = [f"a/{key}" for key in (9, 6, 3, 0)]
    assert all_of(shelf, states=(State.SUCCEEDED, State.FAILED), limit=limit) == done
    assert all_of(shelf, app="b", states=(State.SUCCEEDED,), limit=limit) == []


@pytest.mark.parametrize("limit", [1, 3, 100])
def test_jobs_are_found_by_the_beginning_of_their_keys(shelf: World, limit: int) -> None:
    assert all_of(shelf, key="1", limit=limit) == [
        f"{app}/{key}" for key in ("1", "10", "11") for app in "abc"
    ]
    assert all_of(shelf, key="1", app="b", limit=limit) == ["b/1", "b/10", "b/11"]
    assert all_of(shelf, key="1", states=(State.SUCCEEDED,), limit=limit) == []
    assert all_of(shelf, key="9", states=(State.SUCCEEDED,), limit=limit) == ["a/9"]


@pytest.mark.parametrize("key", ["%", "_", "\\", "1%", "é", "'"])
def test_special_characters_in_a_key_match_themselves(shelf: World, key: str) -> None:
    assert all_of(shelf, key=key) == []
    shelf.submit("a", f"{key}x")
    assert all_of(shelf, key=key) == [f"a/{key}x"]


@pytest.mark.parametrize("limit", [1, 3, 100])
def test_jobs_are_found_by_the_submission_that_wants_them(world: World, limit: int) -> None:
    world.apps("a -> b -> c")
    world.submit("c", "1", id="one", push="wanted")
    world.submit("c", "2", id="two", push="wanted")
    world.finish("a/2")
    assert set(all_of(world, submission="two", limit=limit)) == {"a/2", "b/2", "c/2"}
    assert all_of(world, submission="two", states=(State.READY,), limit=limit) == ["b/2"]
    assert all_of(world, submission="none", limit=limit) == []


@pytest.mark.parametrize("limit", [1, 3, 100])
def test_a_search_takes_each_part_of_a_filter(shelf: World, limit: int) -> None:
    late = Compare(Field.KEY, Operator.AT_LEAST, "8")
    assert all_of(shelf, where=late, limit=limit) == ["c/9", "b/9", "a/9", "c/8", "b/8", "a/8"]
    assert all_of(shelf, where=late, app="a", states=(State.SUCCEEDED,), limit=limit) == ["a/9"]
    assert all_of(shelf, where=late, key="9", limit=limit) == ["a/9", "b/9", "c/9"]
    assert all_of(shelf, where=late, submission="b8", limit=limit) == ["b/8"]
    assert all_of(shelf, key="9", submission="b8", limit=limit) == []
    assert all_of(shelf, since=shelf.now + timedelta(seconds=1), limit=limit) == []
    assert all_of(shelf, uncollected=True, limit=limit) == []


def test_pages_stay_complete_while_jobs_are_added(shelf: World) -> None:
    rng = random.Random(1)
    page = look(shelf, limit=5)
    seen = [(job.app, job.key) for job in page.jobs]
    while page.next:
        shelf.submit(rng.choice("abc"), str(rng.randrange(100, 10_000)))
        page = look(shelf, page.next, limit=5)
        seen += [(job.app, job.key) for job in page.jobs]
    assert sorted(seen) == sorted((app, str(key)) for key in range(12) for app in "abc")


@pytest.mark.parametrize("token", ["", "x", "é", "bnVsbA", "W251bGwsLTFd", "WyJhIiwgMV0"])
def test_an_invalid_page_token_is_refused(shelf: World, token: str) -> None:
    if not token:
        token = look(shelf, key="1", limit=1).next or ""
    with pytest.raises(BadRequest):
        look(shelf, token, limit=1)


@pytest.fixture
def ledger(ledger_url: str) -> Iterator[Ledger]:
    with closing(Ledger(ledger_url, connections=2)) as opened:
        opened.transact(empty)
        yield opened


def fill(ledger: Ledger, each: int) -> None:
    """Insert many jobs of three apps, of which one in a hundred has failed. Update their state counts."""
    ledger.transact(lambda tx: tx.write(_MANY, each=each))
    ledger.transact(lambda tx: tx.write(_LOGGED))
    ledger.transact(
        lambda tx: tx.write("INSERT INTO state_count SELECT app, state, count(*), 1 FROM job GROUP BY 1, 2")
    )
    ledger.transact(
        lambda tx: tx.write("UPDATE aggregation_cursor SET counted = (SELECT max(id) FROM history)")
    )
    ledger.transact(lambda tx: tx.write("ANALYZE job"))


@pytest.mark.parametrize(
    "wanted", [JobFilter(key="00", app="b", states=(State.FAILED,)), JobFilter(app="b", where=FAILED)]
)
def test_all_matching_jobs_are_found_if_few_of_many_match(ledger: Ledger, wanted: JobFilter) -> None:
    """A page reads a limited number of jobs. If fewer match than fit on it, it still leads to the next page."""
    each = job_lists.SCANNED_MAX // 2 + 100
    fill(ledger, each)
    pages = [ledger.transact(lambda tx: job_lists.search(tx, wanted, limit=40))]
    while token := pages[-1].next:
        pages.append(ledger.transact(lambda tx, token=token: job_lists.search(tx, wanted, token, limit=40)))
    assert 0 < len(pages[0].jobs) < 40
    found = [job.key for page in pages for job in page.jobs]
    assert (found if wanted.key else found[::-1]) == [f"{n:07}_b" for n in range(7, each + 1, 100)]


# To plan a search for the newest of all jobs, Postgres reads one more.
@pytest.mark.parametrize(
    ("wanted", "most"),
    [
        (JobFilter(), 52),
        (JobFilter(app="b"), 3 * 51),
        (JobFilter(states=(State.FAILED,)), 4 * 51),
        (JobFilter(where=FAILED), job_lists.SEARCH_PAGE_MAX + 2),
        (JobFilter(key="0009"), job_lists.SCANNED_MAX),
        (JobFilter(key="0009", app="b", states=(State.FAILED,)), job_lists.SCANNED_MAX),
        (JobFilter(key="0009", app="b", where=FAILED), job_lists.SCANNED_MAX),
    ],
)
def test_no_page_reads_all_jobs(ledger: Ledger, wanted: JobFilter, most: int) -> None:
    fill(ledger, 10_000)
    # In a session of its own, because a session reports its recent counts late.
    with closing(Ledger(ledger.url, connections=1)) as reader, reader.begin() as tx:
        for _ in range(3):
            job_lists.search(tx, wanted)
        scans, fetched = tx.rows(_TOUCHED)[0]
    assert (scans, fetched <= 3 * most) == (0, True), f"{fetched} of 30,000 were fetched"
