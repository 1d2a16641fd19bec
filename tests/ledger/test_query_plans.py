"""Query plans that a long-lived process keeps, and the number of rows that they read."""

from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta

import pytest

from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import Submission
from sluice.jobs.states import By, State
from sluice.ledger import due_work
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.fixtures import cut_off, empty, gather, tidy
from sluice.ledger.job_graph import dependencies
from sluice.ledger.job_graph.demand import PossiblePushes
from sluice.ledger.lifecycle import awaited_ends, claims, plain_successes, submissions, tenant_order
from sluice.ledger.lifecycle.awaited_ends import Awaited
from sluice.ledger.lifecycle.claims import ClaimTerms
from sluice.ledger.limits import pools, rate_limits
from sluice.ledger.reads import (
    fleet,
    pool_queue,
    requesters,
    server_health,
    state_statistics,
    submission_lists,
)
from sluice.ledger.recovery import groomer_steps, invariants
from sluice.ledger.retention import removal
from sluice.ledger.stats import state_counts
from tests.jobs.runners.runner_bench import eventually
from tests.world import World

MANY = 1_000
#: More rows than a statement about one job reads.
FEW = 50
_READ = """
SELECT relname::text, coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables
"""
_COUNTS = """
INSERT INTO state_count_minute (minute, app, state, entered)
SELECT %(now)s::timestamptz - make_interval(mins => nth), 'a', 'succeeded', 1
FROM generate_series(0, %(minutes)s - 1) nth
"""


@pytest.fixture
def steady(world: World) -> Iterator[Ledger]:
    ledger = Ledger(world.url, connections=1, steady=True)
    yield ledger
    ledger.close()


@pytest.fixture
def crowded(world: World) -> Iterator[World]:
    """Yield a world in which nearly all jobs wait for one job, with statistics that include this."""
    world.apps("gate, waiting, a -> b")
    world.define(
        world.defined
        | {
            "gate": {"job_id": "{g}", "autofill_values": {"g": [0]}, "bash_cmd": "true"},
            "waiting": {
                "job_id": "{x}",
                "autofill_values": {"x": f"0:{MANY}"},
                "depends_on": {"app_name": ["gate"]},
                "bash_cmd": "true",
            },
        }
    )
    world.submit("waiting", None, push="wanted")
    yield from _as_filled(world)


def _as_filled(world: World) -> Iterator[World]:
    """Yield the world with statistics of its rows. Empty it afterwards."""
    _analyze(world)
    yield world
    world.ledger.transact(empty)
    _analyze(world)


def _analyze(world: World) -> None:
    world.ledger.transact(
        lambda tx: tx.write("ANALYZE job, need, gate, submission, history, state_count_minute")
    )


def _mode(tx: Tx) -> str:
    return str(tx.column("SHOW plan_cache_mode")[0])


def test_a_statement_with_many_ids_gets_a_custom_plan(steady: Ledger) -> None:
    def work(tx: Tx) -> tuple[str, str]:
        tx.column("SELECT unnest(%(ids)s::bigint[])", ids=[1])
        few = _mode(tx)
        tx.column("SELECT unnest(%(ids)s::bigint[])", ids=[*range(MANY)])
        return few, _mode(tx)

    assert steady.transact(work) == ("force_generic_plan", "force_custom_plan")
    assert steady.transact(_mode) == "force_generic_plan"


def test_a_plan_for_an_empty_ledger_uses_an_index(steady: Ledger) -> None:
    """The plan is kept when the ledger is full, although a sequential scan would be faster while it is empty."""

    def plan(tx: Tx) -> str:
        # Index pages that earlier tests left would make this plan more expensive than another.
        tx.write("TRUNCATE job CASCADE")
        return "".join(tx.column("EXPLAIN SELECT 1 FROM job WHERE id = 1"))

    assert "job_pkey" in steady.transact(plan)


def test_a_ledger_that_is_not_steady_leaves_the_plan_mode_to_the_server(world: World) -> None:
    ledger = Ledger(world.url, connections=1)
    assert ledger.transact(_mode) == "auto"
    ledger.close()


def _read_by(tx: Tx, act: Callable[[], object]) -> dict[str, int]:
    """Return the number of rows that the act reads in each table."""
    before = dict(tx.rows(_READ))
    act()
    return {table: rows - before.get(table, 0) for table, rows in tx.rows(_READ)}


