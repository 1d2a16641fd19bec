"""Ledgers with many jobs, and the plans by which reads of jobs find theirs."""

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

from msgspec import field

from sluice.jobs.states import SUCCEED, By, State
from sluice.ledger.database.connection import Ledger, Row, Tx
from sluice.ledger.database.history import VerbBy, number

_LOGGED = f"""
INSERT INTO history (job, at, kind, round, claim)
SELECT id, now(), {number(State.EXECUTED, VerbBy(SUCCEED, By.PLANNER))}, 0, 1 FROM job LIMIT 1
"""
_COUNTED = "INSERT INTO state_count SELECT app, state, count(*), 1 FROM job GROUP BY 1, 2"
_PLACED = "UPDATE aggregation_cursor SET counted = (SELECT max(id) FROM history)"
_TOUCHED = """
SELECT coalesce(seq_scan, 0), coalesce(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables WHERE relid = 'job'::regclass
"""


def fill(ledger: Ledger, jobs: str, **params: object) -> None:
    """Insert jobs by a statement, with their state counts and statistics."""
    for sql, given in ((jobs, params), (_LOGGED, {}), (_COUNTED, {}), (_PLACED, {}), ("ANALYZE job", {})):
        ledger.transact(lambda tx, sql=sql, given=given: tx.write(sql, **given))


class ExplainedTx(Tx, frozen=True):
    """Transaction that also keeps the plan of each query, with the number of rows that each node read."""

    plans: list[dict[str, Any]] = field(default_factory=list)

    def rows(self, sql: str, **params: object) -> list[Row]:
        self._explain(sql, params)
        return Tx.rows(self, sql, **params)

    def structs(self, kind: type[Any], sql: str, **params: object) -> list[Any]:
        self._explain(sql, params)
        return Tx.structs(self, kind, sql, **params)

    def _explain(self, sql: str, params: dict[str, object]) -> None:
        (((plan,),),) = Tx.rows(self, f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", **params)
        self.plans.append(plan["Plan"])


def plans_of(ledger: Ledger, act: Callable[[Tx], object]) -> list[dict[str, Any]]:
    """Return the plans of the queries of an act, with the values of their parameters."""
    with ledger.begin() as tx:
        explained = ExplainedTx(tx.connection, tx.now)
        act(explained)
    return explained.plans


def reads_of_jobs(plan: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield the index of each node that reads jobs, and the number of jobs that it read. The index of a sequential scan
    is empty."""
    index = plan.get("Index Name", "")
    reads = plan["Node Type"] != "Bitmap Heap Scan" and plan.get("Relation Name") == "job"
    if reads or (plan["Node Type"] == "Bitmap Index Scan" and index.startswith("job")):
        rows = plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)
        yield index, round(rows * plan["Actual Loops"])
    for part in plan.get("Plans", ()):
        yield from reads_of_jobs(part)


def require_ranges(plans: list[dict[str, Any]], indexes: set[str], most: int) -> None:
    """Fail if the queries read jobs in another way than along these indexes, or more jobs than that from one index."""
    reads = [read for plan in plans for read in reads_of_jobs(plan)]
    assert {index for index, rows in reads if rows} <= indexes, reads
    assert max(rows for _, rows in reads) <= most, reads


def touched(ledger: Ledger, act: Callable[[Tx], object], *, steady: bool) -> tuple[int, int]:
    """Return the number of scans of the table ``job`` and of its rows that an act fetched by an index. A ``steady``
    process keeps plans that do not know the values of parameters."""
    # In a session of its own, because a session reports its recent counts late.
    with closing(Ledger(ledger.url, connections=1, steady=steady)) as reader, reader.begin() as tx:
        act(tx)
        scans, fetched = tx.rows(_TOUCHED)[0]
    return scans, fetched
