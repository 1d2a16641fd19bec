"""Downstream partitions that must be made again because some of the partitions that they are made from have changed."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.keys.calendar import Span
from sluice.jobs.keys.partitions import TableDependency
from sluice.jobs.model.app import App
from sluice.jobs.model.partition_state import HeldRange
from sluice.jobs.model.submission import Submission
from sluice.planner.keyspaces.partitions.partition_keys import asked_for, filling_of
from sluice.planner.keyspaces.partitions.ranges import places, united
from sluice.planner.keyspaces.partitions.table_demand import ALL

#: Query for the partitions of a table, in a version and within a span, that exist or are under way.
Look = Callable[[str, str, Span], Sequence[HeldRange]]


def tables_of(catalogue: Catalogue, submission: Submission) -> set[str]:
    """Return every table of which a plan for the submission may claim a partition, or wait for one."""
    app = catalogue.app(submission.app)
    asked = [each for each, _ in asked_for(app, submission)] if app.partitioning else [app]
    if submission.rerun == "downstream" and app.partitioning:
        asked += downstream(catalogue, [filling_of(each).table for each in asked])
    tables: set[str] = set()
    reached: set[tuple[str, str | None]] = set()
    while asked:
        app = asked.pop()
        if (app.name, app.table) in reached:
            continue
        reached.add((app.name, app.table))
        read = [each.table for each in app.filling.dependencies] if app.filling else []
        tables.update(read, [app.table] if app.table else ())
        asked += _makers(catalogue, app, read)
    return tables


def _makers(catalogue: Catalogue, app: App, read: Iterable[str]) -> Iterator[App]:
    """Yield the apps that fill these tables, and the apps with keys that the app needs."""
    yield from filter(None, (catalogue.fills(table) or catalogue.makes_days_of(table) for table in read))
    if app.is_keyed_by_template:
        yield from (catalogue[name] for name in app.parent_apps if catalogue[name].is_keyed_by_template)


def touched(
    catalogue: Catalogue,
    changed: Mapping[str, Sequence[Span]],
    existing: Look,
    *,
    waiting: Collection[int] = (),
) -> dict[str, list[Span]]:
    """Return, by table, the ``changed`` partitions, and the partitions of downstream tables that exist or are under way
    and need a changed one.

    The jobs in ``waiting`` have not begun, so they will read the new contents of the ``changed`` ones. Their partitions
    are returned only if they need such a partition of another table.
    """
    runs = {table: united(spans) for table, spans in changed.items()}
    derived: dict[str, list[Span]] = {}
    for app in downstream(catalogue, changed):
        own = filling_of(app)
        found = [
            partition
            for each in existing(own.table, app.table_version, ALL)
            for partition in _of(app, each.span, derived if each.by and each.by.id in waiting else runs)
        ]
        if found:
            runs[own.table] = derived[own.table] = united(Span(each, each) for each in found)
    return runs


def downstream(catalogue: Catalogue, tables: Iterable[str]) -> list[App]:
    """Return the apps that read any of the tables or a table made from it, each after the apps that it reads from. An
    app with slices occurs once for each slice."""
    reached: dict[str, App] = {}
    ahead = [*tables]
    while ahead:
        for app, _ in catalogue.readers_of(ahead.pop()):
            own = filling_of(app).table
            if own not in reached and not app.unbounded:
                reached[own] = app
                ahead.append(own)
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
