"""Expected layout of a drawn lineage, determined by definition from single partitions."""

from collections.abc import Iterator

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.keys.calendar import Calendar, Span
from sluice.jobs.keys.partitions import Partitioning, TableDependency
from sluice.jobs.model.app import App
from sluice.jobs.model.names import JobName
from sluice.planner.keyspaces.partitions.partition_keys import asked_for, partitioning_of
from sluice.planner.keyspaces.partitions.partition_plan import Layout
from tests.planner.drawn_lineages import Drawn, Lore, loaded, maker


def partitions_of(span: Span) -> set[int]:
    return {*range(span.first, span.last + 1)}


def moments(dependency: TableDependency, own: Calendar, output: Span) -> tuple[int | None, int]:
    """Return the start and the end of the time that the output reads. Start None: the earliest existing partition."""
    back = dependency.end_offset
    until = own.start_s(output.last + 1 - back.partitions) - back.seconds
    if dependency.end_cutoff_s is not None:
        until = min(until, dependency.end_cutoff_s)
    limits = [each for each in (dependency.start_cutoff_s, dependency.first_s) if each is not None]
    since = max(limits, default=None)
    if (back_to := dependency.start_offset) is not None:
        start = own.start_s(output.first - back_to.partitions) - back_to.seconds
        since = start if since is None else max(start, since)
    return since, until


def overlapping(calendar: Calendar, since: int, until: int) -> set[int]:
    """Return the partitions that overlap this time."""
    near = range(calendar.at(since) - 2, calendar.at(until) + 3)
    return {
        each
        for each in near
        if since < until and max(since, calendar.start_s(each)) < min(until, calendar.start_s(each + 1))
    }


class Expected:
    """Expectations about a layout. They are derived upstream from the steps that the layout contains."""

    def __init__(self, drawn: Drawn) -> None:
        self.catalogue = loaded(drawn)
        self.fates = drawn.fates
        self.layout = Layout(self.catalogue, drawn.submission, Lore(drawn.fates))
        self.supplies = {supply.table: supply for supply in self.layout.supplies}
        self.app = self.catalogue.app(drawn.submission.app)
        self.asked = asked_partitions(self.app, drawn)
        self.forced = {**self.asked} if drawn.submission.rerun else {}
        if drawn.submission.rerun == "downstream":
            self.forced = restated(self.catalogue, drawn, self.asked)
        self.required = {table: {*self.forced.get(table, ())} for table in drawn.fates}
        for table, partitions in self.asked.items():
            self.required[table] |= partitions
        self.or_later: dict[str, set[int]] = {table: set() for table in drawn.fates}
        for supply in reversed(self.layout.supplies):
            for step in supply.steps if supply.app else ():
                for dependency, needed in self.reads(supply.app, step):
                    of = self.or_later if dependency.cumulative else self.required
                    of[dependency.table] |= needed

    def reads(self, app: App | None, step: Span) -> Iterator[tuple[TableDependency, set[int]]]:
        """Yield, for each table that the step reads, the partitions that it needs.

        Of a cumulative table this is the last.
        """
        assert app is not None
        own = partitioning_of(app)
        for dependency in own.dependencies:
            since, until = moments(dependency, own.calendar, step)
            calendar = dependency.calendar
            if since is None:
                # All steps of a plan read from the same start, even if the partitions there do not exist yet.
                earliest = min(self.required[own.table], default=step.first)
                output = calendar.at(own.calendar.start_s(earliest))
                since = calendar.start_s(min([output, *self.fates[dependency.table]]))
                if dependency.cumulative:
                    since = until - 1
            needed = overlapping(calendar, since, until)
            if dependency.cumulative and needed:
                yield dependency, {max(needed)}
                continue
            if needed:
                yield dependency, needed

    def there(self, table: str) -> set[int]:
        """Return the existing partitions that need not be made again."""
        there = {each for each, fate in self.fates[table].items() if fate == "there"}
        return there - self.forced.get(table, set())

    def under_way(self, table: str) -> dict[int, JobName]:
        jobs = {each: maker(table, fate) for each, fate in self.fates[table].items()}
        return {each: job.name for each, job in jobs.items() if job}

    def made(self, table: str) -> dict[int, JobName]:
        supply = self.supplies.get(table)
        return (
            {each: supply.name_of(step) for step in supply.steps for each in partitions_of(step)}
            if supply
            else {}
        )

    def lacking(self, table: str) -> set[int]:
        """Return partitions of cumulative dependencies that have no replacement.

        Any later partition would be sufficient, but neither this partition nor a later one exists. It does not matter
        whether an existing one will be made again.
        """
        there = {each for each, fate in self.fates[table].items() if fate == "there"}
        return {each for each in self.or_later[table] if all(other < each for other in there)}


def asked_partitions(app: App, drawn: Drawn) -> dict[str, set[int]]:
    """Return the requested partitions, by table. Each slice is a table."""
    return {
        partitioning_of(each).table: {partition for run in runs for partition in partitions_of(run)}
        for each, runs in asked_for(app, drawn.submission)
    }


def restated(catalogue: Catalogue, drawn: Drawn, changed: dict[str, set[int]]) -> dict[str, set[int]]:
    """Return, by table, the partitions to make again if these partitions of the requested app change.

    Each partition is examined by itself.
    """
    found = {table: {*partitions} for table, partitions in changed.items()}
    for app in (app for name in sorted(drawn.apps, key=catalogue.rank) for app in catalogue[name].slices):
        own = partitioning_of(app)
        if own.table in found:
            continue
        if stale := {each for each in drawn.fates[own.table] if _is_made_from(own, each, found)}:
            found[own.table] = stale
    return found


def _is_made_from(own: Partitioning, partition: int, changed: dict[str, set[int]]) -> bool:
    for dependency in own.dependencies:
        since, until = moments(dependency, own.calendar, Span(partition, partition))
        starts = {each: dependency.calendar.start_s(each) for each in changed.get(dependency.table, ())}
        if since is not None and since >= until:
            continue
        if dependency.cumulative and any(dependency.calendar.start_s(each + 1) >= until for each in starts):
            return True
        if not dependency.cumulative and any(
            start < until and (since is None or dependency.calendar.start_s(each + 1) > since)
            for each, start in starts.items()
        ):
            return True
    return False
