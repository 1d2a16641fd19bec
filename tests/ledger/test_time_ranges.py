"""Jobs that something must happen to at a time are found by that time, however many wait for a later time."""

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.fixtures import cut_off, empty
from sluice.ledger.notifications import lateness
from sluice.ledger.reads import backlog, job_lists, saga_details
from sluice.ledger.reads.job_filters import JobFilter
from sluice.ledger.recovery import groomer_steps
from sluice.ledger.recovery.groomer_steps import Chore
from sluice.ledger.sagas import suspension
from tests.ledger.job_reads import touched

EACH = 2_000
FEW = 10
#: Columns of the jobs of each kind: all have a time in the future, except a few with a time in the past.
KINDS = {
    "retry": (State.WAITING, "not_before"),
    "deadline": (State.WAITING, "end_before"),
    "lateness": (State.WAITING, "late_at"),
    "wait": (State.SUSPENDED, "not_before"),
    "poll": (State.RUNNING, "next_poll_at"),
}
_MANY = """
INSERT INTO job (app, key, state, unblocked, created_at, changed_at, {time})
SELECT %(kind)s, n::text, %(state)s, %(unblocked)s, now(), now(),
       now() + CASE WHEN n <= %(few)s THEN interval '-1 hour' ELSE interval '1 day' END
FROM generate_series(1, %(each)s) n
"""

_MARKED = """
UPDATE job SET late = app = 'retry', saga_open = app = 'retry' AND key::int <= 2 * %(few)s
WHERE app = 'retry' AND key::int > %(few)s OR app = 'wait'
"""


@pytest.fixture
def ledger(ledger_url: str) -> Iterator[Ledger]:
    """Yield a ledger with the clock of the database, as in production."""
    with closing(Ledger(ledger_url, connections=2)) as opened:
        # Plans also count dead entries of an index.
        opened.transact(cut_off)
        for kind, (state, time) in KINDS.items():
            unblocked = kind not in ("deadline", "lateness")
            given = {"kind": kind, "state": state, "unblocked": unblocked, "few": FEW, "each": EACH}
            opened.transact(lambda tx, time=time, given=given: tx.write(_MANY.format(time=time), **given))
        opened.transact(lambda tx: tx.write("ANALYZE job"))
        yield opened
        opened.transact(empty)


def _ids(sql: str) -> Callable[[Tx], int]:
    return lambda tx: len(tx.rows(sql, limit=EACH))


@pytest.mark.parametrize("steady", [False, True], ids=["plans with values", "kept plans"])
@pytest.mark.parametrize(
    ("find", "found"),
    [
        (_ids(groomer_steps._DUE), FEW),
        (_ids(groomer_steps._OVERDUE), FEW),
        (_ids(groomer_steps._TIMED_OUT), 0),
        (_ids(lateness.LATE_JOBS), FEW),
        (_ids(suspension.LATE), FEW),
        (_ids(groomer_steps._SIGNS[Chore.POLL]), FEW),
    ],
    ids=["retries", "deadlines", "timeouts", "lateness", "waits", "polls"],
)
def test_a_search_for_jobs_whose_time_has_come_reads_no_others(
    ledger: Ledger, find: Callable[[Tx], int], found: int, steady: bool
) -> None:
    def look(tx: Tx) -> None:
        assert find(tx) == found

    scans, fetched = touched(ledger, look, steady=steady)
    assert (scans, fetched <= 20 * FEW) == (0, True), f"{fetched} jobs were fetched"


def test_a_tick_reads_the_jobs_whose_time_has_come(ledger: Ledger) -> None:
    def look(tx: Tx) -> None:
        due = {Chore.MAKE_READY, Chore.EXPIRE, Chore.MARK_LATE, Chore.RESUME_LATE, Chore.POLL}
        assert groomer_steps.due(tx) == due

    scans, fetched = touched(ledger, look, steady=True)
    assert (scans, fetched <= 20 * FEW) == (0, True), f"{fetched} jobs were fetched"


@pytest.mark.parametrize("steady", [False, True], ids=["plans with values", "kept plans"])
def test_open_sagas_and_late_jobs_are_found_among_many_jobs(ledger: Ledger, steady: bool) -> None:
    """Of the jobs that were late, some are open sagas, and some are not."""
    ledger.transact(lambda tx: tx.write(_MARKED, few=FEW, each=EACH))
    ledger.transact(lambda tx: tx.write("ANALYZE job"))

    def list_sagas(tx: Tx) -> None:
        sagas = saga_details.open_sagas(tx, before=None, limit=EACH)
        assert [int(saga.key) for saga in sagas] == [*range(2 * FEW, FEW, -1)]

    def list_late(tx: Tx) -> None:
        late = job_lists.search(tx, JobFilter(late=True), limit=FEW).jobs
        assert [int(job.key) for job in late] == [*range(EACH, EACH - FEW, -1)]

    for act, most in ((list_sagas, 2 * FEW), (list_late, EACH)):
        scans, fetched = touched(ledger, act, steady=steady)
        assert (scans, fetched <= most) == (0, True), f"{fetched} jobs were fetched"


def test_the_demand_reads_the_jobs_whose_time_comes_soon(ledger: Ledger) -> None:
    def look(tx: Tx) -> None:
        assert len(tx.rows(backlog._TIMED, horizon_s=60.0)) == 2 * FEW

    scans, fetched = touched(ledger, look, steady=True)
    assert (scans, fetched <= 5 * FEW) == (0, True), f"{fetched} jobs were fetched"
