"""Keys by partition: the jobs that result from a submission for a range of partitions.

Planning starts at the requested app and goes upstream. The part of the range that neither exists nor is under way is
packed into steps; each step is a job. The tables that a step reads determine which of their partitions it needs, and
these are planned in the same way. All needs of the plan's apps on one table are united before they are packed. The
inputs of existing partitions are not examined. In the end, each step waits for the steps, and for the jobs under way,
that make a partition it needs.

Jobs with keys may read tables, too. A plan for them starts at the days of these jobs (``readings``).

Pure: ``TableKnowledge`` provides the existing partitions.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import BadRequest
from sluice.jobs.keys.calendar import Calendar, Span
from sluice.jobs.keys.partitions import TableDependency
from sluice.jobs.model.app import App
from sluice.jobs.model.dependency import Gate, Need
from sluice.jobs.model.names import JobName
from sluice.jobs.model.partition_state import KnownExtent
from sluice.jobs.model.plan import EntryState, PlannedJob
from sluice.jobs.model.pool import pool_of, rate_of
from sluice.jobs.model.submission import Submission
from sluice.jobs.policy.policy import Policy
from sluice.planner.bubble_up.walk import JOBS_MAX, JobTerms, mode_of, require_fit, terms_of
from sluice.planner.keyspaces.partitions.daily_jobs import DailyJobs
from sluice.planner.keyspaces.partitions.partition_keys import (
    ALWAYS,
    asked_for,
    filling_of,
    partitioning_of,
    span_of,
)
from sluice.planner.keyspaces.partitions.ranges import places, united, without
from sluice.planner.keyspaces.partitions.refill import touched
from sluice.planner.keyspaces.partitions.table_demand import (
    ALL,
    SuppliedTable,
    Supply,
    TableKnowledge,
    jobs_in,
    refuse_excess,
)

#: Maximum number of needs of all jobs of one submission together.
NEEDS_MAX = 10_000_000
_GATE = "default"


class Layout:
    """Jobs of one submission, by table. BadRequest if the submission cannot be carried out.

    ``readings`` are apps of jobs with keys, each with a day of jobs that will run. ``supplies`` are the tables that
    take part, each after the tables that it is made from.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        submission: Submission,
        known: TableKnowledge,
        readings: Iterable[tuple[App, int]] = (),
    ) -> None:
        self._catalogue = catalogue
        self._submission = submission
        self._known = known
        self._terms: dict[str, JobTerms] = {}
        self._extents: dict[str, KnownExtent] = {}
        self._app = catalogue.app(submission.app)
        require_fit(self._app, submission.policy, mode_of(self._app, submission))
        asked = asked_for(self._app, submission) if self._app.partitioning else []
        self._horizon_s = self._horizon(asked, submission)
        self._wanted: dict[str, list[Span]] = defaultdict(list)
        self._or_later: dict[str, set[int]] = defaultdict(set)
        self._forced = self._to_be_made_anew(asked, submission)
        self._asked = {partitioning_of(each).table: spans for each, spans in asked}
        for table, runs in self._asked.items():
            self._wanted[table] += runs
        for table, runs in self._forced.items():
            self._wanted[table] += runs
        self._by_table: dict[str, Supply] = {}
        self._daily_jobs: dict[str, DailyJobs | None] = {}
        self._needs = 0
        for reader, day in readings:
            for dependency, span in self._needed(reader, Span(day, day)):
                self._want(dependency, span)
        for app in self._children_first():
            self._lay_out(app)
        for table, calendar in catalogue.externals.items():
            if self._wanted[table] or self._or_later[table]:
                self._look_for(table, calendar)
        self.supplies = tuple(reversed(self._by_table.values()))
        self._stale: dict[str, list[Span]] = {}
        for supply in self.supplies:
            if stale := [*supply.stale, *self._stale_steps(supply)]:
                self._stale[supply.table] = sorted(stale)

    def is_asked_for(self, supply: Supply) -> bool:
        """Return whether the jobs of this table were requested themselves, so that the submission depends on their
        outcomes. Jobs of other tables are only needed as inputs."""
        return supply.table in self._asked or supply.table in self._forced

    @property
    def inputs(self) -> list[JobName]:
        """Jobs with keys that make missing partitions of tables in this plan."""
        return [name for supply in self.supplies for name in supply.keyed_jobs]

    @property
    def forced_inputs(self) -> set[JobName]:
        """Jobs among the inputs that run again although their days exist."""
        return {
            name
            for table, spans in self._forced.items()
            if (daily_jobs := self._daily_jobs_of(table))
            for span in spans
            for day in range(span.first, span.last + 1)
            for name in daily_jobs.of_day(day)
        }

    @property
    def is_even(self) -> bool:
        """True if no job of the plan is more urgent than another, so that no job has urgency to lend to its parents."""
        policies = [self._terms_of(supply.app).policy for supply in self.supplies if supply.app]
        if any(supply.daily_jobs for supply in self.supplies):
            return False
        lands = len(policies) < len(self.supplies)
        if lands and self.priority > Policy().priority:
            return False
        return all(each.end_before is None and each.priority == self.priority for each in policies)

    @property
    def priority(self) -> int:
        """Priority of the requested jobs."""
        return self._terms_of(self._app).policy.priority

    def jobs(self, supply: Supply) -> Iterator[PlannedJob]:
        """Yield the jobs of a table's steps in order. They are made one by one, because a table may have hundreds of
        thousands. The jobs with keys that make a table are not among them (``Supply.keyed_jobs``)."""
        app = supply.app
        if supply.daily_jobs:
            return
        for name, step in zip(supply.names, supply.steps, strict=True):
            yield self._job(name, app, supply.table, step) if app else _landing(name)

    def _job(self, name: JobName, app: App, table: str, step: Span) -> PlannedJob:
        terms = self._terms_of(app)
        return PlannedJob(
            name=name,
            standing=EntryState.WANTED,
            gates=self.gates(app, step),
            digest=app.digest,
            policy=terms.policy,
            offset_s=terms.policy.start_offset_s(name, self._submission.id or ""),
            overrides=terms.overrides,
            kwargs=self._submission.kwargs,
            output_table=table,
            pool=pool_of(app, terms.policy, name.key, self._submission.kwargs),
            rate=rate_of(app, name.key, self._submission.kwargs),
        )

    def is_stale(self, supply: Supply, step: Span) -> bool:
        """Return whether the partitions of this step will be stale, because its job waits for stale ones."""
        return len(places(self._stale.get(supply.table, ()), step)) > 0

    def gates(self, app: App, step: Span) -> tuple[Gate, ...]:
        """Return the gates of the job of this step."""
        needs = self.needs(app, step)
        return (Gate(_GATE, needs),) if needs else ()

    def needs(self, app: App, output: Span) -> tuple[Need, ...]:
        """Return the jobs that must end before a job of the app can make this output. For an app of which the jobs have
        keys, it is the day of the job."""
        whens: dict[JobName, Need] = {}
        for dependency, span in self._needed(app, output):
            supply = self._by_table.get(dependency.table)
            if supply is None:
                continue
            makers = supply.first_makers(span.first) if dependency.cumulative else supply.makers(span)
            endless = supply.app is not None and supply.app.unbounded
            for name in makers:
                whens[name] = Need(name, "running") if endless else Need(name)
        return tuple(whens[name] for name in sorted(whens))

    def _terms_of(self, app: App) -> JobTerms:
        """Return the terms of an app: its own, overridden by its options for the mode, and these by the submission's
        options."""
        if app.name not in self._terms:
            mode = mode_of(app, self._submission)
            self._terms[app.name] = terms_of(app, self._submission.policy, mode)
        return self._terms[app.name]

    def _children_first(self) -> list[App]:
        """Return the apps that may take part, children before parents."""
        reached: dict[str, App] = {}
        ahead = sorted(self._wanted.keys() | self._or_later.keys())
        while ahead:
            table = ahead.pop()
            if table not in reached and (app := self._catalogue.fills(table)):
                reached[table] = app
                ahead += (each.table for each in partitioning_of(app).dependencies)
        tables = sorted(reached, key=lambda table: (self._catalogue.rank(reached[table].name), table))
        return [reached[table] for table in reversed(tables)]

    def _lay_out(self, app: App) -> None:
        """Pack the wanted partitions of the app's table into steps, and add the partitions that these steps need to the
        wanted ones."""
        self._terms_of(app)  # Terms that cannot be read must be refused before any job is made.
        partitioning = partitioning_of(app)
        table, forced = partitioning.table, self._forced.get(partitioning.table, ())
        wanted = self._all_wanted(table, app.version)
        if not wanted:
            return
        held = self._known.held(table, app.version, self._within(table, wanted))
        supply = self._by_table[table] = Supply(
            SuppliedTable(
                name=table, app=app, calendar=partitioning.calendar, step_size=partitioning.step_size
            ),
            held=held,
            wanted=wanted,
            forced=forced,
            later=self._missing_later(table, app.version),
        )
        refuse_excess(self._by_table.values(), jobs_max=JOBS_MAX, where=self._app.name)
        for step in supply.steps:
            for dependency, span in self._needed(app, step):
                self._want(dependency, span)
        self._refuse_excess(app)

    def _want(self, dependency: TableDependency, span: Span) -> None:
        if dependency.cumulative:
            self._or_later[dependency.table].add(span.last)
            self._needs += 1
        else:
            self._wanted[dependency.table].append(span)
            producer = self._catalogue.fills(dependency.table)
            size = partitioning_of(producer).step_size if producer else 1
            daily_jobs = self._daily_jobs_of(dependency.table)
            self._needs += jobs_in([span], size) * (len(daily_jobs.of_day(span.last)) if daily_jobs else 1)

    def _daily_jobs_of(self, table: str) -> DailyJobs | None:
        if table not in self._daily_jobs:
            maker = self._catalogue.makes_days_of(table)
            self._daily_jobs[table] = DailyJobs(self._catalogue, maker) if maker else None
        return self._daily_jobs[table]

    def _stale_steps(self, supply: Supply) -> Iterator[Span]:
        """Yield the steps that wait for partitions under way that will be stale."""
        app = supply.app
        if app is None or not any(each.table in self._stale for each in partitioning_of(app).dependencies):
            return
        for step in supply.steps:
            if any(self._is_stale(dependency, span) for dependency, span in self._needed(app, step)):
                yield step

    def _is_stale(self, dependency: TableDependency, needed: Span) -> bool:
        if dependency.table not in self._stale:
            return False
        if dependency.cumulative:
            earliest = self._by_table[dependency.table].first_made(needed.first)
            if earliest is None:
                return False
            needed = Span(earliest, earliest)
        return len(places(self._stale[dependency.table], needed)) > 0

    def _look_for(self, table: str, calendar: Calendar) -> None:
        """Plan a table that no app with partitions fills: each missing partition is waited for individually."""
        or_later = [Span(each, each) for each in self._missing_later(table, calendar.unit)]
        wanted = united([*self._wanted[table], *or_later])
        if not wanted:
            return
        held = self._known.held(table, calendar.unit, self._within(table, wanted))
        alone = {*without(or_later, united(self._wanted[table]))}
        daily_jobs = self._daily_jobs_of(table)
        self._by_table[table] = Supply(
            SuppliedTable(name=table, app=None, calendar=calendar, step_size=1, daily_jobs=daily_jobs),
            held=held,
            wanted=wanted,
            forced=self._forced.get(table, ()),
            or_later=alone,
        )
        refuse_excess(self._by_table.values(), jobs_max=JOBS_MAX, where=self._app.name)

    def _all_wanted(self, table: str, version: str) -> list[Span]:
        """Return the wanted partitions of a table.

        Some needs accept any partition from a given one on. If no existing or wanted partition meets all of these, one
        more partition is added that does. A partition under way is preferred to a new one.
        """
        wanted = united(self._wanted[table])
        later = self._missing_later(table, version)
        if later and not (wanted and wanted[-1].last >= max(later)):
            under_way = self._known.held(table, version, Span(max(later), ALL.last))
            last = min((max(each.span.first, *later) for each in under_way), default=max(later))
            wanted = united([*wanted, Span(last, last)])
        return wanted

    def _within(self, table: str, wanted: Sequence[Span]) -> Span:
        """Return the span of a table that must be looked up."""
        if or_later := self._or_later[table]:
            return Span(min(wanted[0].first, *or_later), ALL.last)
        return Span(wanted[0].first, wanted[-1].last)

    def _missing_later(self, table: str, version: str) -> list[int]:
        """Return the needs that accept this or any later partition, and for which none exists yet."""
        if not self._or_later[table]:
            return []
        latest = self._extent(table, version).last
        return sorted(each for each in self._or_later[table] if latest is None or each > latest)

    def _needed(self, app: App, step: Span) -> Iterator[tuple[TableDependency, Span]]:
        """Yield the partitions that this step needs of each table it reads; of a cumulative table, the last one
        needed."""
        own = filling_of(app)
        output = self._output(app, step)
        for dependency in own.dependencies:
            producer = self._catalogue.fills(dependency.table)
            if producer and producer.unbounded:
                yield dependency, ALWAYS
                continue
            reach = dependency.needed_for(output, own.calendar) if output else None
            if reach is None or output is None:
                continue
            if dependency.cumulative:
                yield dependency, Span(reach.last, reach.last)
                continue
            first = reach.first
            if first is None:
                alone = app.unbounded or app.daily
                begins = output.first if alone else self._by_table[own.table].wanted[0].first
                first = self._earliest(dependency, own.calendar.start_s(begins))
            if first <= reach.last:
                yield dependency, Span(first, reach.last)

    def _output(self, app: App, step: Span) -> Span | None:
        """Return the partitions that the step makes. For a long-running service: the range that the submission names,
        if any."""
        if not app.unbounded:
            return step
        if self._horizon_s is None:
            return None
        calendar = partitioning_of(app).calendar
        return Span(calendar.at(self._horizon_s[0]), calendar.at(self._horizon_s[1] - 1))

    def _earliest(self, dependency: TableDependency, begins_s: int) -> int:
        """Return the first partition to read of a table that is read from its beginning. It is the same for all steps
        of an app, of which the first begins at ``begins_s``."""
        producer = self._catalogue.fills(dependency.table)
        version = producer.version if producer else dependency.calendar.unit
        start = dependency.calendar.at(begins_s)
        first = self._extent(dependency.table, version).first
        return start if first is None else min(first, start)

    def _extent(self, table: str, version: str) -> KnownExtent:
        if table not in self._extents:
            self._extents[table] = self._known.extent(table, version)
        return self._extents[table]

    def _horizon(
        self, asked: Sequence[tuple[App, list[Span]]], submission: Submission
    ) -> tuple[int, int] | None:
        """Return the start and end, in seconds, of the time for which the submission requests partitions."""
        if self._app.partitioning is None:
            return None
        calendar = self._app.partitioning.calendar
        spans = [span for _, of in asked for span in of]
        whole = Span(min(spans).first, max(span.last for span in spans)) if spans else None
        span = span_of(self._app, submission) if self._app.unbounded else whole
        return (calendar.start_s(span.first), calendar.start_s(span.last + 1)) if span else None

    def _to_be_made_anew(
        self, asked: Sequence[tuple[App, list[Span]]], submission: Submission
    ) -> dict[str, list[Span]]:
        """Return, by table, the partitions that are made again although they exist."""
        changed = {partitioning_of(each).table: spans for each, spans in asked if spans}
        if submission.rerun is None or not changed:
            return {}
        if submission.rerun == "job":
            return changed
        return touched(self._catalogue, changed, self._known.existing)

    def _refuse_excess(self, app: App) -> None:
        if self._needs > NEEDS_MAX:
            raise BadRequest(
                f"At {app.name}, its jobs have more than {NEEDS_MAX:,} dependencies.",
                where=self._app.name,
                advice="Request a shorter range, or give the app a larger step_size.",
            )


def _landing(name: JobName) -> PlannedJob:
    """Return the job that stands for a partition of an external table."""
    return PlannedJob(name=name, standing=EntryState.EXPECTED)
