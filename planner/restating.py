"""What else has to be made anew where some partitions are: whatever there is that was made from them."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from sluice.jobs.app import App
from sluice.jobs.calendar import Span
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.coverage import Held
from sluice.jobs.partitioning import TableDependency
from sluice.jobs.submission import Submission
from sluice.planner.partition_keys import partitioning_of
from sluice.planner.spans import places, united
from sluice.planner.supply import ALL

#: What of a table in a version is there or under way within a span.
Look = Callable[[str, str, Span], Sequence[Held]]


def tables_of(catalogue: Catalogue, submission: Submission) -> set[str]:
    """Every table that a plan for it may claim a partition of, or wait for."""
    app = catalogue.app(submission.app)
    asked = [app]
    if submission.rerun == "downstream":
        asked += _downwards(catalogue, partitioning_of(app).table)
    tables = {partitioning_of(each).table for each in asked}
    ahead = [*asked]
    while ahead:
        for dependency in partitioning_of(ahead.pop()).dependencies:
            if dependency.table not in tables:
                tables.add(dependency.table)
                ahead += filter(None, [catalogue.fills(dependency.table)])
    return tables


def touched(catalogue: Catalogue, table: str, changed: Sequence[Span], held: Look) -> dict[str, list[Span]]:
    """By table: these partitions, and of each table further down those that are there and need one that changes."""
    runs = {table: united(changed)}
    for app in _downwards(catalogue, table):
        own = partitioning_of(app)
        there = [each.span for each in held(own.table, app.version, ALL)]
        found = [partition for span in there for partition in _of(app, span, runs)]
        if found:
            runs[own.table] = united(Span(each, each) for each in found)
    return runs


def _downwards(catalogue: Catalogue, table: str) -> list[App]:
    """The apps that read the table, or one that is made from it, each after those that it reads from."""
    reached: dict[str, App] = {}
    ahead = [table]
    while ahead:
        for app, _ in catalogue.readers_of(ahead.pop()):
            if app.name not in reached and not app.unbounded:
                reached[app.name] = app
                ahead.append(partitioning_of(app).table)
    return sorted(reached.values(), key=lambda app: catalogue.rank(app.name))


def _of(app: App, span: Span, changed: Mapping[str, Sequence[Span]]) -> Iterator[int]:
    """The partitions of this span that are made from what changes."""
    dependencies = [each for each in partitioning_of(app).dependencies if each.table in changed]
    for partition in range(span.first, span.last + 1):
        if any(_needs(app, partition, each, changed[each.table]) for each in dependencies):
            yield partition


def _needs(app: App, partition: int, dependency: TableDependency, changed: Sequence[Span]) -> bool:
    reach = dependency.needed_for(Span(partition, partition), partitioning_of(app).calendar)
    if reach is None:
        return False
    if dependency.cumulative:
        return changed[-1].last >= reach.last
    first = ALL.first if reach.first is None else reach.first
    return len(places(changed, Span(first, reach.last))) > 0
