"""Jobs of an app are found by their state, without reading its other jobs."""

from collections.abc import Callable, Iterator
from contextlib import closing
from uuid import uuid4

import pytest

from sluice.jobs.states import State
from sluice.jobs.text.paging import Order
from sluice.ledger import managed_tasks
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.database.state_ranges import BRIEF, in_states, of_app
from sluice.ledger.fixtures import cut_off, empty
from sluice.ledger.keyspaces import freshness
from sluice.ledger.limits import app_pauses
from sluice.ledger.reads import backlog, fleet, job_lists
from sluice.ledger.reads.by_partition import submission_grid
from sluice.ledger.reads.job_filters import JobFilter
from tests.ledger.job_reads import fill, plans_of, require_ranges, touched

EACH = 3_000
FEW = 20
_MANY = f"""
INSERT INTO job (app, key, state, unblocked, worker, created_at, changed_at)
SELECT app, state || n, state, true, CASE WHEN state = '{State.RUNNING}' THEN %(worker)s::uuid END, now(), now()
FROM unnest('{{a, b, c}}'::text[]) app, unnest(%(states)s::text[], %(numbers)s::int[]) AS many (state, jobs),
     generate_series(1, jobs) n
"""
# ANALYZE counts the entries.
_INDEXES_WITH_ENTRIES = """
SELECT entries.relname::text FROM pg_index JOIN pg_class entries ON entries.oid = indexrelid
WHERE indrelid = 'job'::regclass AND reltuples > 0
"""
APP_AND_STATES = [
    *((app, (state,)) for app in (None, "b") for state in (*BRIEF, State.WAITING, State.FAILED)),
    (None, BRIEF),
    ("b", (*BRIEF, State.FAILED)),
]


@pytest.fixture
def ledger(ledger_url: str) -> Iterator[Ledger]:
    with closing(Ledger(ledger_url, connections=2)) as opened:
        # Plans also count dead entries of an index.
        opened.transact(cut_off)
        yield opened
        opened.transact(empty)


@pytest.fixture
def many(ledger: Ledger) -> Ledger:
    """Return a ledger with few jobs in each state, and many that have succeeded."""
    numbers = {state: EACH if state is State.SUCCEEDED else FEW for state in State}
    fill(ledger, _MANY, states=[*numbers], numbers=[*numbers.values()], worker=uuid4())
    return ledger


@pytest.mark.parametrize("steady", [False, True], ids=["plans with values", "kept plans"])
@pytest.mark.parametrize(("app", "states"), APP_AND_STATES)
def test_a_search_by_state_reads_the_jobs_in_the_state(
    many: Ledger, app: str | None, states: tuple[State, ...], steady: bool
) -> None:
    wanted = JobFilter(app=app, states=states)

    def look(tx: Tx) -> None:
        found = job_lists.search(tx, wanted, limit=500).jobs
        assert len(found) == len(states) * FEW * (1 if app else 3)
        assert found == sorted(found, key=lambda job: -job.id)

    # The running and the executed jobs of all apps are read for each app and state.
    scans, fetched = touched(many, look, steady=steady)
    assert (scans, fetched <= len(states) * 3 * 3 * FEW) == (0, True), f"{fetched} jobs were fetched"


def test_conditions_on_states_select_each_job_once(ledger: Ledger) -> None:
    fill(ledger, _MANY, states=[*State], numbers=[2] * len(State), worker=uuid4())
    for states in (*((state,) for state in State), tuple(State), BRIEF, (*BRIEF, State.FAILED)):
        of_b = " UNION ALL ".join(f"SELECT state FROM job WHERE {each}" for each in of_app("'b'", states))
        found = ledger.transact(lambda tx, sql=of_b: tx.column(sql))
        assert sorted(found) == sorted([*states] * 2)
        of_all = f"SELECT state FROM job WHERE {in_states(states)}"
        found = ledger.transact(lambda tx, sql=of_all: tx.column(sql))
        assert sorted(found) == sorted([*states] * 6)


@pytest.mark.parametrize("states", [(State.READY,), (State.RUNNING, State.FAILED), (*BRIEF, State.WAITING)])
def test_a_list_in_the_order_of_time_reads_the_jobs_in_the_states(
    many: Ledger, states: tuple[State, ...]
) -> None:
    wanted = JobFilter(app="b", states=states)
    plans = plans_of(many, lambda tx: job_lists.jobs(tx, wanted, order=Order(), limit=500))
    indexes = {"job_app_state", "job_urgency", "job_running", "job_dispatched", "job_slot"}
    require_ranges(plans, indexes, 6 * FEW)


_GRID = {"apps": ["b"], "delimiters": ["_"], "places": [1], "limit": FEW}


@pytest.mark.parametrize("steady", [False, True], ids=["plans with values", "kept plans"])
@pytest.mark.parametrize(
    ("look", "states"),
    [
        (lambda tx: tx.rows(freshness._JOBS_UNDER_WAY, apps=["a", "b"]), 9),
        (lambda tx: managed_tasks.counts(tx, "b"), 2 * len(State)),
        (lambda tx: tx.rows(app_pauses._IN_POOLS, apps=["a", "b"]), 2),
        (lambda tx: fleet.oldest_ready(tx, ["a", "b"]), 2),
        (backlog.demand, 20),
        (lambda tx: tx.rows(submission_grid._NEWEST_BY_DAY, **_GRID), 2 * len(State)),
    ],
    ids=["freshness", "tasks", "pauses", "oldest", "demand", "grid"],
)
def test_reads_by_state_read_no_other_jobs(
    many: Ledger, look: Callable[[Tx], object], states: int, steady: bool
) -> None:
    scans, fetched = touched(many, look, steady=steady)
    assert (scans, fetched <= states * 3 * FEW) == (0, True), f"{fetched} jobs were fetched"


@pytest.mark.parametrize(
    ("state", "indexes"),
    [
        (State.READY, {"job_urgency", "job_dispatched"}),
        (State.RUNNING, {"job_running"}),
        (State.EXECUTED, {"job_dispatched"}),
        (State.SUCCEEDED, {"job_app_state", "job_prunable"}),
    ],
)
def test_a_job_without_any_option_has_entries_in_few_indexes(
    ledger: Ledger, state: State, indexes: set[str]
) -> None:
    fill(ledger, _MANY, states=[state], numbers=[FEW], worker=uuid4())
    found = ledger.transact(lambda tx: tx.column(_INDEXES_WITH_ENTRIES))
    assert {*found} == {"job_pkey", "job_name", *indexes}
