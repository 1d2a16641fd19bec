"""Downstream partitions that must be made again because some of the partitions that they are made from have changed."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.keys.calendar import Span
from sluice.jobs.keys.partitions import TableDependency
from sluice.jobs.model.app import App
from sluice.jobs.model.partition_state import HeldRange
from sluice.jobs.model.submission import Submission
from sluice.planner.keyspaces.partitions.partition_keys import filling_of
from sluice.planner.keyspaces.partitions.ranges import places, united
from sluice.planner.keyspaces.partitions.table_demand import ALL

#: Query for the partitions of a table, in a version and within a span, that exist or are under way.
Look = Callable[[str, str, Span], Sequence[HeldRange]]


def tables_of(catalogue: Catalogue, submission: Submission) -> set[str]:
    """Return every table of which a plan for the submission may claim a partition, or wait for one."""
    app = catalogue.app(submission.app)
    asked = [app]
    if submission.rerun == "downstream" and app.partitioning:
        asked += downstream(catalogue, app.partitioning.table)
    tables: set[str] = set()
    reached: set[str] = set()
    ahead = [each.name for each in asked]
    while ahead:
        if (name := ahead.pop()) not in reached:
            reached.add(name)
            filling = catalogue[name].filling
            tables.update([filling.table, *(each.table for each in filling.dependencies)] if filling else ())
            ahead += catalogue[name].parent_apps
    return tables


def touched(
    catalogue: Catalogue,
    table: str,
    changed: Sequence[Span],
    existing: Look,
    *,
    waiting: Collection[int] = (),
) -> dict[str, list[Span]]:
    """Return, by table, the changed partitions, and the partitions of downstream tables that exist or are under way and
    need a changed one.

    The jobs in ``waiting`` have not begun, so they will read the new contents of ``table``. Their partitions are
    returned only if they need such a partition of another table.
    """
    runs = {table: united(changed)}
    derived: dict[str, list[Span]] = {}
    for app in downstream(catalogue, table):
        own = filling_of(app)
        found = [
            partition
            for each in existing(own.table, app.table_version, ALL)
            for partition in _of(app, each.span, derived if each.by and each.by.id in waiting else runs)
        ]
        if found:
            runs[own.table] = derived[own.table] = united(Span(each, each) for each in found)
    return runs


def downstream(catalogue: Catalogue, table: str) -> list[App]:
    """Return the apps that read the table or a table made from it, each after the apps that it reads from."""
    reached: dict[str, App] = {}
    ahead = [table]
    while ahead:
        for app, _ in catalogue.readers_of(ahead.pop()):
            if app.name not in reached and not app.unbounded:
                reached[app.name] = app
                ahead.append(filling_of(app).table)
    return sorted(reached.values(), key=lambda app: catalogue.rank(app.name))


def _of(app: App, span: Span, changed: Mapping[str, Sequence[Span]]) -> Iterator[int]:
    """Yield the partitions of this span that are made from changed partitions."""
    dependencies = [each for each in filling_of(app).dependencies if each.table in changed]
    for partition in range(span.first, span.last + 1):
        if any(_needs(app, partition, each, changed[each.table]) for each in dependencies):
            yield partition


def _needs(app: App, partition: int, dependency: TableDependency, changed: Sequence[Span]) -> bool:
    reach = dependency.needed_for(Span(partition, partition), filling_of(app).calendar)
    if reach is None:
        return False
    if dependency.cumulative:
        return changed[-1].last >= reach.last
    first = ALL.first if reach.first is None else reach.first
    return len(places(changed, Span(first, reach.last))) > 0
