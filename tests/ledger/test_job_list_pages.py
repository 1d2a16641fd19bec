"""Pages of a list of jobs: each job is listed once, whatever times are equal and whatever jobs are added meanwhile."""

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta

import pytest

from sluice.jobs.states import State
from sluice.jobs.text.filters import Compare, Condition, Field, Operator
from sluice.jobs.text.paging import Order, OrderBy
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.reads import job_lists
from sluice.ledger.reads.job_filters import JobFilter
from sluice.ledger.reads.job_lists import JobPage
from tests.ledger.listed_jobs import DAY, There, there
from tests.world import World

SECOND = timedelta(seconds=1)
CREATED = Order(by=OrderBy.CREATED, descending=False)
CREATED_LAST = Order(by=OrderBy.CREATED)
ORDERS = [Order(by=by, descending=descending) for by in OrderBy for descending in (False, True)]

_COMES = """
INSERT INTO job (app, key, state, created_at, changed_at)
VALUES ('late', %(key)s, %(state)s, clock_timestamp(), clock_timestamp())
"""


@pytest.mark.parametrize("order", ORDERS, ids=str)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_each_job_is_on_one_page_however_many_have_the_same_time(
    world: World, order: Order, size: int
) -> None:
    times = [DAY, DAY, DAY + SECOND, DAY - SECOND, DAY, DAY - SECOND, DAY]
    jobs = [There(key=str(n), created_at=at, changed_at=at) for n, at in enumerate(times)]
    in_order = sorted(range(7), key=lambda n: (times[n], n), reverse=order.descending)
    with there(world, jobs) as tx:
        pages = list(_pages(tx, order, size))
    assert [job.key for page in pages for job in page.jobs] == [str(n) for n in in_order]
    assert {page.total for page in pages} == {7}
    assert all(len(page.jobs) == size for page in pages[:-2])
    assert (pages[-1].next is None) is order.descending


def test_jobs_added_between_pages_are_neither_skipped_nor_repeated(world: World) -> None:
    """All jobs have the same time, which is the hardest case."""
    world.apps("a")
    world.submit("a", None, keys=["1", "2"])
    seen, later = _page(world, CREATED, 1), _page(world, CREATED_LAST, 1)
    world.submit("a", None, keys=["3", "4"])
    keys, last_keys = _keys(seen), _keys(later)
    for _ in range(3):
        seen = _page(world, CREATED, 1, seen.next)
        keys += _keys(seen)
    assert keys == ["1", "2", "3", "4"]
    assert (last_keys, _keys(_page(world, CREATED_LAST, 9, later.next))) == (["2"], ["1"])


def test_the_token_of_the_last_page_leads_to_later_jobs_only(world: World) -> None:
    world.apps("a")
    nothing = _page(world, CREATED, 5)
    world.submit("a", "1")
    some = _page(world, CREATED, 5, nothing.next)
    still = _page(world, CREATED, 5, some.next)
    assert [_keys(each) for each in (nothing, some, still)] == [[], ["1"], []]
    world.submit("a", "2")
    again = _page(world, CREATED, 5, still.next)
    assert (_keys(again), again.total) == (["2"], 2)


def test_a_job_that_changes_is_listed_again_in_the_order_of_changes(world: World) -> None:
    world.apps("a")
    world.submit("a", None, keys=["1", "2"])
    order = Order(by=OrderBy.CHANGED, descending=False)
    seen = _page(world, order, 5)
    world.now += SECOND
    world.finish("a/1")
    assert _keys(_page(world, order, 5, seen.next)) == ["1"]


def test_a_token_works_although_its_job_was_deleted(world: World) -> None:
    with there(world, [There(key=str(n)) for n in range(3)]) as tx:
        token = job_lists.page(tx, JobFilter(), None, order=CREATED, limit=2).next
        tx.write("DELETE FROM job WHERE key = '1'")
        assert _keys(job_lists.page(tx, JobFilter(), token, order=CREATED, limit=2)) == ["2"]


def test_the_condition_applies_to_the_pages_and_to_their_total(world: World) -> None:
    where = Compare(Field.KEY, Operator.NOT_IN, ("0", "3"))
    with there(world, [There(key=str(n)) for n in range(6)]) as tx:
        pages = list(_pages(tx, CREATED, 1, where))
    assert [_keys(page) for page in pages] == [["1"], ["2"], ["4"], ["5"], []]
    assert {page.total for page in pages} == {4}


def test_an_uncommitted_job_holds_back_jobs_that_are_later(world: World) -> None:
    """The uncommitted job has an earlier time.

    If the later job were listed first, no following page would contain it.
    """
    wanted = JobFilter(app="late")
    with closing(Ledger(world.url, connections=3)) as ledger:

        def page(token: str | None = None) -> JobPage:
            return ledger.transact(lambda tx: job_lists.page(tx, wanted, token, order=CREATED, limit=100))

        try:
            with ledger.begin() as slow:
                slow.write(_COMES, key="slow", state=State.CANCELLED)
                ledger.transact(lambda tx: tx.write(_COMES, key="quick", state=State.CANCELLED))
                meanwhile = page()
                assert (_keys(meanwhile), meanwhile.total) == ([], 1)
            assert _keys(page(meanwhile.next)) == ["slow", "quick"]
        finally:
            ledger.transact(lambda tx: tx.write("DELETE FROM job WHERE app = 'late'"))


def _pages(tx: Tx, order: Order, size: int, where: Condition | None = None) -> Iterator[JobPage]:
    """Yield pages until there is no next one, or the page is empty."""
    wanted = JobFilter(where=where)
    page = job_lists.page(tx, wanted, None, order=order, limit=size)
    yield page
    while page.jobs and page.next is not None:
        page = job_lists.page(tx, wanted, page.next, order=order, limit=size)
        yield page


def _page(world: World, order: Order, size: int, token: str | None = None) -> JobPage:
    return world.ledger.transact(lambda tx: job_lists.page(tx, JobFilter(), token, order=order, limit=size))


def _keys(page: JobPage) -> list[str]:
    return [job.key for job in page.jobs]
