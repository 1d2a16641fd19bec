"""Guards of jobs with keys that read tables, and of tables with slices, that a test can break, by the effect of
breaking them."""

from msgspec.structs import replace

from sluice.actors.planner import bubble_down, partition_plans, table_plans, walks
from sluice.actors.planner import daily_tables as planner_of_days
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.keys.partitions import TableDependency
from sluice.jobs.model.app import App
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import JobPlan
from sluice.jobs.model.submission import Submission
from sluice.ledger.keyspaces import daily_tables
from sluice.ledger.retention import removal
from sluice.planner.bubble_up.walk import Walk
from sluice.planner.keyspaces.partitions import levels, partition_keys
from sluice.planner.keyspaces.partitions.partition_plan import Layout
from tests.simulation.mutants import Break, Mutant, both, code, sql

_BEGUN = daily_tables._BEGUN_AT
_WITH_TABLES = levels.with_tables
_OF_SLICE = TableDependency.of_slice
_SLICES_OF = partition_keys.slices_of
_IS_TO_VISIT = Walk._is_to_visit


def _theme(apply: Break, first: int = 0) -> Mutant:
    return Mutant(apply, first=first, theme="partitions")


def _with_old_needs(catalogue: Catalogue, plan: JobPlan, layout: Layout) -> JobPlan:
    return replace(_WITH_TABLES(catalogue, plan, layout), rewired=plan.rewired)


def _visit_current(walk: Walk, parent: JobName) -> bool:
    return parent not in walk._outdated and _IS_TO_VISIT(walk, parent)


def _of_first_slice(dependency: TableDependency, value: str | None) -> tuple[TableDependency, ...]:
    return _OF_SLICE(dependency, value)[:1]


def _of_own_slice(dependency: TableDependency, value: str | None) -> tuple[TableDependency, ...]:
    is_own = dependency.by is not None and value in dependency.by.values
    return _OF_SLICE(replace(dependency, all_slices=False) if is_own else dependency, value)


def _first_slice_of(app: App, submission: Submission) -> tuple[App, ...]:
    return _SLICES_OF(app, submission)[:1]


def _another_slice_of(app: App, submission: Submission) -> tuple[App, ...]:
    return _SLICES_OF(app, replace(submission, by=None))[:1]


_OF_READERS = {
    "partitions that jobs with keys read are not made": _theme(
        code(table_plans, "days_to_run", lambda catalogue, jobs: ())
    ),
    "jobs with keys do not wait for the partitions that they read": _theme(
        code(levels, "_with_tables", lambda catalogue, job, layout: job)
    ),
    "a job that runs again waits for the partitions of its last run": _theme(
        both(
            code(table_plans, "with_tables", _with_old_needs),
            code(partition_plans, "with_tables", _with_old_needs),
        ),
        first=35,
    ),
    "a retry makes no partitions for jobs with keys": _theme(
        code(partition_plans, "_days_to_revive", lambda tx, catalogue, number: []), first=12
    ),
    "outdated jobs do not run again": _theme(
        code(walks, "outdated_jobs", lambda tx, catalogue, names: {}), first=15
    ),
    "the parents of a job may be outdated": _theme(code(Walk, "_is_to_visit", _visit_current), first=190),
    "a failed parent that runs again keeps its old steps": _theme(
        code(Walk, "_revive_readers", lambda walk, gates: None), first=15
    ),
    "a stale partition outdates no job": _theme(
        sql(daily_tables, "_OUTDATED", "partition.stale_since IS NOT NULL OR", "false OR"), first=82
    ),
    "a partition that is made again outdates no job": _theme(
        sql(
            daily_tables,
            "_OUTDATED",
            f"coalesce(partition.done_at > {_BEGUN}, true)",
            "partition.done_at IS NULL",
        ),
        first=99,
    ),
    "a partition under way outdates no job": _theme(
        sql(
            daily_tables,
            "_OUTDATED",
            f"partition.done_at > {_BEGUN}, true",
            f"partition.done_at > {_BEGUN}, false",
        ),
        first=99,
    ),
    "every partition outdates the jobs that read it": _theme(
        sql(daily_tables, "_OUTDATED", f"partition.done_at > {_BEGUN}, true", "true, true"), first=2
    ),
    "a stale day outdates all of its jobs": _theme(
        sql(daily_tables, "_OUTDATED", "coalesce(partition.stale_since, partition.done_at, ", "coalesce("),
        first=99,
    ),
    "a removed history hides that a job is outdated": _theme(
        sql(removal, "_MARK", "SELECT running_at", "SELECT NULL::timestamptz"), first=180
    ),
    "a day with an outdated job is current": _theme(
        code(planner_of_days, "_stale_days", lambda tx, catalogue, changed, jobs: {}), first=82
    ),
    "the end of a parent pushes jobs that read tables": _theme(
        code(bubble_down, "may_be_pushed", lambda catalogue, child: True), first=31
    ),
}
_OF_SLICES = {
    "one slice of a table is read in place of all": _theme(
        code(TableDependency, "of_slice", _of_first_slice), first=35
    ),
    "a slice does not read all slices although it has to": _theme(
        code(TableDependency, "of_slice", _of_own_slice), first=248
    ),
    "a submission for all slices requests one": _theme(
        code(partition_keys, "slices_of", _first_slice_of), first=22
    ),
    "a submission for one slice requests another": _theme(
        code(partition_keys, "slices_of", _another_slice_of), first=45
    ),
    "jobs of two slices have one key": _theme(
        code(partition_keys, "with_slice", lambda text, value: text), first=35
    ),
}
MUTANTS = _OF_READERS | _OF_SLICES
