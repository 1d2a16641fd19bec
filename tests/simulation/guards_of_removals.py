"""Guards of the removal of jobs that a test can break, by the effect of breaking them."""

from sluice.ledger.database.connection import Tx
from sluice.ledger.lifecycle import claims, plans
from sluice.ledger.retention import job_removal
from tests.simulation.mutants import Break, Mutant, both, code, sql

_FLOOR = "(SELECT claim FROM claim_floor)"


def _of_removals(apply: Break, first: int = 0) -> Mutant:
    return Mutant(apply, first=first, theme="removals")


def _only_lock(tx: Tx, keep_s: float, jobs: list[int]) -> list[int]:
    return tx.column(job_removal._HOLD, jobs=jobs) if jobs else []


MUTANTS = {
    "jobs are removed without another check once they are locked": _of_removals(
        code(job_removal, "_lock", _only_lock), first=22
    ),
    "a plan is not repeated if a job that it has found is removed": _of_removals(
        code(plans, "ChangedMeanwhile", LookupError), first=14
    ),
    "the largest claim of removed jobs is forgotten": _of_removals(
        sql(job_removal, "_RAISE_FLOOR", "max(claim)", "0 * max(claim)")
    ),
    "claims do not continue after those of removed jobs": _of_removals(
        both(sql(claims, "_CLAIM", _FLOOR, "0"), sql(claims, "_BEGIN", _FLOOR, "0")), first=2
    ),
    "jobs of open submissions are removed": _of_removals(
        sql(job_removal, "_REMOVABLE", f"NOT {job_removal.SPARED} AND NOT {job_removal._IS_NEEDED}", "true")
    ),
    "parents of jobs that still need them are removed": _of_removals(
        sql(job_removal, "_REMOVABLE", "need.met IS TRUE AND", "true OR"), first=7
    ),
    "partitions of removed jobs belong to them": _of_removals(
        code(job_removal, "_DISOWN", "SELECT %(jobs)s::bigint[]"), first=2
    ),
    "dependencies on removed jobs stay": _of_removals(
        code(
            job_removal,
            "_REMOVE",
            tuple(sql for sql in job_removal._REMOVE if "need WHERE parent" not in sql),
        ),
        first=4,
    ),
}