@pytest.mark.parametrize("look", [groomer_steps.due, due_work.look])
def test_a_tick_that_finds_nothing_reads_no_waiting_jobs(
    crowded: World, look: Callable[[Tx], object]
) -> None:
    read = crowded.ledger.transact(lambda tx: _read_by(tx, lambda: look(tx)))
    assert {table for table, rows in read.items() if rows > FEW} == set()


@pytest.mark.parametrize(
    "look",
    [
        pool_queue.pool_counts,
        state_statistics.open_submissions,
        removal.overdue_s,
        lambda tx: removal.backlog(tx, keep_s=1.0),
        server_health.table_spaces,
        server_health.oldest_transaction_s,
    ],
)
def test_metrics_read_no_waiting_jobs(crowded: World, look: Callable[[Tx], object]) -> None:
    read = crowded.ledger.transact(lambda tx: _read_by(tx, lambda: look(tx)))
    assert {table for table, rows in read.items() if rows > FEW} == set()


def test_metrics_count_waiting_jobs_up_to_a_limit(crowded: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_queue, "COUNTED_MAX", FEW // 5)
    crowded.apps("many", concurrency=1)
    for key in range(2 * FEW):
        crowded.submit("many", str(key))

    def look() -> None:
        assert [(each.taken, each.behind) for each in pool_queue.pool_counts(tx)] == [(1, FEW // 5)]

    with crowded.ledger.begin() as tx:
        read = _read_by(tx, look)
    assert read["job"] <= FEW


def test_the_propagation_of_an_end_does_not_read_the_children_of_other_jobs(crowded: World) -> None:
    crowded.submit("b")
    claimed = crowded.claim("a")
    assert claimed is not None

    def end(tx: Tx) -> None:
        done = {claimed.right: Outcome(ending=Ending.DONE)}
        pushes = PossiblePushes.of({claimed.id: [JobName("b", "1")]})
        children = plain_successes.finish(tx, done, pushes).children
        assert len(dependencies.propagate_counted(tx, children, leave_startable=False).ready) == 1

    read = crowded.ledger.transact(lambda tx: _read_by(tx, lambda: end(tx)))
    assert {table for table, rows in read.items() if rows > FEW} == set()
    assert read["need"] > 0


@pytest.fixture
def limited(world: World) -> Iterator[World]:
    """Yield a world in which many jobs wait for a rate limit that is reached, with statistics that include this."""
    words = {"job_id": "{x}", "autofill_values": {"x": f"0:{MANY}"}, "bash_cmd": "true"}
    world.define({"a": words | {"rate_limit": "1/h"}, "b": words | {"concurrency": 1}})
    world.submit("a", None)
    world.submit("b", None)
    world.take(min(world.ready()))
    yield from _as_filled(world)


@pytest.mark.parametrize("look", [due_work.look, rate_limits.next_s, lambda tx: pools.find_free(tx, 9)])
def test_a_look_for_tokens_and_slots_reads_no_waiting_jobs(
    limited: World, look: Callable[[Tx], object]
) -> None:
    read = limited.ledger.transact(lambda tx: _read_by(tx, lambda: look(tx)))
    assert {table for table, rows in read.items() if rows > FEW} == set()


def test_an_admission_reads_the_admitted_jobs_alone(limited: World) -> None:
    def admit(tx: Tx) -> None:
        tx.pools.update("ab")
        assert pools.admit(tx, By.GROOMER) == []

    read = limited.ledger.transact(lambda tx: _read_by(tx, lambda: admit(tx)))
    assert {table for table, rows in read.items() if rows > FEW} == set()


@pytest.fixture
def backlog(world: World) -> Iterator[World]:
    """Yield a world in which many jobs are ready, and no message about them exists. A job of another app runs."""
    words = {"job_id": "{x}", "autofill_values": {"x": f"0:{MANY}"}, "bash_cmd": "true"}
    world.define({"a": words, "b": {"job_id": "{x}", "bash_cmd": "true"}})
    world.submit("b")
    world.submit("a", None)
    world.take("b")
    world.lose_messages()
    world.now += timedelta(seconds=5)
    world.beat(world.worker)
    world.ledger.transact(lambda tx: tx.write("UPDATE worker SET threads = 2"))
    yield from _as_filled(world)


def test_a_look_for_lost_notifications_reads_no_backlog(backlog: World) -> None:
    def look(tx: Tx) -> None:
        assert groomer_steps.late_apps(tx, ["a", "b"], patience_s=1) == ["a"]
        assert fleet.resting(tx, ["a", "b"]) == {"a"}
        assert len(groomer_steps.announce_first(tx, ["a", "b"])) == 1

    read = backlog.ledger.transact(lambda tx: _read_by(tx, lambda: look(tx)))
    assert {table for table, rows in read.items() if rows > FEW} == {"history"}
    assert read["history"] <= fleet.STEPS_MAX


@pytest.fixture
def busy_day(world: World) -> Iterator[World]:
    """Yield a world with counts of many minutes, of which the last is the present one."""
    world.ledger.transact(lambda tx: tx.write(_COUNTS, now=world.now, minutes=MANY))
    yield from _as_filled(world)


def test_the_counts_of_the_last_minutes_are_read_alone(busy_day: World) -> None:
    def look(tx: Tx) -> None:
        assert len(state_statistics.minutes(tx, 10, (State.SUCCEEDED,))) == 10

    read = busy_day.ledger.transact(lambda tx: _read_by(tx, lambda: look(tx)))
    assert read["state_count_minute"] <= FEW


def test_the_removal_of_counts_reads_no_newer_counts(busy_day: World) -> None:
    busy_day.apps("a")
    busy_day.submit("a")
    read: dict[str, int] = {}

    def has_counted() -> bool:
        busy_day.now += timedelta(seconds=state_counts.EVERY_S + 1)
        counted: list[int] = []
        read.update(
            busy_day.ledger.transact(lambda tx: _read_by(tx, lambda: counted.append(state_counts.count(tx))))
        )
        return counted[0] > 0

    eventually(has_counted)
    assert read["state_count_minute"] <= FEW


@pytest.fixture
def ended(world: World) -> Iterator[World]:
    """Yield a world in which many submissions have ended."""
    world.apps("a")
    world.ledger.transact(lambda tx: gather(tx, ["a"], MANY, since=world.now, apart_s=1.0))
    yield from _as_filled(world)


def test_a_search_for_refused_submissions_reads_no_others(ended: World) -> None:
    def look(tx: Tx) -> None:
        assert requesters.refused(tx, JobName("a", "1"), []) == []

    read = ended.ledger.transact(lambda tx: _read_by(tx, lambda: look(tx)))
    assert read["submission"] <= FEW


@pytest.mark.parametrize("app", [None, "a"])
def test_a_full_page_of_submissions_reads_no_others(ended: World, app: str | None) -> None:
    def look(tx: Tx) -> None:
        page = submission_lists.submitted(tx, app=app, states=[], before=None, limit=10)
        assert len(page.found) == 10

    read = ended.ledger.transact(lambda tx: _read_by(tx, lambda: look(tx)))
    assert {table for table, rows in read.items() if rows > FEW} == set()


def _receive(world: World, app: str, count: int) -> list[int]:
    """Receive submissions, and return their numbers."""
    new = [Submission(id=f"{app}{key}", app=app, key=str(key)) for key in range(count)]
    ids = world.ledger.transact(lambda tx: submissions.receive(tx, new))
    found = "SELECT number FROM submission WHERE id = ANY(%(ids)s)"
    return world.ledger.transact(lambda tx: tx.column(found, ids=[*ids]))


def test_a_look_for_the_first_submissions_of_tenants_reads_few_of_many(ended: World) -> None:
    """Its plan was made while no submission waited, and with statistics of that time."""

    def look() -> None:
        assert tenant_order.first_waiting(tx, {"b": "other"}, most=1) == ["b0"]

    with closing(_steady(ended)) as steady:
        assert steady.transact(lambda tx: tenant_order.first_waiting(tx, {"b": "other"}, most=1)) == []
        _receive(ended, "a", MANY)
        _receive(ended, "b", 1)
        with steady.begin() as tx:
            read = _read_by(tx, look)
    assert tenant_order.COUNTED_MAX < read["submission"] <= tenant_order.COUNTED_MAX + FEW


#: Ready jobs that were announced just now, each with an active submission of its own.
_BURST = """
WITH made AS (
    INSERT INTO job (app, key, state, unblocked, created_at, changed_at, dispatched_at)
    SELECT 'c', nth::text, 'ready', true, %(now)s, %(now)s, %(now)s FROM generate_series(1, %(many)s) nth RETURNING id
), planned AS (
    INSERT INTO submission (id, app, state, request, push, received_at, planned_at, blocking_job)
    SELECT 'active' || id, 'c', 'active', '{"app": "c"}', false, %(now)s, %(now)s, id FROM made
    RETURNING number, blocking_job
)
INSERT INTO submission_job (submission, job, request_reason) SELECT number, blocking_job, 0 FROM planned
"""


_FIRST_OPEN = """
SELECT id, number FROM submission WHERE app = %(app)s AND ended_at IS NULL ORDER BY number LIMIT 2
"""


def _read_ends(tx: Tx, ids: list[str], *, of_job: bool) -> object:
    return awaited_ends.read(tx, [Awaited(each, of_job) for each in ids])


#: Acts on submissions with these ids and numbers, and whether the submissions are planned before.
_ACTS: dict[str, tuple[Callable[[Tx, list[str], list[int]], object], bool]] = {
    "lock": (lambda tx, ids, _: submissions.lock_pending(tx, ids, most=2 * len(ids), grace_s=1.0), False),
    "lock again": (lambda tx, ids, _: submissions.lock_unplanned(tx, ids), False),
    "mark": (lambda tx, ids, _: awaited_ends.mark(tx, ids), False),
    "mark planned": (lambda tx, ids, _: awaited_ends.mark(tx, ids), True),
    "read": (lambda tx, ids, _: _read_ends(tx, ids, of_job=False), True),
    "read with job": (lambda tx, ids, _: _read_ends(tx, ids, of_job=True), True),
    "settle": (lambda tx, _, numbers: submissions.settle(tx, numbers), True),
}


def _read_by_an_act(world: World, name: str) -> int:
    """Make the plan of the act, add many submissions, and return how many rows of a table the act reads at most, for
    two of them."""
    act, is_planned = _ACTS[name]
    with closing(_steady(world)) as steady:
        steady.transact(lambda tx: act(tx, ["a0"], [1]))
        if is_planned:
            world.ledger.transact(lambda tx: tx.write(_BURST, now=world.now, many=MANY))
        else:
            _receive(world, "a", MANY)
        app = "c" if is_planned else "a"
        ids, numbers = zip(*world.ledger.transact(lambda tx: tx.rows(_FIRST_OPEN, app=app)), strict=True)
        with steady.begin() as tx:
            read = _read_by(tx, lambda: act(tx, [*ids], [*numbers]))
    # The process that settles drops a plan that reads other jobs once ``job`` has grown.
    return read["submission"] if name == "settle" else max(read.values())


@pytest.mark.parametrize("act", _ACTS)
def test_few_of_many_submissions_are_read_while_the_statistics_have_none_of_them(
    ended: World, act: str
) -> None:
    assert 0 < _read_by_an_act(ended, act) <= FEW


@pytest.mark.parametrize("act", _ACTS)
def test_few_of_many_submissions_are_read_by_a_plan_for_an_empty_table(vacuumed: World, act: str) -> None:
    assert 0 < _read_by_an_act(vacuumed, act) <= FEW


@pytest.mark.parametrize("act", _ACTS)
def test_few_of_many_submissions_are_read_by_a_plan_for_one_submission(small: World, act: str) -> None:
    assert 0 < _read_by_an_act(small, act) <= FEW


@pytest.mark.parametrize("look", [due_work.look, lambda tx: groomer_steps.overdue_submissions(tx, 10)])
def test_a_look_for_overdue_submissions_reads_no_others(ended: World, look: Callable[[Tx], object]) -> None:
    with closing(_steady(ended)) as steady:
        steady.transact(look)
        _receive(ended, "a", MANY)
        with steady.begin() as tx:
            read = _read_by(tx, lambda: look(tx))
    assert read["submission"] <= FEW


def _read_by_a_look(world: World, look: Callable[[Tx], object]) -> set[str]:
    """Make the plan of the look, then add many active submissions. Return the tables of which it reads many rows.

    A look-up of a job by its id counts as two rows.
    """
    with closing(_steady(world)) as steady:
        steady.transact(look)
        many = 3 * submissions.FIRST_ACTIVE
        world.ledger.transact(lambda tx: tx.write(_BURST, now=world.now, many=many))
        with steady.begin() as tx:
            read = _read_by(tx, lambda: look(tx))
    assert read["submission"] >= submissions.FIRST_ACTIVE
    return {table for table, rows in read.items() if rows > 2 * submissions.FIRST_ACTIVE + FEW}


@pytest.mark.parametrize("look", [groomer_steps.due, due_work.look])
def test_a_look_reads_few_active_submissions_while_the_statistics_have_none_of_them(
    ended: World, look: Callable[[Tx], object]
) -> None:
    assert _read_by_a_look(ended, look) == set()


@pytest.mark.parametrize("look", [groomer_steps.due, due_work.look])
def test_a_look_reads_few_active_submissions_by_a_plan_for_an_empty_table(
    vacuumed: World, look: Callable[[Tx], object]
) -> None:
    assert _read_by_a_look(vacuumed, look) == set()


@pytest.fixture
def small(world: World) -> Iterator[World]:
    """Yield a world in which a hundred jobs are ready, with statistics of them."""
    # Index pages that earlier tests left would make the plan that reads all jobs more expensive.
    world.ledger.transact(cut_off)
    world.worker = world.hire()
    words = {"job_id": "{x}", "autofill_values": {"x": f"0:{MANY}"}, "bash_cmd": "true"}
    world.define({"a": words, "b": {"job_id": "{x}", "bash_cmd": "true"}})
    world.submit("b", None, keys=[str(key) for key in range(2 * FEW)])
    yield from _as_filled(world)


def test_a_plan_that_was_made_for_few_jobs_reads_few_of_many(small: World) -> None:
    """It is kept until Postgres has new statistics."""
    with closing(_steady(small)) as steady:
        assert _read_by_a_run(small, steady, "b/0")
        small.submit("a", None)
        small.submit("b", "last")
        read = _read_by_a_run(small, steady, "b/last")
    assert {table for table, rows in read.items() if rows > FEW} == set()


def test_a_check_of_the_ledger_reads_the_submissions_of_each_job_alone(small: World) -> None:
    """With statistics of one submission, all of them looked like a few."""
    many = 10 * MANY
    small.ledger.transact(lambda tx: tx.write(_BURST, now=small.now, many=many))
    with closing(Ledger(small.url, connections=1)) as ledger, ledger.begin() as tx:
        read = _read_by(tx, lambda: invariants.breaches(tx))
    assert many < read["submission"] <= 10 * many


@pytest.fixture
def vacuumed(world: World) -> Iterator[World]:
    """Yield a world whose tables have no pages, as after the removal of all jobs."""
    world.ledger.transact(cut_off)
    tidy(world.url)
    world.worker = world.hire()
    words = {"job_id": "{x}", "autofill_values": {"x": f"0:{3 * MANY}"}, "bash_cmd": "true"}
    world.define({"a": words, "b": {"job_id": "{x}", "bash_cmd": "true"}})
    yield world
    world.ledger.transact(cut_off)


def test_a_plan_that_was_made_for_an_empty_table_is_dropped_once_the_table_has_grown(vacuumed: World) -> None:
    def claim_nothing(tx: Tx) -> None:
        assert not claims.claim(tx, "b", [(1, 0)], ClaimTerms(vacuumed.worker)).jobs

    with closing(_steady(vacuumed)) as steady:
        steady.drop_outdated_plans()
        steady.transact(claim_nothing)
        vacuumed.submit("a", None)
        vacuumed.submit("b", None, keys=["first", "last"])
        assert _read_by_a_run(vacuumed, steady, "b/first")["job"] > MANY
        steady.drop_outdated_plans()
        read = _read_by_a_run(vacuumed, steady, "b/last")
    assert {table for table, rows in read.items() if rows > FEW} == set()


def _steady(world: World) -> Ledger:
    return Ledger(world.url, connections=1, steady=True, clock=lambda: world.now)


def _read_by_a_run(world: World, ledger: Ledger, job: str) -> dict[str, int]:
    """Return the number of rows that the claim of a job of ``b`` and its end read in each table."""
    id_ = world.known(job).id

    def run(tx: Tx) -> None:
        (claimed,) = claims.claim(tx, "b", [(id_, 0)], ClaimTerms(world.worker)).jobs
        done = {claimed.right: Outcome(ending=Ending.DONE)}
        assert plain_successes.finish(tx, done, PossiblePushes.of({claimed.id: []})).apps

    return ledger.transact(lambda tx: _read_by(tx, lambda: run(tx)))
