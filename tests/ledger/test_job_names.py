"""The index on the names of jobs finds jobs by name, and by the beginning of their keys."""

from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from sluice.jobs.model.names import JobName
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.fixtures import cut_off, empty
from sluice.ledger.job_graph import known_jobs
from sluice.ledger.reads import job_details, job_lists
from sluice.ledger.reads.by_partition import last_successes
from sluice.ledger.reads.job_filters import JobFilter
from tests.ledger.job_reads import fill, plans_of, require_ranges, touched
from tests.world import World

APPS, EACH = 40, 1_000
_MANY = """
INSERT INTO job (app, key, state, unblocked, created_at, changed_at)
SELECT 'app' || app, to_char(n, 'FM0000'), CASE WHEN n %% 100 = 7 THEN 'failed' ELSE 'succeeded' END, true, now(), now()
FROM generate_series(0, %(each)s - 1) n, generate_series(1, %(apps)s) app ORDER BY n, app
"""
PAGE = 20
FAILED = (State.FAILED,)


@pytest.fixture
def many(ledger_url: str) -> Iterator[Ledger]:
    with closing(Ledger(ledger_url, connections=2)) as opened:
        # Plans also count dead entries of an index.
        opened.transact(cut_off)
        fill(opened, _MANY, apps=APPS, each=EACH)
        yield opened
        opened.transact(empty)


@pytest.mark.parametrize("steady", [False, True], ids=["plans with values", "kept plans"])
@pytest.mark.parametrize(
    ("wanted", "most"),
    [
        (JobFilter(key="0"), 2 * APPS * (PAGE + 1)),
        (JobFilter(key="07", app="app7"), 2 * (PAGE + 1)),
        (JobFilter(key="07", states=FAILED), 2 * APPS * 100),
        (JobFilter(key="0", app="app7", states=FAILED), 2 * EACH),
        (JobFilter(key="1"), 0),
    ],
)
def test_a_search_by_key_reads_a_range_of_each_app(
    many: Ledger, wanted: JobFilter, most: int, steady: bool
) -> None:
    scans, fetched = touched(many, lambda tx: job_lists.search(tx, wanted, limit=PAGE), steady=steady)
    assert (scans, fetched <= most) == (0, True), f"{fetched} of {APPS * EACH} were fetched"


@pytest.mark.parametrize(
    ("wanted", "most"),
    [
        (JobFilter(key="0"), APPS * (PAGE + 1)),
        (JobFilter(key="07", app="app7"), PAGE + 1),
        (JobFilter(key="07", states=FAILED), APPS * 100),
        (JobFilter(key="0", app="app7", states=FAILED), EACH),
    ],
)
def test_a_search_by_key_is_a_range_of_the_names(many: Ledger, wanted: JobFilter, most: int) -> None:
    plans = plans_of(many, lambda tx: job_lists.search(tx, wanted, limit=PAGE))
    # The jobs whose transitions are not counted yet are found by their ids.
    require_ranges(plans, {"job_name", "job_pkey"}, most)


def test_jobs_are_found_by_their_names_and_listed_by_their_keys(many: Ledger) -> None:
    name = JobName("app7", "0500")

    def look(tx: Tx) -> None:
        found_job = job_details.job(tx, name)
        assert found_job is not None
        assert found_job.key == name.key
        assert known_jobs.find(tx, [name]) != {}
        found = last_successes.keys(tx, "app7", before=None, limit=PAGE)
        assert [each.name for each in found.successes][:3] == ["0000", "0001", "0002"]

    require_ranges(plans_of(many, look), {"job_name", "job_pkey"}, PAGE + 2)
    for steady in (True, False):
        scans, fetched = touched(many, look, steady=steady)
        assert (scans, fetched <= 3 * PAGE) == (0, True), fetched


def test_two_jobs_cannot_have_one_name(many: Ledger) -> None:
    with pytest.raises(psycopg.errors.UniqueViolation, match="job_name"):
        many.transact(lambda tx: tx.write(_MANY, apps=1, each=1))


@pytest.mark.parametrize(
    ("prefix", "key"), [("ä", "äö"), ("Z", "Za"), ("z", "z\U0001f600"), ("\U0001f600", "\U0001f600")]
)
def test_a_prefix_is_compared_by_its_characters(world: World, prefix: str, key: str) -> None:
    world.apps("a, b")
    for each in (key, "a", "Y", "å"):
        world.submit("a", each)
    for app in (None, "a", "b"):
        wanted = JobFilter(key=prefix, app=app)
        found = world.ledger.transact(lambda tx, wanted=wanted: job_lists.search(tx, wanted))
        assert [job.key for job in found.jobs] == ([] if app == "b" else [key])
